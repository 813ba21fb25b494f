"""Which files a problem's own code opens for reading."""

import os
import stat
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

_PLACES = ("stdlib", "platstdlib", "purelib", "platlib")
_INSTALLED = tuple({sysconfig.get_paths()[name] + os.sep for name in _PLACES})
_DEVICES = ("/proc/", "/sys/", "/dev/")
_LANGUAGE = "pinnsig.problem."  # what a problem's code calls to read data
_watching: "list[OpenedFiles]" = []
_hooked = False


def is_installed(path: str) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    return path.startswith(_INSTALLED) or f"{os.sep}site-packages{os.sep}" in path


class OpenedFiles:
    """The files that code below a folder opens, as long as it is watched.

    Python's own opening of files is seen, which numpy, pandas, json and torch use; that of
    libraries in C is not.

    Attributes:
        paths: of the files, absolute, in the order in which they were opened first.
        relative: those that were named relative to the working directory.

    Args:
        root: the folder of the problem's code; None where it has none.
        module: the name of the module that it is in.
    """

    def __init__(self, root: Path | None, module: str = "") -> None:
        self._below = None if root is None else str(root) + os.sep
        self._module = module
        self.paths: dict[Path, None] = {}
        self.relative: dict[Path, str] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within it, files are noted."""
        global _hooked
        if not _hooked:
            sys.addaudithook(_hook)
            _hooked = True
        _watching.append(self)
        try:
            yield
        finally:
            _watching.remove(self)

    def note(self, name: str, frame: FrameType | None) -> None:
        """Note a file if the problem's code asked for it."""
        path = os.path.abspath(name)  # noqa: PTH100 (Path.resolve would follow links)
        if is_installed(path) or path.startswith(_DEVICES) or path.endswith(".pyc"):
            return
        if not self._is_asked(frame) or not _is_file(path):
            return
        self.paths[Path(path)] = None
        if not os.path.isabs(name):  # noqa: PTH117
            self.relative[Path(path)] = name

    def _is_asked(self, frame: FrameType | None) -> bool:
        while frame is not None:
            module = str(frame.f_globals.get("__name__", ""))
            file = frame.f_code.co_filename
            if file.startswith("<frozen importlib"):
                return False
            if module == self._module:
                return True
            own = module.partition(".")[0] == "pinnsig"
            if own and not module.startswith(("pinnsig.problems", _LANGUAGE)):
                return False
            if self._below and file.startswith(self._below) and not own and not is_installed(file):
                return True
            frame = frame.f_back
        return False


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not _watching:
        return
    name, mode, flags = arguments
    reads = (flags or 0) & getattr(os, "O_ACCMODE", 3) == os.O_RDONLY
    if isinstance(mode, str) and set(mode) & set("wax+"):
        reads = False
    if not reads or not isinstance(name, str | bytes | os.PathLike):
        return
    frame = sys._getframe(1)
    for watcher in list(_watching):
        watcher.note(os.fsdecode(name), frame)
