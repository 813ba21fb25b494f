"""Checkpoints: whole or refused, never run as code, and the one before stands by."""

import json
import os
import pickle
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import pinnsig
from pinnsig import Callback
from pinnsig.core.errors import RunError
from pinnsig.run import checkpoints
from pinnsig.run import directory as runs_module
from pinnsig.run.checkpoints import NEWEST, PREVIOUS, load_checkpoint, save_checkpoint
from pinnsig.run.directory import RunDirectory
from tests.conftest import SMALL, Cli
from tests.run.test_resume import StopAt

STATE = {
    "values": torch.arange(6.0).reshape(2, 3).T,
    "nested": [{"a": torch.tensor(1.5, dtype=torch.float64)}, None, "text", True],
    "numbers": [1, 2.5, 1e-300, 0.1 + 0.2],
    "empty": torch.zeros(0, 4),
}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    made = RunDirectory.create(tmp_path, "burgers")
    save_checkpoint(made, {"step": 1})
    save_checkpoint(made, {"step": 2, **STATE})
    return made


def test_a_state_comes_back_as_it_was(run: RunDirectory):
    found, notice = load_checkpoint(run)
    assert notice is None
    assert torch.equal(found["values"], STATE["values"])
    assert found["nested"][0]["a"].dtype == torch.float64
    assert found["nested"][1:] == [None, "text", True]
    assert found["numbers"] == STATE["numbers"]
    assert found["empty"].shape == (0, 4)


def test_numbers_that_are_not_finite_come_back_too(run: RunDirectory):
    save_checkpoint(run, {"loss": float("inf"), "terms": [float("nan"), -float("inf"), 1.0]})
    found, _ = load_checkpoint(run)
    assert found["loss"] == float("inf")
    assert np.array_equal(found["terms"], [np.nan, -np.inf, 1.0], equal_nan=True)


class Evil:
    def __reduce__(self):
        return os.system, ("echo run > evil.txt",)


def damage_truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def damage_one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(bytes(data))


def damage_text(path: Path) -> None:
    data = path.read_bytes()
    assert b"0.30000000000000004" in data
    path.write_bytes(data.replace(b"0.30000000000000004", b"0.30000000000000001"))


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


def damage_foreign(path: Path) -> None:
    save_file({"weight": torch.zeros(3)}, path)


def damage_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps(Evil()))


