"""A pool of processes: same results, killed ones replaced, interrupted ones saved."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import pinnsig
from pinnsig.sweeps import Pool, SweepWatcher, plan
from tests.conftest import SMALL
from tests.sweeps.conftest import press_ctrl_c

FLAGS = {**SMALL, "seed": "0,1,2"}

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


def test_processes_give_what_one_gives(tmp_path: Path):
    one = pinnsig.sweep("burgers", out=tmp_path / "one", **FLAGS)
    two = pinnsig.sweep("burgers", out=tmp_path / "two", workers=2, **FLAGS)
    assert two.column("best_loss") == one.column("best_loss")
    assert two.values("status") == ["done"]


def test_threads_are_divided():
    assert Pool(2, 8).threads == 4
    assert Pool(3, 8).threads == 2
    assert Pool(4, 2).threads == 1


def test_a_killed_process_costs_only_its_run(tmp_path: Path, slow: Path, place: Path):
    """The run of k = 1 is killed whenever it is begun; the others are done."""

    tries: list[bool] = []

    class Kill(SweepWatcher):
        def started(self, name, where):
            if table[1]["run"] == name:
                threading.Thread(target=kill_the_newest, args=[place]).start()

        def ended(self, row, again):
            if row["reason"]:
                tries.append(again)

    flags = {**SMALL, "set": {"k": "0.1,1,0.2"}, "out": tmp_path / "sweep"}
    table = plan(slow, **flags).table()
    found = pinnsig.sweep(slow, executor=Pool(1), watcher=Kill(), **flags)
    assert found.column("status") == ["done", "failed", "done"]
    assert found[1]["reason"] == "its process ended by signal 9"
    assert found[1]["attempts"] == 2
    assert tries == [True, False]
    mended = pinnsig.sweep(slow, retry=2, **flags)
    assert mended.values("status") == ["done"]


def kill_the_newest(place: Path) -> None:
    """Kill the process that trains, once it does."""
    begun = time.time()
    while time.time() < begun + 30:
        for path in place.iterdir():
            if path.stat().st_mtime > begun:
                os.kill(int(path.name), signal.SIGKILL)
                return
        time.sleep(0.02)


def test_an_interruption_saves_every_run(tmp_path: Path, slow: Path, place: Path):
    # long enough that none is done when the other one begins
    longer = {**SMALL, "adam": 100, "set": {"k": 0.3}}
    flags = {**longer, "seed": "0,1,2", "out": tmp_path / "sweep"}
    press_ctrl_c(place, 30)
    table = pinnsig.sweep(slow, workers=2, **flags)
    assert table.interrupted
    assert table.column("status") == ["interrupted", "interrupted", "missing"]
    assert table.values("reason") == [None]
    table = pinnsig.sweep(slow, **flags)
    assert table.values("status") == ["done"]


def test_killed_as_a_whole_the_same_command_finishes_it(tmp_path: Path, slow: Path, place: Path):
    """Nothing that was done is repeated, and what was running saved itself."""
    flags = {**SMALL, "set": {"k": 0.5}, "seed": "0,1,2,3", "out": tmp_path / "sweep"}
    code = "import pinnsig, sys\nif __name__ == '__main__':\n    pinnsig.sweep(workers=2, **{})\n"
    script = tmp_path / "script.py"
    arguments = {**flags, "problem": str(slow), "out": str(flags["out"])}
    script.write_text(code.replace("{}", repr(arguments)), encoding="utf-8")
    with subprocess.Popen([sys.executable, str(script)]) as process:
        give_up = time.time() + 60
        while not list(flags["out"].glob("*/result.json")) and time.time() < give_up:
            time.sleep(0.02)
        time.sleep(0.3)
        process.kill()
    give_up = time.time() + 30
    while any(alive(int(path.name)) for path in place.iterdir()) and time.time() < give_up:
        time.sleep(0.05)
    before = plan(slow, **flags).table()
    assert "done" in before.column("status")
    assert {"interrupted", "missing"} & set(before.column("status"))
    begun: list[str] = []

    class Seen(SweepWatcher):
        def started(self, name, where):
            begun.append(name)

    table = pinnsig.sweep(slow, watcher=Seen(), **flags)
    assert table.values("status") == ["done"]
    assert begun == [row["run"] for row in before if row["status"] != "done"]


def alive(process: int) -> bool:
    """Whether a process is there."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
