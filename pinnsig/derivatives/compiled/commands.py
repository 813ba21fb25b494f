"""Running a compiler: never for long, and never with an end that is taken for a good one."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LIMIT = 30.0  # seconds of a compiler, which takes about one


class CompilerError(Exception):
    """A source cannot be made into a library; says why."""


class HangingError(CompilerError):
    """The compiler does not end, and is not to be asked again."""


def loads(library: Path, said: Path) -> bool:
    """Whether a process can load a library and live; this one could die of a broken one."""
    if not sys.executable or getattr(sys, "frozen", False):  # no Python to ask
        return True
    program = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    return run([sys.executable, "-I", "-S", "-c", program, str(library)], said) == 0


def run(command: Sequence[str], said: Path) -> int:
    """Run a command apart from the terminal's Ctrl-C, and return its exit code.

    Args:
        command: program and arguments.
        said: the file that its words go to.

    Raises:
        HangingError: it did not end, and was killed with all that it had started.
    """
    with said.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise HangingError(f"{command[0]} did not end within {LIMIT:g} s") from None
        finally:
            if process.poll() is None:
                _kill_group(process)


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def first_error(said: Path) -> str:
    """Return `: ` and the first error among what a command said; "" where it said nothing."""
    lines = said.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if "error" in line.lower()] or lines
    return f": {errors[0].strip()[:200]}" if errors else ""