DAMAGES = [damage_truncated, damage_one_bit, damage_text, damage_empty, damage_foreign,
           damage_pickle]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_said_and_the_one_before_is_used(
    run: RunDirectory, damage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(run.path)
    damage(run.path / NEWEST)
    found, notice = load_checkpoint(run)
    assert found == {"step": 1}
    assert notice is not None
    assert NEWEST in notice
    assert "the checkpoint before it is used" in notice
    assert not (run.path / "evil.txt").exists()


def test_with_both_damaged_there_is_nothing_to_go_on_from(run: RunDirectory):
    damage_truncated(run.path / NEWEST)
    damage_one_bit(run.path / PREVIOUS)
    with pytest.raises(RunError, match="no checkpoint is left"):
        load_checkpoint(run)


def test_a_crash_between_the_two_moves_leaves_the_one_before(run: RunDirectory):
    (run.path / NEWEST).replace(run.path / PREVIOUS)
    assert load_checkpoint(run)[0]["step"] == 2


def test_no_checkpoint_at_all_is_said(tmp_path: Path):
    with pytest.raises(RunError, match="has no checkpoint"):
        load_checkpoint(RunDirectory.create(tmp_path, "burgers"))


def test_a_damaged_checkpoint_resumes_from_the_one_before_to_the_same_bits(runs: Path):
    flags = {**SMALL, "figures": False, "checkpoint_every": 1}
    straight = pinnsig.solve("burgers", runs=runs, **flags).path
    stopped = pinnsig.solve("burgers", runs=runs, callbacks=[StopAt(4)], **flags).path
    damage_one_bit(stopped / NEWEST)
    heard: list[str] = []

    class Hear(Callback):
        def started(self, parts, path):
            heard.extend(parts.notices)

    pinnsig.resume(stopped, figures=False, callbacks=[Hear()])
    assert any("does not match" in line or "do not match its checksum" in line for line in heard)
    last = [(path / "last.safetensors").read_bytes() for path in (straight, stopped)]
    assert last[0] == last[1]


def test_fault_c3_numpy_scalars_do_not_reach_a_checkpoint(runs: Path):
    run = pinnsig.solve("burgers", runs=runs, figures=False, lr=np.float64(1e-3), **SMALL).path
    state, _ = load_checkpoint(RunDirectory.open(run))

    def walk(value):
        if isinstance(value, dict):
            return all(walk(item) for item in value.values())
        if isinstance(value, list):
            return all(walk(item) for item in value)
        return type(value) in (int, float, str, bool, type(None), torch.Tensor)

    assert walk(state)


def test_a_write_that_fails_keeps_the_last_state(run: RunDirectory, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runs_module.os, "fsync", full)
    with pytest.raises(RunError, match=r"cannot write .*state\.safetensors: No space left"):
        save_checkpoint(run, {"step": 3})
    monkeypatch.undo()
    assert load_checkpoint(run)[0]["step"] == 2
    assert not list(run.path.glob(".*"))


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit on file sizes")
def test_training_goes_on_when_the_disk_is_full_and_its_end_says_so(tmp_path: Path):
    """A real limit on the size of files stands in for full disks everywhere: weights do not fit."""
    script = textwrap.dedent(f"""
        import resource, sys
        from pinnsig.cli import main
        resource.setrlimit(resource.RLIMIT_FSIZE, (2200, resource.RLIM_INFINITY))
        main(["solve", "burgers", "--depth=2", "--width=32", "--collocation=8", "--initial=2",
              "--boundary=2", "--adam=4", "--lbfgs=2", "--checkpoint-every=1", "--no-figures",
              "--runs", {str(tmp_path)!r}])
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    lines = done.stderr.splitlines()
    notices = [line for line in lines if line.startswith("notice: cannot write")]
    assert len([line for line in notices if "state.safetensors" in line]) == 1  # said once
    assert all("File too large" in line for line in notices)
    assert "lbfgs 2/2" in done.stderr
    assert any("what the run leaves is in" in line for line in notices)
    assert lines[-1].startswith("pinnsig: error: cannot write")
    (run,) = tmp_path.glob("burgers/*")
    steps = [record["step"] for record in RunDirectory.open(run).metrics()]
    assert steps == list(range(len(steps)))
    assert 2 < len(steps) < 7
    assert "Traceback" not in done.stderr


PHASES = ["adam:4", "ssbroyden:8"]
LARGE = {**{k: v for k, v in SMALL.items() if k not in ("adam", "lbfgs")}, "figures": False}


class Notices(Callback):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def started(self, parts, path) -> None:
        self.heard += parts.notices

    def noticed(self, text: str) -> None:
        self.heard.append(text)

    def about(self, words: str) -> list[str]:
        return [text for text in self.heard if words in text]


def checkpoint_files(run: Path) -> list[str]:
    return sorted(path.name for path in run.glob("state*"))


def test_a_finished_run_keeps_one_small_checkpoint_whole(runs: Path):
    run = pinnsig.solve("burgers", runs=runs, phases=PHASES, checkpoint_every=1, **LARGE).path
    assert checkpoint_files(run) == [NEWEST]
    state, _ = load_checkpoint(RunDirectory.open(run))
    assert state["trainer"]["optimizer"]["curvature"]["triangle"] is not None


def test_a_large_checkpoint_loses_the_optimisers_memory_with_a_notice(
    runs: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(checkpoints, "KEPT_BYTES", 20_000)
    told, again = Notices(), Notices()
    run = pinnsig.solve("burgers", runs=runs, phases=PHASES, callbacks=[told], **LARGE).path
    assert checkpoint_files(run) == [NEWEST]
    assert (run / NEWEST).stat().st_size < 10_000
    assert len(told.about("what the optimiser remembers (")) == 1
    assert " kB) is not kept" in told.about("what the optimiser remembers (")[0]
    before = pinnsig.load(run, weights="last").model.state_dict()
    longer = pinnsig.resume(run, phases=["ssbroyden:3"], figures=False, callbacks=[again])
    assert longer.iterations == 15
    assert longer.last_loss <= json.loads((run / "result.json").read_text())["loss_at_start"]
    assert not again.about("remembered was not kept")  # another phase, which learns for itself
    assert before.keys() == pinnsig.load(run).model.state_dict().keys()


def test_a_phase_that_is_made_longer_without_its_memory_starts_anew_and_says_so(
    runs: Path, monkeypatch: pytest.MonkeyPatch
):
    flags = {**LARGE, "adam": 2, "lbfgs": 3}
    monkeypatch.setattr(checkpoints, "KEPT_BYTES", 20_000)
    run = pinnsig.solve("burgers", runs=runs, **flags)
    told = Notices()
    longer = pinnsig.resume(run.path, lbfgs=9, figures=False, callbacks=[told])
    assert told.about("what lbfgs remembered was not kept at the run's end")
    assert longer.iterations == 11
    assert longer.last_loss < run.last_loss
    assert longer.evaluations > run.evaluations


def test_a_large_checkpoint_stays_where_it_is_asked_for_or_the_run_was_interrupted(
    runs: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(checkpoints, "KEPT_BYTES", 20_000)
    long = pinnsig.solve("burgers", runs=runs, phases=["adam:4", "ssbroyden:8", "ssbroyden:3"],
                         keep_checkpoint=True, **LARGE)  # fmt: skip
    kept = pinnsig.solve("burgers", runs=runs, phases=PHASES, keep_checkpoint=True, **LARGE).path
    stopped = pinnsig.solve("burgers", runs=runs, phases=PHASES, callbacks=[StopAt(9)], **LARGE)
    for run in (kept, stopped.path):
        state, _ = load_checkpoint(RunDirectory.open(run))
        assert state["trainer"]["optimizer"]["curvature"] is not None
        pinnsig.resume(run, phases=["ssbroyden:3"], figures=False, keep_checkpoint=True)
        assert (run / "last.safetensors").read_bytes() == (
            long.path / "last.safetensors"
        ).read_bytes()


def test_a_directory_that_cannot_be_written_is_said_before_training(
    solve: Cli, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    run = Path(solve("burgers", "--json").json()["run"])
    before = {path.name: path.read_bytes() for path in run.iterdir()}

    def read_only(self, *arguments, **named):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(runs_module.os, "fsync", read_only)
    outcome = cli("resume", run, "--lbfgs", 9, "--no-figures", "--quiet")
    monkeypatch.undo()
    assert "Read-only file system" in outcome.complaint()
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
