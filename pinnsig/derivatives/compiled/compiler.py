"""From C source to a loaded library, compiled once and kept (`cache`)."""

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from pinnsig.core.errors import whole_message
from pinnsig.derivatives.compiled.cache import LibraryCache
from pinnsig.derivatives.compiled.commands import (
    CompilerError,
    HangingError,
    first_error,
    loads,
    run,
)
from pinnsig.derivatives.compiled.processor import processor_features

FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")

# not every compiler knows the machine, and only some have vectors of several sizes to prefer
TUNED = (("-march=native", "-mprefer-vector-width=512"), ("-march=native",))

READ = ("CC", "PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR")
"""What decides the compiler and the cache."""


def load(source: str) -> ctypes.CDLL | None:
    """Return the source as a library; None where that cannot be, or with PINNSIG_COMPILE=0 set.

    Why it could not be is said by `compiler_notice`.
    """
    if os.environ.get("PINNSIG_COMPILE") == "0":
        return None
    return _toolchain(*map(os.environ.get, READ)).load(source)


def compiler_notice() -> str | None:
    """Return what a user should know of the libraries so far: why there are none, or none is kept.

    None where all is well, or with PINNSIG_COMPILE=0 set, which is the user's own choice.
    """
    if os.environ.get("PINNSIG_COMPILE") == "0":
        return None
    return _toolchain(*map(os.environ.get, READ)).notice


@functools.cache
def _toolchain(*environment: str | None) -> "Toolchain":
    return Toolchain(environment[0] or "cc")


class Toolchain:
    """A C compiler and where its libraries are kept.

    Args:
        asked: the command, such as `gcc` or `ccache gcc`.

    Attributes:
        fault: why a source could not be made into a library, the first time.
        unusable: whether it is not to be asked again.
    """

    def __init__(self, asked: str) -> None:
        self.asked = asked
        self.fault: str | None = None
        self.unusable = False

    @property
    def notice(self) -> str | None:
        """What a user should know; None where all is well."""
        if self.fault is not None:
            return (
                f"no compiled C ({self.fault}): torch's own operations take its place, and each "
                "evaluation of the loss takes three to six times as long"
            )
        refusal = self.cache.refusal if "cache" in self.__dict__ else None
        if refusal is not None:
            return (
                f"compiled C is not kept ({refusal}): each process compiles it anew, which takes "
                "some seconds"
            )
        return None

    def load(self, source: str) -> ctypes.CDLL | None:
        """Return the source as a library; None where that cannot be."""
        if self.unusable:
            return None
        try:
            key = hashlib.sha256(f"{self.identity}\n{source}".encode()).hexdigest()[:24]
            found = self.cache.find(key)
            if found is not None:
                return found
            with tempfile.TemporaryDirectory(prefix="pinnsig-") as scratch:
                made = self._compile(source, Path(scratch))
                return self.cache.keep(key, made)
        except (CompilerError, OSError) as error:
            self.unusable |= isinstance(error, HangingError)
            self.fault = self.fault or whole_message(error)
            return None

    @functools.cached_property
    def cache(self) -> LibraryCache:
        """Where libraries are kept."""
        return LibraryCache()

    @functools.cached_property
    def command(self) -> list[str]:
        """The compiler's command, its program found."""
        whole = shutil.which(self.asked)
        if whole is not None:
            return [whole]
        try:
            program, *more = shlex.split(self.asked)
        except ValueError as error:
            raise CompilerError(f"CC = {self.asked!r} cannot be read: {error}") from None
        found = shutil.which(program)
        if found is None:
            raise CompilerError(f"there is no C compiler {program!r}")
        return [found, *more]

    @functools.cached_property
    def identity(self) -> str:
        """What decides the code that a source becomes, and whether this machine can run it."""
        with tempfile.TemporaryDirectory(prefix="pinnsig-") as scratch:
            said = Path(scratch) / "version"
            run([*self.command, "--version"], said)
            version = said.read_text(encoding="utf-8", errors="replace")
        system = sys.platform, platform.machine(), *platform.libc_ver()
        return repr((self.command, version, system, processor_features(), FLAGS, self.tuned))

    @property
    def tuned(self) -> tuple[tuple[str, ...], ...]:
        """Flags to try, best first; for no processor in particular where it cannot be told."""
        return (*TUNED, ()) if processor_features() else ((),)

    def _compile(self, source: str, scratch: Path) -> Path:
        """Return a library that a process of its own has loaded."""
        code, made, said = scratch / "kernel.c", scratch / "kernel.so", scratch / "said"
        code.write_text(source, encoding="ascii")
        faults = []
        for tuned in self.tuned:
            made.unlink(missing_ok=True)
            status = run([*self.command, *FLAGS, *tuned, "-o", str(made), str(code), "-lm"], said)
            if status != 0:
                faults.append(f"{self.asked} fails with exit code {status}{first_error(said)}")
            elif not (made.is_file() and loads(made, said)):
                faults.append(f"{self.asked} makes no library that can be loaded")
            else:
                return made
        raise CompilerError(faults[-1])
