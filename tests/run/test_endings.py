"""Whatever ends a run, and whatever its numbers: weights, log and a result that can be read."""

import errno
import json
import math
import os
import shutil
from pathlib import Path

import pytest
import torch

import pinnsig
from pinnsig import Box, Callback, Dirichlet, Problem
from pinnsig.core.errors import RunError, TrainingError
from pinnsig.run import directory as runs_module
from pinnsig.run.directory import RunDirectory
from pinnsig.run.state import run_state
from tests.conftest import SMALL, Cli, strict_json
from tests.run.test_resume import StopAt

QUICK = {**SMALL, "figures": False}
COUNTS = {name: value for name, value in QUICK.items() if name not in ("adam", "lbfgs")}


def read_result(path: Path) -> dict:
    return strict_json((path / "result.json").read_text(encoding="utf-8"))


class Fragile(Problem):
    """Its residual raises at an evaluation that is counted from when it is armed."""

    domain = Box(x=(0.0, 1.0))
    armed = False
    error: type[Exception] = ValueError

    def residual(self, u):
        if type(self).armed:
            raise self.error("too hot")
        return u.x - 1.0

    def conditions(self):
        yield Dirichlet(on="x-", u=0.0)


class Arm(Callback):
    """Lets the residual fail after so many iterations in all."""

    def __init__(self, step: int) -> None:
        self.step = step

    def recorded(self, record) -> None:
        Fragile.armed = record.step == self.step


@pytest.fixture(autouse=True)
def _unarmed():
    yield
    Fragile.armed, Fragile.error = False, ValueError


@pytest.mark.parametrize("step", [0, 2, 3, 5])
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError, "residual fails with ValueError: too hot"),
        (MemoryError, "out of memory: MemoryError: too hot"),
        (torch.OutOfMemoryError, "out of memory: OutOfMemoryError: too hot"),
    ],
)
def test_problem_code_that_raises_on_the_way(runs: Path, step: int, error, words: str):
    Fragile.error = error
    flags = {**QUICK, "engine": "nested", "log_every": 100, "checkpoint_every": 1}
    with pytest.raises(TrainingError, match=words) as raised:
        pinnsig.solve(Fragile, runs=runs, callbacks=[Arm(step)], **flags)
    path = raised.value.path
    assert path is not None
    assert str(path) in str(raised.value)
    assert "Fragile: training failed" in str(raised.value)
    assert "\n" not in str(raised.value)
    result = read_result(path)
    assert result["stop"] == f"failed: {words}"
    assert result["iterations"] == step
    assert result["loss_at_start"] > 0
    assert run_state(path).name == "failed"
    Fragile.armed = False
    trained = pinnsig.load(path, problem=Fragile)
    assert all(tensor.isfinite().all() for tensor in trained.model.state_dict().values())
    steps = [record["step"] for record in RunDirectory.open(path).metrics()]
    assert steps[-1] == step
    straight = pinnsig.solve(Fragile, runs=runs, **{**flags, "checkpoint_every": 0})
    resumed = pinnsig.resume(path, problem=Fragile, figures=False)
    assert resumed.stop == "iterations done"
    assert resumed.terms == straight.terms


@pytest.mark.parametrize("method", ["recorded", "phase_ended"])
def test_a_callback_that_raises_is_named(runs: Path, method: str):
    def fail(self, *arguments):
        raise KeyError("color")

    kind = type("Painter", (Callback,), {method: fail})
    with pytest.raises(TrainingError, match=f"Painter.{method} fails with KeyError: 'color'") as e:
        pinnsig.solve("burgers", runs=runs, callbacks=[kind()], **QUICK)
    assert e.value.path is not None
    assert read_result(e.value.path)["stop"].startswith("failed: callback Painter")


def test_an_optional_callback_that_raises_is_left_out_with_a_notice(runs: Path):
    heard: list[str] = []

    class Hear(Callback):
        def noticed(self, text: str) -> None:
            heard.append(text)

    class Board(Callback):
        optional = True

        def recorded(self, record) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    result = pinnsig.solve("burgers", runs=runs, callbacks=[Board(), Hear()], **QUICK)
    assert result.stop == "iterations done"
    assert len([text for text in heard if "Board.recorded fails with OSError" in text]) == 1


class Rooted(Problem):
    """Not finite where u < -4, which boundary values of -5 lead to."""

    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.x - 1.0 + 0.0 * torch.sqrt(u + 4.0)

    def conditions(self):
        yield Dirichlet(on="x-", u=-5.0)


ROOTED = {**COUNTS, "init": "xavier", "lr": 0.05, "dtype": "float64"}


