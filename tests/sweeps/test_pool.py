"""A pool of processes: same results, killed ones replaced, interrupted ones saved, no orphans."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pinnsig
from pinnsig.sweeps import Pool, SweepWatcher, plan
from tests.conftest import SMALL
from tests.processes import Place, wait_for, wait_until_gone
from tests.sweeps.conftest import press_ctrl_c

FLAGS = {**SMALL, "seed": "0,1,2"}
DIE = "os.kill(os.getpid(), signal.SIGKILL)"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


class Tries(SweepWatcher):
    """What was begun, and which deaths of processes were followed by another try."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.again: list[bool] = []

    def started(self, name, where):
        self.begun.append(name)

    def ended(self, row, again):
        if row["reason"]:
            self.again.append(again)


def test_processes_give_what_one_gives(tmp_path: Path):
    one = pinnsig.sweep("burgers", out=tmp_path / "one", **FLAGS)
    two = pinnsig.sweep("burgers", out=tmp_path / "two", workers=2, **FLAGS)
    assert two.column("best_loss") == one.column("best_loss")
    assert two.values("status") == ["done"]


def test_threads_are_divided():
    assert Pool(2, 8).threads == 4
    assert Pool(3, 8).threads == 2
    assert Pool(4, 2).threads == 1


@pytest.mark.slow
@pytest.mark.parametrize("calls", [1, 2])
def test_a_killed_process_costs_only_its_run(tmp_path: Path, place: Place, calls: int):
    """The run of k = 1 is killed whenever it is begun; the others are done."""
    problem = place.problem(f"if self.k == 1: {DIE}")
    flags = {**SMALL, "set": {"k": "0.1,1,0.2"}, "out": tmp_path / "sweep"}
    for _ in range(calls):  # each of which tries anew
        tries = Tries()
        found = pinnsig.sweep(problem, executor=Pool(1), watcher=tries, **flags)
        assert found.column("status") == ["done", "failed", "done"]
        assert found[1]["reason"] == "its process ended by signal 9"
        assert found[1]["attempts"] == 2
        assert tries.again == [True, False]
    place.problem()
    mended = pinnsig.sweep(problem, **flags)
    assert mended.values("status") == ["done"]
    assert mended.values("reason") == [None]


@pytest.mark.slow
@pytest.mark.parametrize("deaths", [1, 3])
def test_a_run_that_gets_further_each_time_is_never_given_up(
    tmp_path: Path, place: Place, deaths: int
):
    """Processes die, and each has saved some iterations by then."""
    problem = place.problem(
        f"if self.is_training() and len(list(PLACE.iterdir())) <= {deaths}: {DIE}"
    )
    flags = {**SMALL, "adam": 30, "lbfgs": 0, "checkpoint_every": 1, "out": tmp_path / "sweep"}
    tries = Tries()
    table = pinnsig.sweep(problem, executor=Pool(1), retry=0, watcher=tries, **flags)
    assert tries.again == [True] * deaths
    assert len(place.trained()) == deaths + 1
    assert table[0]["iterations"] == 30
    assert (table[0]["status"], table[0]["attempts"]) == ("done", None)


@pytest.mark.slow
def test_a_worker_that_somebody_else_ends_is_replaced(tmp_path: Path, place: Place):
    once = "if self.evaluations() == 3 and len(list(PLACE.iterdir())) == 1: signal.raise_signal(15)"
    problem = place.problem(once)
    flags = {**SMALL, "adam": 9, "seed": "0,1", "out": tmp_path / "sweep"}
    tries = Tries()
    table = pinnsig.sweep(problem, executor=Pool(1), watcher=tries, **flags)
    assert tries.again == [True]
    assert not table.interrupted
    assert table.column("status") == ["done", "done"]
    assert table.column("iterations") == [12, 12]


HELD = "if self.is_training(): hold()"


