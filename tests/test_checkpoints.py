"""Checkpoints: whole or refused, never run as code, and the one before stands by."""

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
from pinnsig import runs as runs_module
from pinnsig.checkpoints import NEWEST, PREVIOUS, load_checkpoint, save_checkpoint
from pinnsig.errors import RunError
from pinnsig.runs import RunDirectory
from tests.conftest import SMALL, Cli
from tests.test_resume import StopAt

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
    """A real limit on the size of files stands in for a full disk: weights do not fit."""
    script = textwrap.dedent(f"""
        import resource, sys
        from pinnsig.cli import main
        resource.setrlimit(resource.RLIMIT_FSIZE, (2200, resource.RLIM_INFINITY))
        main(["solve", "burgers", "--depth=2", "--width=32", "--collocation=40", "--initial=8",
              "--boundary=8", "--adam=4", "--lbfgs=2", "--checkpoint-every=1", "--no-figures",
              "--runs", {str(tmp_path)!r}])
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    lines = done.stderr.splitlines()
    notices = [line for line in lines if line.startswith("notice: cannot write")]
    assert len([line for line in notices if "state.safetensors" in line]) == 1  # said once
    assert all("File too large" in line and "training goes on" in line for line in notices)
    assert "lbfgs 2/2" in done.stderr
    assert lines[-1].startswith("pinnsig: error: cannot write")
    (run,) = tmp_path.glob("*/*")
    steps = [record["step"] for record in RunDirectory.open(run).metrics()]
    assert steps == list(range(len(steps)))
    assert 2 < len(steps) < 7
    assert "Traceback" not in done.stderr


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
