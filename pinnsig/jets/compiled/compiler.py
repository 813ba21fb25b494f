"""From C source to a loaded library, compiled once and kept in the user's cache directory."""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")

# not every compiler knows the machine, and only some have vectors of several sizes to prefer
TUNED = (("-march=native", "-mprefer-vector-width=512"), ("-march=native",), ())


def load(source: str) -> ctypes.CDLL | None:
    """The source as a library; None without a compiler, or with PINNSIG_COMPILE=0 set."""
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None or os.environ.get("PINNSIG_COMPILE") == "0":
        return None
    try:
        folder = _cache_folder()
        flags = f"{compiler} {_machine()} {FLAGS} {TUNED}"
        key = hashlib.sha256(f"{flags}\n{source}".encode()).hexdigest()[:24]
        path = folder / f"{key}.so"
        if not path.is_file():
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                code, made = Path(scratch) / "kernel.c", Path(scratch) / "kernel.so"
                code.write_text(source, encoding="ascii")
                for tuned in TUNED:
                    command = [compiler, *FLAGS, *tuned, "-o", str(made), str(code), "-lm"]
                    if subprocess.run(command, capture_output=True, timeout=120).returncode == 0:
                        break
                made.replace(path)
        return ctypes.CDLL(str(path))
    except (OSError, subprocess.SubprocessError):
        return None


@functools.cache
def _machine() -> str:
    """What the code is tuned for: the processor's own features, where the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        return next((line for line in text.splitlines() if line.startswith("flags")), "")
    except OSError:
        import platform

        return f"{platform.machine()} {platform.processor()}"


def _cache_folder() -> Path:
    """A folder that only this user can write to: what lies in it is loaded as code."""
    root = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(root) if root else Path.home() / ".cache") / "pinnsig"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
