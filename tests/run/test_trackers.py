"""Weights & Biases and MLflow as callbacks, read back by their own readers."""

import contextlib
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pinnsig
from pinnsig.core.errors import SettingsError
from pinnsig.run.trackers import TRACKERS, MLflow, WandB, parse_tracker
from tests.conftest import SMALL, Cli
from tests.processes import wait_for

QUICK: dict[str, Any] = {**SMALL, "figures": False}


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("wandb", reason="needs pip install 'pinnsig[wandb]'")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return tmp_path


def wandb_records(folder: Path) -> list[Any]:
    """What the files of offline runs hold, in order; they are written behind a run's end."""
    wait_for(lambda: any(record.HasField("exit") for record in records_by_now(folder)))
    return records_by_now(folder)


def records_by_now(folder: Path) -> list[Any]:
    """The same as far as it is written."""
    from wandb.proto import wandb_internal_pb2

    found = []
    for file in sorted(folder.glob("wandb/offline-run-*/run-*.wandb")):
        for data in leveldb_records(file.read_bytes()):
            record: Any = wandb_internal_pb2.Record()  # pyright: ignore[reportAttributeAccessIssue]
            record.ParseFromString(data)
            found.append(record)
    return found


def leveldb_records(data: bytes) -> Iterator[bytes]:
    """The records of a log in LevelDB's format, behind a header of seven bytes.

    Blocks have 32 kB; each piece of a record has a checksum, its length and its kind: whole (1),
    first (2), middle (3), last (4).
    """
    place, record = 7, b""
    while place + 7 <= len(data):
        left = 2**15 - place % 2**15
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        piece = data[place + 7 : place + 7 + length]
        place += 7 + length
        record = piece if kind in (1, 2) else record + piece
        if kind in (1, 4) and place <= len(data):  # the last may be written in part
            yield record


def test_wandb_offline(offline: Path):
    result = pinnsig.solve(
        "inverse-heat", runs=offline, callbacks=[WandB(project="trial", every=2)], **QUICK
    )
    records = wandb_records(result.path)
    (run,) = [record.run for record in records if record.HasField("run")][:1]
    assert run.project == "trial"
    assert run.display_name == result.path.name
    config = {item.key: json.loads(item.value_json) for item in run.config.update}
    assert config["problem"] == "inverse-heat"
    assert config["depth"] == SMALL["depth"]
    history = [
        {item.nested_key[0] if item.nested_key else item.key: json.loads(item.value_json)
         for item in record.history.item}
        for record in records if record.HasField("history")
    ]  # fmt: skip
    rows = [json.loads(line) for line in (result.path / "metrics.jsonl").read_text().splitlines()]
    losses = {row["step"]: row["loss"] for row in rows}
    logged = {int(row["_step"]): row["loss"] for row in history if "loss" in row}
    assert len(logged) >= 4
    assert all(losses[step] == pytest.approx(loss) for step, loss in logged.items())
    assert any("coefficients/k" in row for row in history)


def test_mlflow_in_files_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mlflow = pytest.importorskip("mlflow", reason="needs pip install 'pinnsig[mlflow]'")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = (tmp_path / "store").as_uri()
    tracker = MLflow(store, "trial", every=1)
    result = pinnsig.solve("inverse-heat", runs=tmp_path, callbacks=[tracker], **QUICK)
    client = mlflow.tracking.MlflowClient(store)
    experiment = client.get_experiment_by_name("trial")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["problem"] == "inverse-heat"
    assert run.data.params["depth"] == "2"
    assert run.data.metrics["final/best_loss"] == pytest.approx(result.data["best_loss"])
    assert run.data.tags["stop"] == "iterations done"
    history = client.get_metric_history(run.info.run_id, "loss")
    assert [metric.step for metric in history] == list(range(7))
    pinnsig.resume(result.path, figures=False, lbfgs=5, callbacks=[MLflow(store, "trial", every=1)])
    (run,) = client.search_runs([experiment.experiment_id])
    assert [m.step for m in client.get_metric_history(run.info.run_id, "loss")] == list(range(9))
    assert run.info.status == "FINISHED"


def test_runs_of_a_sweep_are_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mlflow = pytest.importorskip("mlflow", reason="needs pip install 'pinnsig[mlflow]'")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = (tmp_path / "store").as_uri()
    pinnsig.sweep("heat", out=tmp_path / "mine", callbacks=[MLflow(store)], seed="0,1", **SMALL)
    client = mlflow.tracking.MlflowClient(store)
    found = client.search_runs([client.get_experiment_by_name("pinnsig").experiment_id])
    assert [run.data.tags["pinnsig.group"] for run in found] == ["mine", "mine"]
    assert {run.data.params["seed"] for run in found} == {"0", "1"}


class Failing(MLflow):
    def log(self, numbers, step):
        raise OSError("the server is gone")


def test_a_tracker_that_fails_costs_a_notice_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("mlflow", reason="needs pip install 'pinnsig[mlflow]'")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    told: list[str] = []

    class Listening(pinnsig.Callback):
        def noticed(self, text):
            told.append(text)

    tracker = Failing((tmp_path / "store").as_uri())
    result = pinnsig.solve("heat", runs=tmp_path, callbacks=[tracker, Listening()], **QUICK)
    assert result.stop == "iterations done"
    assert [text for text in told if "the server is gone" in text]


def test_what_is_refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    said = cli("solve", "heat", "--track", "wandbb", "--runs", tmp_path).complaint()
    assert "did you mean wandb?" in said
    with pytest.raises(SettingsError, match="every = 0 must be at least 1"):
        TRACKERS.find("mlflow")(every=0)  # pyright: ignore[reportCallIssue]
    for name in ("wandb", "mlflow"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("wandb", "mlflow"):
        said = cli("solve", "heat", "--track", name, "--runs", tmp_path).complaint()
        assert f"pip install 'pinnsig[{name}]'" in said
    assert not list(tmp_path.glob("*"))


class Breaks(pinnsig.Callback):
    def recorded(self, record):
        if record.step == 2:
            raise RuntimeError("out of patience")


def test_a_run_that_fails_is_closed_and_the_next_one_is_another(offline: Path):
    for callbacks in ([WandB(), Breaks()], [WandB()]):
        with contextlib.suppress(pinnsig.PinnsigError):
            pinnsig.solve("heat", runs=offline, callbacks=callbacks, **QUICK)
    first, second = sorted(offline.glob("heat/*"))
    names = [json.loads((run / "trackers.json").read_text())["wandb"] for run in (first, second)]
    assert len(set(names)) == 2
    codes = {}
    for run in (first, second):
        records = wandb_records(run)
        codes[run.name] = [r.exit.exit_code for r in records if r.HasField("exit")]
    assert sorted(map(tuple, codes.values())) == [(0,), (1,)]


def test_options_of_the_command_line():
    pytest.importorskip("mlflow", reason="needs pip install 'pinnsig[mlflow]'")
    made = parse_tracker("mlflow:experiment=heat,every=5")
    assert isinstance(made, MLflow)
    assert (made.experiment, made.every) == ("heat", 5)
    for text, said in (("mlfow", "did you mean mlflow"), ("mlflow:evry=5", "did you mean every"),
                       ("mlflow:heat", "name=value")):  # fmt: skip
        with pytest.raises(SettingsError, match=said):
            parse_tracker(text)
