"""The sweeps that runs/README.md shows are what they seem."""

import re
import shlex
from pathlib import Path

from tests.conftest import Cli

EXAMPLES = (Path(__file__).parents[2] / "runs" / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", EXAMPLES, re.DOTALL)
    return found


def test_the_command(cli: Cli, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(block("bash").replace("\\\n", " "))
    assert words[:3] == ["python", "-m", "pinnsig"]
    small = ["--depth", "2", "--collocation", "20", "--dry-run", "--json"]
    found = cli(*words[3:], *small).json()
    assert len(found["todo"]) == 4 * 3 * 3
    assert found["path"] == str(Path("runs/scales"))


def test_the_file(cli: Cli, tmp_path: Path):
    path = tmp_path / "grid.toml"
    path.write_text(block("toml"), encoding="utf-8")
    found = cli("sweep", "--config", path, "--depth", "2", "--collocation", "20", "--dry-run",
                "--json").json()  # fmt: skip
    assert len(found["rows"]) == 9
    assert {(row["scale"], row["lr"]) for row in found["rows"]} == {
        (0.5, 2e-4), (1.0, 1e-4), (2.0, 5e-5),
    }  # fmt: skip
