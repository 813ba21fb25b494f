"""Where compiled libraries are kept: a folder of this user's own, each file with its checksum.

What lies there is loaded as code. So it has to be out of reach of every other user, and a file
counts only if its contents have the digest that its name ends with.
"""

import atexit
import contextlib
import ctypes
import hashlib
import os
import shutil
import stat
import tempfile
from functools import cached_property
from pathlib import Path

from pinnsig.core.files import write_whole

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class LibraryCache:
    """Libraries by key, in the user's cache folder, or in a private one where that cannot be used.

    Attributes:
        refusal: why what is compiled is gone with this process; None while it is kept.
    """

    def __init__(self) -> None:
        self.refusal: str | None = None
        self.folder: Path | None = None
        try:
            self.folder = user_folder()
        except OSError as error:
            self._refuse(error)

    def find(self, key: str) -> ctypes.CDLL | None:
        """Return the library of a key; None where there is none that is whole and loads."""
        for path in sorted(self.folder.glob(f"{key}-*.so")) if self.folder else ():
            if not is_whole(path):
                with contextlib.suppress(OSError):
                    path.unlink()
                continue
            with contextlib.suppress(OSError):  # of a machine with other system libraries
                return ctypes.CDLL(str(path))
        return None

    def keep(self, key: str, made: Path) -> ctypes.CDLL:
        """Return a library that was just made, loaded from its place in the cache.

        Raises:
            OSError: there is no place from which it can be loaded.
        """
        data = made.read_bytes()
        name = f"{key}-{hashlib.sha256(data).hexdigest()}.so"
        if self.folder is not None:
            try:
                return ctypes.CDLL(str(write_whole(self.folder / name, data, private=True)))
            except OSError as error:  # full, read-only, or nothing there may be executed
                self._refuse(error)
        return ctypes.CDLL(str(write_whole(self._private / name, data, private=True)))

    def _refuse(self, error: OSError) -> None:
        where = f"{error.filename}: {error.strerror}" if error.strerror else str(error)
        self.refusal = self.refusal or where

    @cached_property
    def _private(self) -> Path:
        """A folder that is gone with this process."""
        folder, owner = Path(tempfile.mkdtemp(prefix="pinnsig-")), os.getpid()

        def remove() -> None:
            if os.getpid() == owner:  # and no copy of it that a fork has made
                shutil.rmtree(folder, ignore_errors=True)

        atexit.register(remove)
        return folder


def user_folder() -> Path:
    """Return the folder of this user's libraries, made with mode 700 where it was not there.

    Raises:
        OSError: there is no home, it cannot be made, or another user could write to it.
    """
    root = os.environ.get("XDG_CACHE_HOME", "")
    if not Path(root).is_absolute():  # which the standard has ignored
        try:
            root = Path.home() / ".cache"
        except RuntimeError:
            raise OSError("this user has no home directory (HOME)") from None
    folder = Path(root).absolute() / "pinnsig"
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    if missing:
        check_parents(missing[-1])
    for path in reversed(missing):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
    if hasattr(os, "geteuid"):
        owner, mode = folder.stat().st_uid, folder.stat().st_mode
        if owner != os.geteuid():
            raise OSError(f"{folder} belongs to another user (uid {owner})")
        if mode & OTHERS_WRITE:
            raise OSError(
                f"other users can write to {folder} (mode {stat.S_IMODE(mode):o}): remove it"
            )
    check_parents(folder.resolve())
    return folder


def check_parents(path: Path) -> None:
    """Refuse a place above which another user could put something else there.

    Raises:
        OSError: names the folder that is another user's, or open to others.
    """
    if not hasattr(os, "geteuid"):
        return
    for parent in path.resolve().parents:
        found = parent.stat()
        if found.st_uid not in (os.geteuid(), *_system_owners()):
            raise OSError(f"{parent} belongs to another user (uid {found.st_uid})")
        if found.st_mode & stat.S_ISVTX:  # there, others cannot move what is not theirs
            continue
        alone = found.st_mode & OTHERS_WRITE == stat.S_IWGRP and _is_own_group(found.st_gid)
        if found.st_mode & OTHERS_WRITE and not alone:
            raise OSError(
                f"other users can write to {parent} (mode {stat.S_IMODE(found.st_mode):o})"
            )


def _system_owners() -> set[int]:
    """Return the ids of root, also of one from outside a container."""
    owners = {0}
    with contextlib.suppress(OSError, ValueError):
        owners.add(int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii")))
    return owners


def _is_own_group(number: int) -> bool:
    """Whether a group is the one that many systems make for each user, with nobody else in it."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def is_whole(path: Path) -> bool:
    """Whether a file is nobody else's to write, and has the digest that its name ends with."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    with os.fdopen(handle, "rb") as stream:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return False
        if hasattr(os, "geteuid") and (
            found.st_uid != os.geteuid() or found.st_mode & OTHERS_WRITE
        ):
            return False
        return hashlib.sha256(stream.read()).hexdigest() == path.stem.rpartition("-")[2]
