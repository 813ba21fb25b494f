"""`pinnsig table`."""

from pathlib import Path

import pytest

from pinnsig.table import ENTRIES, Entry
from tests.conftest import SMALL, Cli
from tests.table.conftest import two

__all__ = ["two"]
FLAGS = ["table", "--quick", "--seeds", "1", "--out"]


def test_run_and_show(two: list[str], cli: Cli, tmp_path: Path):
    made = cli(*FLAGS, tmp_path)
    assert made.code == 0
    assert made.err.endswith(f"{tmp_path / 'quick-60s-1-seed' / 'README.md'}\n")
    shown = cli("table", "--show", "--out", tmp_path)
    assert shown.out == made.out
    assert shown.out.startswith("preset quick, 60 s, 1 seed")
    assert "coefficient k" in shown.out
    assert "1.0e-09" in shown.out  # the best published
    assert "heat, seed 0 suspicious: not trained" in shown.out
    (record,) = cli("table", "--show", "--only", "heat", "--json", "--out", tmp_path).json()
    assert record["command"].startswith("python -m pinnsig solve heat --preset quick")
    quiet = cli(*FLAGS, tmp_path, "--quiet", "--only", "heat", "--json")
    assert quiet.json() == [record]


def test_failures_are_told(two: list[str], cli: Cli, tmp_path: Path, monkeypatch):
    monkeypatch.setitem(ENTRIES, "heat", Entry(settings={**SMALL, "act": "sigmoid"}))
    made = cli(*FLAGS, tmp_path, "--only", "heat")
    assert made.code == 1
    assert "1 failed" in made.out
    assert "heat, seed 0 failed: " in made.out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--show"], "there is no such table in"),
        (["--quick", "--preset", "accurate"], "either --quick or --preset accurate"),
        (["--only", "haet"], "did you mean heat"),
        (["--network", "nothing"], "nothing"),
    ],
)
def test_bad_input(two: list[str], cli: Cli, tmp_path: Path, flags: list[str], message: str):
    found = cli("table", *flags, "--out", tmp_path)
    assert found.code == 2
    assert message in found.err
    assert not any(tmp_path.iterdir())
