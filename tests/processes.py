"""Waiting for other processes: for what they do, never for a time."""

import os
import time
from collections.abc import Callable
from pathlib import Path


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is so, however long that takes a busy machine."""
    while not condition():
        time.sleep(0.01)


def wait_until_gone(process: int) -> None:
    """Wait until a process has ended, be it that of another process and not collected yet."""
    wait_for(lambda: not runs(process))


def runs(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return Path("/proc/self").exists() is False
    return status.rpartition(")")[2].split()[0] not in "ZX"
