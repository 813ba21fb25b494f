"""Ctrl-C and SIGTERM as a question that training asks between iterations."""

import contextlib
import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PARENT_DEATH_SIGNAL = 1  # of prctl, which Linux has


class Interruption:
    """Whether training was asked to end, and by which signal.

    Attributes:
        signal: the first one's number, or None.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def asked(self) -> bool:
        """Whether a signal came."""
        return self.signal is not None


@contextlib.contextmanager
def interruptible(tell: Callable[[int], None]) -> Iterator[Interruption]:
    """Keep the first Ctrl-C or SIGTERM from ending the process; the second one does.

    Outside the main thread, where Python hands out no signals, nothing is changed. A signal
    that the process was started to ignore, as a shell's background jobs are, stays ignored.

    Args:
        tell: called with its number when the first one comes, within the handler.
    """
    found = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield found
        return

    def handle(number: int, frame: Any) -> None:
        del frame
        found.signal = number
        restore()
        tell(number)

    before = {number: signal.getsignal(number) for number in SIGNALS}
    before = {n: handler for n, handler in before.items() if handler is not signal.SIG_IGN}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, handle)
    try:
        yield found
    finally:
        restore()


@contextlib.contextmanager
def deaf() -> Iterator[None]:
    """Hear neither Ctrl-C nor SIGTERM, which another process is to hear."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_parent(by: int = signal.SIGTERM) -> None:
    """Have the parent's death send this process a signal, where the system can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, by)
