"""A problem that takes its time, and leaves traces of the processes that train on it."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import HEAT

SLOW = HEAT.replace(
    "return u.t -",
    "import os, pathlib, time\n"
    "        with pathlib.Path(PLACE, str(os.getpid())).open('a') as file: file.write('.')\n"
    "        time.sleep(self.k / 10)\n"
    "        return u.t -",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where each process that trains has a file called after its id, with a dot per evaluation."""
    path = tmp_path / "processes"
    path.mkdir()
    return path


@pytest.fixture
def slow(tmp_path: Path, place: Path) -> Path:
    """A problem whose evaluations take k / 10 seconds."""
    path = tmp_path / "slow.py"
    path.write_text(SLOW.replace("PLACE", repr(str(place))), encoding="utf-8")
    return path


def press_ctrl_c(place: Path, within: float) -> None:
    """Interrupt this process soon after two processes have begun to train."""

    def press() -> None:
        give_up = time.time() + within
        while len(list(place.iterdir())) < 2 and time.time() < give_up:
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
