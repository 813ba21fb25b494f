"""The run directory of a classifier, and going on with it."""

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from pinnsig.activations import parse_activation
from pinnsig.classify import classify, resume_classifier, running
from pinnsig.classify.training import _Step
from pinnsig.core.errors import DatasetError, PinnsigError, RunError
from pinnsig.networks import FFNN
from pinnsig.run.checkpoints import NEWEST
from pinnsig.run.directory import RunDirectory
from pinnsig.training import FINISHED, INTERRUPTED, NON_FINITE
from tests.classify.conftest import TINY
from tests.conftest import strict_json


def run(data: Path, runs: Path, **given: Any) -> tuple[Path, dict[str, Any]]:
    return classify(**{**TINY, **given}, data=data, runs=runs)


def read(path: Path, name: str) -> Any:
    return strict_json((path / name).read_text(encoding="utf-8"))


def metrics(path: Path) -> list[dict[str, Any]]:
    """Without what the clock says."""
    lines = (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    found = [strict_json(line) for line in lines]
    return [{k: v for k, v in record.items() if k != "seconds"} for record in found]


def weights(path: Path) -> dict[str, dict[str, torch.Tensor]]:
    names = "model.safetensors", "last.safetensors"
    return {name: RunDirectory(path).load_weights(name) for name in names}


def assert_same(one: Path, two: Path) -> None:
    """Two runs ended alike, bit for bit."""
    assert metrics(one) == metrics(two)
    for name, tensors in weights(one).items():
        others = weights(two)[name]
        assert tensors.keys() == others.keys()
        assert all(torch.equal(tensors[key], others[key]) for key in tensors)
    results = [read(path, "result.json") for path in (one, two)]
    for result in results:
        del result["run"], result["seconds"]
    assert results[0] == results[1]


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that came to its end; not to be changed."""
    return run(data, tmp_path_factory.mktemp("finished"), epochs=4)[0]


def interrupted_at(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the midst of a step."""
    plain = _Step.__call__

    def call(step: _Step, chosen: torch.Tensor) -> torch.Tensor:
        if step.training.adam.steps + 1 == steps:
            os.kill(os.getpid(), signal.SIGINT)
        return plain(step, chosen)

    monkeypatch.setattr(_Step, "__call__", call)


def test_what_a_run_leaves(finished: Path):
    names = {path.name for path in finished.iterdir()}
    assert {"config.json", "metrics.jsonl", "result.json", "model.safetensors",
            "last.safetensors", NEWEST} <= names  # fmt: skip
    assert not [name for name in names if name.endswith(".part")]
    config, result, records = (
        read(finished, "config.json"), read(finished, "result.json"), metrics(finished),
    )  # fmt: skip
    assert finished.parent.name == config["dataset"] == result["dataset"] == "mnist"
    assert config["environment"]["versions"]["torch"]
    assert len(config["images"]) == 64
    assert (config["lr"], config["depth"]) == (TINY["lr"], 3)
    assert [record["epoch"] for record in records] == [1, 2, 3, 4]
    best = max(record["validation_accuracy"] for record in records)
    assert result["best_validation_accuracy"] == best
    first = next(record["epoch"] for record in records if record["validation_accuracy"] == best)
    assert result["best_epoch"] == first
    assert result["stop"] == FINISHED
    assert 0 <= result["test_accuracy"] <= 1
    assert result["run"] == str(finished)
    assert any("in place of 60,000" in notice for notice in result["notices"])
    assert RunDirectory.open(finished).is_classifier()


@pytest.mark.parametrize("batch_norm", [False, True])
def test_weights_have_their_usual_names(data: Path, tmp_path: Path, batch_norm: bool):
    path, _ = run(data, tmp_path, batch_norm=batch_norm)
    for named in weights(path).values():
        network = FFNN(784, 10, 3, 8, parse_activation("tanh"), dtype=torch.float32)
        plain = {key: value for key, value in named.items() if key.startswith("layers.")}
        network.load_state_dict(plain)
        norms = {key for key in named if key.startswith("norms.")}
        ends = ("weight", "bias", "running_mean", "running_var")
        assert norms == {f"norms.{i}.{end}" for i in range(3) for end in ends if batch_norm}
        for i in range(3 if batch_norm else 0):
            norm = torch.nn.BatchNorm1d(8)
            own = {end: named[f"norms.{i}.{end}"] for end in ends}
            norm.load_state_dict(own, strict=False)


def test_twice_the_same(data: Path, tmp_path: Path, finished: Path):
    assert_same(run(data, tmp_path, epochs=4)[0], finished)


@pytest.mark.parametrize("steps", [7, 11, 12, 13, 23, 24])
def test_interrupted_and_resumed(
    data: Path, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch, steps: int
):
    """Six steps an epoch; wherever it was, it ends as if nothing had been."""
    told: list[int] = []
    with monkeypatch.context() as patched:
        interrupted_at(steps, patched)
        path, result = classify(
            **{**TINY, "epochs": 4}, data=data, runs=tmp_path, interrupting=told.append
        )
    assert told == [signal.SIGINT]
    whole = steps // 6
    assert len(metrics(path)) == whole
    if steps == 24:  # the last one
        assert result["stop"] == FINISHED
        assert_same(path, finished)
        return
    assert result["stop"] == read(path, "result.json")["stop"] == INTERRUPTED
    assert result["test_accuracy"] is None
    moved = path.rename(tmp_path / "elsewhere")
    again, result = resume_classifier(moved)
    assert again == moved
    assert result["stop"] == FINISHED
    assert_same(moved, finished)


def test_interrupted_twice(
    data: Path, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patched:
        interrupted_at(8, patched)
        path, _ = run(data, tmp_path, epochs=4)
    with monkeypatch.context() as patched:
        interrupted_at(16, patched)
        assert resume_classifier(path)[1]["stop"] == INTERRUPTED
    resume_classifier(path)
    assert_same(path, finished)


def test_interrupted_in_its_first_epoch(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    interrupted_at(3, monkeypatch)
    path, result = run(data, tmp_path)
    assert (result["stop"], result["epochs"]) == (INTERRUPTED, 0)
    assert result["best_validation_accuracy"] is None
    with pytest.raises(RunError, match="no checkpoint"):
        resume_classifier(path)


class Killed(BaseException):
    """Stands in for the end of the process."""


@pytest.mark.parametrize("epoch", [2, 4])
def test_killed_and_resumed(data: Path, tmp_path: Path, finished: Path, epoch: int):
    """Between a line of the log and its checkpoint, or after the last epoch."""

    def tell(record: Any) -> None:
        if record.epoch == epoch:
            raise Killed

    with pytest.raises(Killed):
        classify(**{**TINY, "epochs": 4}, data=data, runs=tmp_path, tell=tell)
    (path,) = (tmp_path / "mnist").iterdir()
    assert not (path / "result.json").exists()
    with (path / "metrics.jsonl").open("a") as stream:
        stream.write('{"epoch": ')  # torn
    resume_classifier(path)
    assert_same(path, finished)


def test_killed_before_its_result(
    data: Path, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
):
    def killed(_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(running, "result_data", killed)
        with pytest.raises(Killed):
            run(data, tmp_path, epochs=4)
    (path,) = (tmp_path / "mnist").iterdir()
    assert resume_classifier(path)[1]["stop"] == FINISHED
    assert_same(path, finished)


def test_a_damaged_checkpoint(
    data: Path, tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
):
    """The one before it is used, and that is said."""
    with monkeypatch.context() as patched:
        interrupted_at(14, patched)
        path, _ = run(data, tmp_path, epochs=4)
    state = path / NEWEST
    state.write_bytes(state.read_bytes()[:-7])
    result = resume_classifier(path)[1]
    assert any("the checkpoint before it is used" in notice for notice in result["notices"])
    assert metrics(path) == metrics(finished)


def test_nothing_is_left_to_do(finished: Path):
    with pytest.raises(RunError, match="nothing left to do"):
        resume_classifier(finished)


def test_resumed_on_other_images(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patched:
        interrupted_at(8, patched)
        path, _ = run(data, tmp_path / "runs")
    other = Path(shutil.copytree(data, tmp_path / "other"))
    images = other / "mnist" / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-1] + b"\x01")
    with pytest.raises(RunError, match="other images"):
        resume_classifier(path, data=other)
    images.unlink()
    with pytest.raises(DatasetError, match="is not there"):
        resume_classifier(path, data=other)
    assert resume_classifier(path, data=data)[1]["stop"] == FINISHED


@pytest.mark.parametrize(
    "given",
    [
        {"init": "calibrated", "p": 0.4}, {"init": "calibrated:p=0.3"}, {"init": "eoc"},
        {"init": "calibrated", "sigma_b": 0.1}, {"init": "xavier"}, {"lr": None, "scale": 1.7},
        {"act": "softsign1 + softsign2"}, {"inputs": "unit", "samples": 40}, {"iterations": 11},
        {"dtype": "float64"}, {"batch_norm": True},
    ],
    ids=str,
)  # fmt: skip
def test_every_setting_is_resumed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
):
    whole, _ = run(data, tmp_path, **given)
    with monkeypatch.context() as patched:
        interrupted_at(read(whole, "result.json")["iterations"] - 1, patched)
        path, result = run(data, tmp_path, **given)
    assert result["stop"] == INTERRUPTED
    resume_classifier(path)
    assert_same(path, whole)
    assert read(path, "config.json")["init"] == read(whole, "config.json")["init"]


def test_a_run_that_is_lost_ends_readably(data: Path, tmp_path: Path):
    path, result = run(data, tmp_path, act="1e30*tanh", lr=1e37, init="xavier")
    assert result["stop"] == NON_FINITE
    assert read(path, "result.json")["last_train_loss"] is None
    assert metrics(path)[-1]["train_loss"] is None
    with pytest.raises(RunError, match="nothing left to do"):
        resume_classifier(path)


@pytest.mark.parametrize(
    "given",
    [
        {"dataset": "mnits"},
        {"act": "tahn"},
        {"init": "he:x=1"},
        {"samples": 10**6},
        {"device": "x"},
    ],
    ids=str,
)
def test_bad_input_leaves_nothing(data: Path, tmp_path: Path, given: dict[str, Any]):
    with pytest.raises(PinnsigError):
        run(data, tmp_path / "runs", **given)
    assert not (tmp_path / "runs").exists()


def test_a_run_in_use_is_left_alone(data: Path, finished: Path):
    with RunDirectory.open(finished).locked(), pytest.raises(RunError, match="another process"):
        resume_classifier(finished)
    assert read(finished, "result.json")["stop"] == FINISHED
