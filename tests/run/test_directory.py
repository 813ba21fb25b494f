"""The run directory: never overwritten, written whole, strict, and read back or refused."""

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from pinnsig.core.errors import RunError
from pinnsig.core.json import dumps
from pinnsig.run import directory as runs_module
from pinnsig.run.directory import RunDirectory
from pinnsig.run.environment import environment


def test_runs_of_one_second_get_directories_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ids = iter(["aaaaaa", "aaaaaa", "aaaaaa", "bbbbbb"])
    monkeypatch.setattr(runs_module.secrets, "token_hex", lambda n: next(ids))
    monkeypatch.setattr(runs_module.time, "strftime", lambda text: "20260131-120000")
    paths = [RunDirectory.create(tmp_path, "burgers").path for _ in range(2)]
    assert [path.name for path in paths] == ["20260131-120000-aaaaaa", "20260131-120000-bbbbbb"]
    assert all(path.parent == tmp_path / "burgers" for path in paths)


def test_a_file_gives_its_stem_as_name(tmp_path: Path):
    assert RunDirectory.create(tmp_path, "some/where/my.py:Heat").path.parent == tmp_path / "my"


def test_numbers_that_json_lacks_are_null():
    data = {"a": math.nan, "b": [math.inf, 1.0], "c": {"d": -math.inf}, "e": (True, None, 2)}
    found = json.loads(dumps(data))
    assert found == {"a": None, "b": [None, 1.0], "c": {"d": None}, "e": [True, None, 2]}
    assert dumps({"field": "ψ"}).isascii()


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = RunDirectory.create(tmp_path, "burgers")
    run.write_json("result.json", {"a": 1})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runs_module.os, "fsync", full)
    with pytest.raises(RunError, match=r"cannot write .*result\.json: No space left"):
        run.write_json("result.json", {"a": 2})
    assert run.read_json("result.json") == {"a": 1}
    assert [path.name for path in run.path.iterdir()] == ["result.json"]


def test_weights_are_tensors_and_nothing_else(tmp_path: Path):
    run = RunDirectory.create(tmp_path, "burgers")
    base = torch.arange(6.0, dtype=torch.float64)
    run.save_weights("model.safetensors", {"view": base.view(2, 3).T, "scalar": base[0]})
    with safe_open(run.path / "model.safetensors", "pt") as opened:
        assert set(opened.keys()) == {"view", "scalar"}
    found = run.load_weights("model.safetensors")
    assert found["view"].dtype == torch.float64
    assert torch.equal(found["view"], base.view(2, 3).T)
    assert found["scalar"].shape == ()


def test_metrics_end_at_a_line_cut_off(tmp_path: Path):
    run = RunDirectory.create(tmp_path, "burgers")
    run.append_metrics({"iteration": i, "loss": math.nan} for i in range(3))
    log = run.path / "metrics.jsonl"
    log.write_bytes(log.read_bytes()[:-5])
    assert list(run.metrics()) == [{"iteration": i, "loss": None} for i in range(2)]


def test_the_environment_names_versions():
    found = environment()
    assert found["versions"]["torch"] == torch.__version__.partition(" ")[0]
    assert json.loads(dumps(found)) == found


def test_a_log_ends_before_a_line_that_is_no_record(tmp_path: Path):
    lines = ['{"step": 1, "loss": 2.0}', "[1, 2]", '{"step": 2}']
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
    assert list(RunDirectory(tmp_path).metrics()) == [{"step": 1, "loss": 2.0}]
