import json
import re
from pathlib import Path

import pytest

from tests.classify.learnable import write_idx_set
from tests.conftest import Cli, strict_json

SMALL = ("--depth", 2, "--width", 16, "--epochs", 3, "--batch", 20)


@pytest.fixture
def call(cli: Cli, tmp_path):
    """`pinnsig classify mnist` on a small set."""
    where = ("--data", write_idx_set(tmp_path / "data"), "--runs", tmp_path / "runs")

    def run(*more):
        return cli("classify", "mnist", *where, *SMALL, *more)

    return run


def test_what_is_printed(call):
    found = call("--lr", 0.01)
    assert found.code == 0
    summary = dict(line.split(maxsplit=1) for line in found.out.splitlines())
    assert (summary["epochs"], summary["stop"]) == ("3", "iterations done")
    assert float(summary["best_validation_accuracy"]) > 0.5
    head, run, *rest = found.err.splitlines()
    assert head.startswith("mnist: tanh, calibrated:p=auto")
    assert "2 x 16" in head
    assert "learning rate 0.01" in head
    assert run == f"run {summary['run']}"
    lines = [line for line in rest if line.startswith("epoch ")]
    assert [line.split()[1] for line in lines] == ["1/3", "2/3", "3/3"]
    assert all(re.search(r"accuracy [\d.]+ %  best [\d.]+ %  [\d.]+ s$", line) for line in lines)
    assert any(line.startswith("notice: the training images in") for line in rest)


def test_json_quiet_and_show(call, cli: Cli):
    found = call("--json", "--quiet", "--batch-norm", "--seed", 4)
    assert "epoch" not in found.err
    result = found.json()
    assert result["batch_norm"] is True
    config = strict_json((Path(result["run"]) / "config.json").read_text())
    assert (config["seed"], config["dataset"]) == (4, "mnist")
    assert cli("show", result["run"], "--json").json() == result
    drawn = Path(cli("plot", result["run"]).out.strip())
    assert drawn.name == "epochs.png"
    assert drawn.read_bytes().startswith(b"\x89PNG")
    assert "no fields" in cli("predict", result["run"], "--at", "x=1").complaint()


def test_a_loss_that_is_not_finite_has_exit_code_1(call):
    found = call("--lr", 1e38, "--json")
    assert found.code == 1
    assert json.loads(found.out)["stop"] == "non-finite loss"


def test_resume(call, cli: Cli):
    path = call("--json").json()["run"]
    assert "nothing left to do" in cli("resume", path).complaint()
    assert "goes on as it is" in cli("resume", path, "--lr", 0.1).complaint()


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (("--depth", 0), "depth = 0 must be at least 1"),
        (("--act", "tanhh"), "tanh"),
        (("--init", "calibrate"), "did you mean calibrated"),
        (("--samples", 10**6), "samples"),
        (("--inputs", "units"), "did you mean unit"),
    ],
)
def test_bad_input(call, tmp_path, more, part):
    assert part in call(*more).complaint()
    assert not (tmp_path / "runs").exists()


def test_unknown_sets(cli: Cli, tmp_path):
    assert "did you mean mnist?" in cli("classify", "minst").complaint()
    wanted = cli("classify", "cifar10", "--data", tmp_path).complaint()
    assert "data_batch_1" in wanted
