"""What a run will take, said beforehand."""

from pathlib import Path

import pytest

from pinnsig.run.estimating import estimate_run
from pinnsig.run.settings import resolve
from tests.conftest import SMALL, Cli

FLAGS = [f"--{name}={value}" for name, value in SMALL.items()]


def test_what_is_trained_and_that_nothing_is_written(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    found = cli("solve", "heat", *FLAGS, "--adam=3000", "--dry-run", "--json").json()
    assert found["points"] == {"residual": 40, "initial": 8, "boundary": 8}
    assert found["weights"] == 2 * 8 + 8 + 8 * 8 + 8 + 8 + 1
    assert found["engine"] == "jets"
    phases = {phase["name"]: phase for phase in found["phases"]}
    assert phases["adam"]["iterations"] == 3000
    expected = sum(phase["iterations"] * phase["each"] for phase in found["phases"])
    assert found["seconds"] == pytest.approx(expected)
    assert found["memory"] is None or found["memory"] > 2**20
    shown = cli("solve", "heat", *FLAGS, "--dry-run").out
    assert "weights 105; engine jets; points: residual 40, initial 8, boundary 8" in shown
    assert not list(tmp_path.iterdir())


def test_a_limit_on_the_time_holds():
    slow = {**SMALL, "adam": 10**6, "max_seconds": 7.5}
    assert estimate_run(resolve({"problem": "heat", **slow})).seconds == 7.5


def test_what_cannot_be_trained_is_refused(cli: Cli):
    said = cli("solve", "heat", "--dry-run", "--weight", "bondary=2").complaint()
    assert "bondary" in said
