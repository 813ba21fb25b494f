import pytest

from pinnsig.cli import reproducing
from pinnsig.core.errors import FigureError
from pinnsig.core.registry import Registry
from pinnsig.paper import FIGURES
from tests.conftest import Cli


def test_one_figure_and_the_list(cli: Cli, tmp_path):
    shown = cli("paper", "convergence", "--out", tmp_path)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("convergence: holds (")
    assert FIGURES["convergence"].claim in shown.out
    assert str(tmp_path / "convergence" / "quick.png") in shown.out
    listed = cli("paper", "--list", "--out", tmp_path).out.splitlines()
    assert len(listed) == 1 + len(FIGURES)
    rows = {line.split()[0]: line for line in listed[1:]}
    assert rows["convergence"].split()[1:3] == ["holds", "quick"]
    assert rows["entropy"].split()[1:3] == ["-", "-"]


def test_json(cli: Cli, tmp_path):
    record = cli("paper", "fixed-gain", "--seed", 2, "--out", tmp_path, "--json").json()
    assert (record["name"], record["outcome"], record["seed"]) == ("fixed-gain", "holds", 2)
    listed = cli("paper", "--list", "--out", tmp_path, "--json").json()
    assert listed["fixed-gain"]["last"] == record
    assert listed["entropy"]["last"] is None


def test_all(cli: Cli, tmp_path, monkeypatch):
    two = {name: FIGURES[name] for name in ("fixed-gain", "convergence")}
    monkeypatch.setattr(reproducing, "FIGURES", Registry("figure", FigureError, two))
    records = cli("paper", "all", "--out", tmp_path, "--json").json()
    assert [record["name"] for record in records] == ["fixed-gain", "convergence"]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("paper", "--list"),
        ("paper entropy --list", "--list"),
        ("paper entropi", "did you mean entropy"),
        ("paper entropy --preset huge", "huge"),
        ("paper entropy --seed -1", "seed"),
    ],
)
def test_wrong(cli: Cli, arguments: str, part: str):
    assert part in cli(*arguments.split()).complaint()
