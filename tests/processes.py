"""Other processes: a problem that says what they do, and waiting for that, never for a time."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.conftest import HEAT


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is so, however long that takes a busy machine."""
    while not condition():
        time.sleep(0.01)


def wait_until_gone(process: int) -> None:
    """Wait until a process has ended, be it that of another process and not collected yet."""
    wait_for(lambda: not is_running(process))


def is_running(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # it has just ended, or this system has no such files
        return not Path("/proc/self").exists()
    return status.rpartition(")")[2].split()[0] not in "ZX"


BEGUN = 32
"""Evaluations of the residual after which a run is training: before, its code is tried."""

WATCHED = HEAT.replace("import math\n", "import math, os, pathlib, signal, time\n").replace(
    "class Heat(",
    '''PLACE = pathlib.Path("PLACE")
OWN = PLACE / str(os.getpid())


def asked_to_end():
    """Whether a first signal came: then pinnsig has given its handler back."""
    return getattr(signal.getsignal(signal.SIGTERM), "__module__", "") != "pinnsig.core.interrupts"


def hold(name="hold"):
    """Say so and wait, until this process is asked to end or PLACE/name is gone."""
    while (PLACE / name).exists() and not asked_to_end():
        OWN.with_suffix(f".{name}").touch()
        time.sleep(0.01)


class Heat(''',
).replace(
    "return u.t -", "self.evaluated()\n        return u.t -"
)  # fmt: skip


class Place:
    """A folder in which each process that trains on a problem leaves its traces.

    Each process has a file there for each k, called after its id, with a dot for each evaluation of
    the residual: under thirty before a run trains, under fifteen before it goes on, and many when
    it is judged;
    and, once it has waited in `hold(name)`, one with the suffix `.name`.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.path = path

    def problem(self, evaluated: str = "pass", solution: str = "pass") -> Path:
        """A problem file that runs code of its own.

        Args:
            evaluated: run within each evaluation, after its dot; may call `hold()`, and use
                `self.k` and, of this k and in this process, `self.evaluations()`,
                `self.is_training()` and, after more than 18 iterations, `self.is_ending()`.
            solution: run where the exact solution is asked for.
        """
        file = self.path.with_name("watched.py")
        text = WATCHED.replace('"PLACE"', repr(str(self.path)))
        text = text.replace(
            "    def conditions(",
            "    def evaluated(self):\n"
            "        with OWN.with_suffix(f'.k{self.k * 10:.0f}').open('a') as file:\n"
            "            file.write('.')\n"
            f"        {evaluated}\n\n"
            "    def evaluations(self):\n"
            "        trace = OWN.with_suffix(f'.k{self.k * 10:.0f}')\n"
            "        return trace.stat().st_size if trace.exists() else 0\n\n"
            f"    def is_training(self):\n        return self.evaluations() > {BEGUN}\n\n"
            f"    def is_ending(self):\n        return self.evaluations() > {BEGUN + 18}\n\n"
            "    def conditions(",
        ).replace("return torch.exp(-self", f"{solution}\n        return torch.exp(-self")
        file.write_text(text, encoding="utf-8")
        return file

    def hold(self, name: str = "hold") -> None:
        """Have processes wait in `hold(name)`."""
        (self.path / name).touch()

    def release(self, name: str = "hold") -> None:
        """Have them go on."""
        (self.path / name).unlink()

    def holding(self, name: str = "hold") -> list[int]:
        """The processes that wait, or have waited."""
        return [int(path.stem) for path in self.path.glob(f"*.{name}")]

    def trained(self) -> dict[int, int]:
        """How many evaluations each process has made."""
        found: dict[int, int] = {}
        for path in self.path.glob("*.k*"):
            found[int(path.stem)] = found.get(int(path.stem), 0) + path.stat().st_size
        return found
