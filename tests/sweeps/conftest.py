"""Processes that train, and say so."""

import os
import signal
import threading
from pathlib import Path

import pytest

from tests.processes import Place, wait_for


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Where each process that trains leaves its traces."""
    return Place(tmp_path / "processes")


def press_ctrl_c(place: Place, held: int) -> None:
    """Interrupt this process once so many processes wait."""

    def press() -> None:
        wait_for(lambda: len(place.holding()) >= held)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
