"""show and predict on runs of classifiers."""

from pathlib import Path

import pytest

import pinnsig
from pinnsig.classify import classify
from pinnsig.core.errors import RunError
from tests.classify.conftest import TINY
from tests.conftest import Cli, strict_json


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return classify(**TINY, data=data, runs=tmp_path_factory.mktemp("commands"))[0]


def test_show(cli: Cli, finished: Path):
    shown = cli("show", finished)
    assert shown.code == 0
    for text in ("best_validation_accuracy", "test_accuracy", "calibrated", "notice:", "epochs"):
        assert text in shown.out
    written = strict_json((finished / "result.json").read_text(encoding="utf-8"))
    assert cli("show", finished, "--json").json() == written


def test_there_are_no_fields(cli: Cli, finished: Path):
    assert "is a run of classify" in cli("predict", finished, "--at", "x=1").complaint()
    with pytest.raises(RunError, match="is a run of classify"):
        pinnsig.load(finished)
    with pytest.raises(RunError, match="is a run of classify: .*resume_classifier"):
        pinnsig.resume(finished)


def test_a_folder_of_runs_shows_its_accuracy(cli: Cli, finished: Path):
    rows = cli("show", finished.parent, "--json").json()
    best = strict_json((finished / "result.json").read_text(encoding="utf-8"))
    assert rows[0]["problem"] == "mnist"
    assert rows[0]["error"] == f"accuracy {best['best_validation_accuracy']:.3f}"