def test_a_non_finite_end_is_said_where_the_phase_after_it_did_nothing(runs: Path):
    result = pinnsig.solve(Rooted, runs=runs, adam=2000, lbfgs=0, **ROOTED)
    assert result.stop == "non-finite loss"
    assert [phase["stop"] for phase in result.phases] == ["non-finite loss", "iterations done"]
    assert math.isfinite(result.best_loss)


@pytest.mark.parametrize("phases", [["adam:2000", "adam:40,lr=1e-4"], ["adam:2000", "lbfgs:4"]])
def test_a_phase_begins_anew_after_one_that_was_not_finite_resumed_or_not(runs: Path, phases):
    straight = pinnsig.solve(Rooted, runs=runs, phases=phases, **ROOTED)
    assert straight.phases[0]["stop"] == "non-finite loss"
    assert straight.phases[1]["iterations"] > 1
    assert math.isfinite(straight.last_loss)
    first = pinnsig.solve(Rooted, runs=runs, phases=phases[:1], **ROOTED)
    assert first.stop == "non-finite loss"
    resumed = pinnsig.resume(first.path, problem=Rooted, phases=phases[1:], figures=False)
    assert resumed.terms == straight.terms


def test_the_command_says_a_non_finite_end_by_its_exit_code(cli: Cli, runs: Path, tmp_path: Path):
    file = tmp_path / "rooted.py"
    file.write_text(
        "import torch\nfrom pinnsig.problem import Box, Dirichlet, Problem\n"
        "class Rooted(Problem):\n"
        "    domain = Box(x=(0.0, 1.0))\n"
        "    def residual(self, u):\n"
        "        return u.x - 1.0 + 0.0 * torch.sqrt(u + 4.0)\n"
        "    def conditions(self):\n"
        "        yield Dirichlet(on='x-', u=-5.0)\n",
        encoding="utf-8",
    )
    flags = [text for name, value in SMALL.items() for text in (f"--{name}", value)]
    done = cli(
        "solve", file, *flags, "--init=xavier", "--lr=0.05", "--adam=2000", "--lbfgs=0",
        "--no-figures", "--runs", runs,
    )  # fmt: skip
    assert done.code == 1
    assert "non-finite loss" in done.out
    assert "Traceback" not in done.err


def test_the_command_says_a_failure_in_one_line_and_exits_1(cli: Cli, runs: Path, tmp_path: Path):
    file = tmp_path / "hot.py"
    file.write_text(
        "from pathlib import Path\n"
        "from pinnsig.problem import Box, Problem\n"
        f"CALLS = Path({str(tmp_path / 'calls')!r})\n"
        "class Hot(Problem):\n"
        "    domain = Box(x=(0.0, 1.0))\n"
        "    def residual(self, u):\n"
        "        with CALLS.open('a') as file:\n"
        "            file.write('.')\n"
        "        if CALLS.stat().st_size > 60:\n"
        "            raise RuntimeError('too hot')\n"
        "        return u.x - 1.0\n",
        encoding="utf-8",
    )
    flags = [text for name, value in SMALL.items() for text in (f"--{name}", value)]
    done = cli(
        "solve", file, *flags, "--adam=500", "--engine=nested", "--no-figures", "--quiet",
        "--runs", runs,
    )  # fmt: skip
    assert done.code == 1, done.err
    assert done.out == ""
    (line,) = [line for line in done.err.splitlines() if not line.startswith("notice: ")]
    assert line.startswith("pinnsig: error: Hot: training failed after")
    (run,) = runs.glob("*/*")
    assert str(run) in line
    assert read_result(run)["stop"] == "failed: residual fails with RuntimeError: too hot"


def test_a_sweep_does_not_take_a_failed_member_for_done(runs: Path, tmp_path: Path):
    calls = tmp_path / "calls"

    class Late(Fragile):
        def residual(self, u):
            with calls.open("a") as file:
                file.write(".")
            if calls.stat().st_size > 60:
                raise RuntimeError("too hot")
            return super().residual(u)

    flags = {**COUNTS, "adam": 500, "lbfgs": 0, "engine": "nested"}
    table = pinnsig.sweep(Late, out=runs / "s", seed=[0], retry=0, **flags)
    assert [row["status"] for row in table] == ["failed"]
    calls.unlink()
    again = pinnsig.sweep(Late, out=runs / "s", seed=[0], retry=1, **flags)
    assert [row["attempts"] for row in again] == [2]


def test_numbers_that_overflow_leave_a_result_that_is_strict_json(runs: Path):
    class Huge(Problem):
        domain = Box(x=(0.0, 1.0))

        def residual(self, u):
            return 1e200 * (u.x - 1.0)

        def solution(self, x):
            return 1e200 * x

    with pytest.raises(pinnsig.PinnsigError):  # at the start, in words
        pinnsig.solve(Huge, runs=runs, **QUICK)

    class Large(Huge):
        def residual(self, u):
            return u.x - 1.0

    result = pinnsig.solve(Large, runs=runs, dtype="float64", **{**SMALL, "figures": True})
    read_result(result.path)
    assert result.stop == "iterations done"