def test_an_interruption_saves_every_run(tmp_path: Path, place: Place):
    problem = place.problem(HELD)
    flags = {**SMALL, "adam": 20, "seed": "0,1,2", "out": tmp_path / "sweep"}
    place.hold()
    press_ctrl_c(place, 2)
    table = pinnsig.sweep(problem, workers=2, **flags)
    assert table.interrupted
    assert table.column("status") == ["interrupted", "interrupted", "missing"]
    assert table.values("reason") == [None]
    place.release()
    table = pinnsig.sweep(problem, **flags)
    assert table.values("status") == ["done"]


def test_ctrl_c_while_a_run_is_finished_is_heard(tmp_path: Path, place: Place):
    """The run sends it itself, when it is judged; its worker takes no other."""
    place.hold()
    press = (
        "if self.is_ending() and not OWN.with_suffix('.hold').exists():\n"
        "            os.kill(os.getppid(), signal.SIGINT)\n"
        "            hold()"
    )
    problem = place.problem(solution=press)
    flags = {**SMALL, "adam": 20, "seed": "0,1", "out": tmp_path / "sweep"}
    table = pinnsig.sweep(problem, executor=Pool(1), **flags)
    assert table.interrupted
    assert table.column("status") == ["done", "missing"]


def sweep_until(tmp_path: Path, arguments: dict[str, Any], ready: Callable[[], bool]) -> None:
    """Sweep in two workers of another process, and kill that without a word when it is ready."""
    gate = tmp_path / "gate"
    code = (
        "import pathlib, time, os, pinnsig\n"
        f"gate = pathlib.Path({str(gate)!r})\n"
        "if __name__ == '__main__':\n"
        f"    pinnsig.sweep(workers=2, **{arguments!r})\n"
        "else:  # within a worker, before it has met pinnsig\n"
        "    pathlib.Path(f'{gate}-{os.getpid()}').touch()\n"
        "    while gate.exists(): time.sleep(0.01)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code, encoding="utf-8")
    with subprocess.Popen([sys.executable, str(script)]) as process:
        wait_for(lambda: ready() or process.poll() is not None)
        assert process.poll() is None
        process.kill()


def workers(tmp_path: Path) -> list[int]:
    """The workers of `sweep_until`, so far."""
    return [int(path.name.removeprefix("gate-")) for path in tmp_path.glob("gate-*")]


@pytest.mark.slow
def test_killed_as_a_whole_the_same_command_finishes_it(tmp_path: Path, place: Place):
    """Nothing that was done is repeated, and what was running saved itself."""
    problem = place.problem("if self.k > 0.5 and self.is_training(): hold()")
    flags = {**SMALL, "adam": 20, "set": {"k": "0.1,0.2,0.6,0.7,0.8"}, "out": tmp_path / "sweep"}
    place.hold()
    arguments = {**flags, "problem": str(problem), "out": str(flags["out"])}
    sweep_until(tmp_path, arguments, lambda: len(place.holding()) == 2)
    if sys.platform != "linux":
        place.release()
    for process in workers(tmp_path):
        wait_until_gone(process)
    before = plan(problem, **flags).table()
    assert before.column("status") == ["done", "done", "interrupted", "interrupted", "missing"]
    if sys.platform == "linux":
        place.release()
    tries = Tries()
    table = pinnsig.sweep(problem, watcher=tries, **flags)
    assert table.values("status") == ["done"]
    assert tries.begun == [row["run"] for row in before if row["status"] != "done"]


def test_killed_before_its_workers_are_there_none_of_them_trains(tmp_path: Path, place: Place):
    """They wait at the gate, with tasks in their pipes, until their parent is gone."""
    problem = place.problem()
    flags = {**SMALL, "seed": "0,1", "out": tmp_path / "sweep"}
    gate = tmp_path / "gate"
    gate.touch()
    arguments = {**flags, "problem": str(problem), "out": str(flags["out"])}
    sweep_until(tmp_path, arguments, lambda: len(workers(tmp_path)) == 2)
    gate.unlink()
    for process in workers(tmp_path):
        wait_until_gone(process)
    assert place.trained() == {}
    assert plan(problem, **flags).table().column("status") == ["missing", "missing"]
