"""Files that are there as a whole or not at all, and folders that one process has for itself."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pinnsig.core.errors import PinnsigError
from pinnsig.core.paths import plain

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PART = ".part"
"""What the names of files end with that are being written."""


@contextmanager
def replacing(path: Path, keep: Path | None = None, private: bool = False) -> Iterator[Path]:
    """Give a file to write to, which takes another's place once all of it is written.

    Args:
        path: the file whose place it takes; it stays what it was if writing fails.
        keep: what the file that was there is then called; None drops it.
        private: whether nobody else may read or write the new one.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}{PART}")
    try:
        mode = 0o600 if private else 0o666
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield part
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        if keep is not None and path.exists():
            path.replace(keep)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes, keep: Path | None = None, private: bool = False) -> Path:
    """Write a file so that it is there as a whole or not at all, and return its path."""
    with replacing(path, keep, private) as part:
        part.write_bytes(data)
    return path


def write_reported(
    path: Path, data: bytes, error: type[PinnsigError], folders: bool = False
) -> Path:
    """Write a file whole, and return its path.

    Args:
        path: the file, replaced if it is there.
        data: what it is to hold.
        error: what is raised.
        folders: whether folders that are missing are made.

    Raises:
        PinnsigError: of the type `error`, in one line: it cannot be written.
    """
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(path, data)
    except OSError as fault:
        reason = fault.strerror or fault
        raise error(f"cannot write {plain(str(path))}: {reason}") from None


def remove_parts(folder: Path) -> None:
    """Remove what processes that were killed had not finished writing."""
    for left in folder.glob(f".*{PART}"):
        left.unlink(missing_ok=True)


@contextmanager
def folder_lock(folder: Path, shared: bool = False) -> Iterator[bool]:
    """Hold a folder's lock meanwhile, and give whether it could be had.

    It ends with the process. Where a file system has no locks, everyone has it.

    Args:
        folder: which.
        shared: whether others may hold it in the same way: to see if one has it alone.
    """
    if fcntl is None:
        yield True
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            held = False
        except OSError:  # some network file systems have none
            held = True
        yield held
    finally:
        os.close(handle)