def test_a_result_is_withdrawn_when_training_goes_on(runs: Path):
    run = pinnsig.solve("burgers", runs=runs, **QUICK).path
    seen: list[bool] = []

    class Torn(Callback):
        def recorded(self, record) -> None:
            seen.append((run / "result.json").exists())
            raise KeyboardInterrupt

    assert run_state(run).name == "finished"
    with pytest.raises(KeyboardInterrupt):
        pinnsig.resume(run, lbfgs=9, figures=False, callbacks=[Torn()])
    assert seen == [False]
    state = run_state(run)
    assert (state.name, state.result) == ("interrupted", None)
    assert f"pinnsig resume {run}" in state.text
    assert pinnsig.resume(run, figures=False).iterations == 12


def test_a_change_that_cannot_be_made_withdraws_no_result(runs: Path):
    run = pinnsig.solve("burgers", runs=runs, **QUICK).path
    with pytest.raises(RunError, match="nothing left to do"):
        pinnsig.resume(run)
    assert read_result(run)["iterations"] == 6


def test_torn_away_while_it_is_judged_the_weights_are_there_and_it_is_made_up_for(
    runs: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = pinnsig.solve("burgers", runs=runs, **QUICK)

    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("pinnsig.run.ending.judge", interrupt)
        with pytest.raises(KeyboardInterrupt):
            pinnsig.solve("burgers", runs=runs / "torn", **QUICK)
    (run,) = (runs / "torn").glob("*/*")
    assert (run / "model.safetensors").is_file()
    assert pinnsig.resume(run, figures=False).terms == whole.terms


@pytest.mark.parametrize("figures", [True, False])
def test_a_run_that_cannot_be_written_any_more_is_kept_elsewhere(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: bool
):
    """The directory disappears while the last iterations run."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    class Remove(Callback):
        def recorded(self, record) -> None:
            if record.step == 5:
                for run in runs.glob("*/*"):
                    shutil.rmtree(run)

        def noticed(self, text: str) -> None:
            heard.append(text)

    heard: list[str] = []
    result = pinnsig.solve(
        "burgers", runs=runs, callbacks=[Remove()], **{**QUICK, "figures": figures}
    )
    assert result.path.parent == tmp_path
    assert result.path.name.startswith("pinnsig-")
    assert any(f"what the run leaves is in {result.path}" in text for text in heard)
    assert read_result(result.path)["run"] == str(result.path)
    for name in ("model", "last"):
        assert (result.path / f"{name}.safetensors").is_file()


def test_figures_are_extras(cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch):
    flags = [text for name, value in SMALL.items() for text in (f"--{name}", value)]

    def full(*arguments, **named):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("matplotlib.figure.Figure.savefig", full)
        done = cli("solve", "burgers", *flags, "--runs", runs)
        assert done.code == 0, done.err
        (run,) = runs.glob("*/*")
        for name in ("activations", "loss", "solution", "slices", "residual"):
            assert f"{name}.png: OSError: No space left on device" in done.err
        assert read_result(run)["stop"] == "iterations done"
        assert "cannot draw" in cli("plot", run).complaint()
    assert not list((run / "figures").glob(".*"))
    assert cli("plot", run).code == 0


def test_a_failing_disk_while_the_result_is_written_keeps_all_elsewhere(
    solve: Cli, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sync = os.fsync

    def full(descriptor: int) -> None:
        file = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        if "result.json" in file and str(runs) in file:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(runs_module.os, "fsync", full)
    done = solve("burgers", "--json")
    assert done.code == 1
    place = Path(json.loads(done.out)["run"])
    assert place.parent == tmp_path
    assert {"config.json", "model.safetensors", "last.safetensors", "result.json"} <= {
        path.name for path in place.iterdir()
    }
    assert pinnsig.load(place).settings.problem == "burgers"


def test_stopping_is_no_failure(runs: Path):
    stopped = pinnsig.solve("burgers", runs=runs, callbacks=[StopAt(2)], **QUICK)
    assert run_state(stopped.path).name == "interrupted"
    with RunDirectory.open(stopped.path).locked():
        assert run_state(stopped.path).name == "training"
    (stopped.path / "state.safetensors").write_bytes(b"")
    (stopped.path / "state.previous.safetensors").unlink(missing_ok=True)
    (stopped.path / "result.json").unlink()
    assert run_state(stopped.path).name == "damaged"
    (stopped.path / "state.safetensors").unlink()
    assert run_state(stopped.path).name == "begun"
