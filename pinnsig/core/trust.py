"""Whose code is run: what this user made on this machine, or said to trust.

A run directory may hold a problem's own source, and loading the run runs it. So the digest of that
source must be known here: it is noted when a run is made, or when the user says so for this digest.
The notes are files of the user's own data directory, and are believed only where nobody else could
have written them.
"""

import os
import stat
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

from pinnsig.core.errors import TrustError

Trust = bool | Callable[[str], bool]
"""True: what is loaded is trusted from now on; or what is asked, with the facts in one line."""

_here: set[str] = set()  # of this process, for where nothing can be written down


def source_digest(files: Mapping[str, str]) -> str:
    """Return the digest of a set of files, given the digests of their contents by path."""
    text = "\0".join(f"{name}\0{files[name]}" for name in sorted(files))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def require(files: Mapping[str, str], place: Path, what: str, trust: Trust) -> None:
    """Refuse to run files that are not trusted.

    Args:
        files: digests of everything that the code may import or read, by path.
        place: where they are.
        what: the file that would be run.
        trust: what the user said.

    Raises:
        TrustError: they are not, and the user did not say so.
    """
    digest = source_digest(files)
    if is_trusted(digest):
        return
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    facts = f"this runs the code in {place / what}{more}, sha256 {digest[:16]}"
    said = trust(facts) if callable(trust) else trust
    if not said:
        raise TrustError(
            f"{facts}, which was not made here by you: read it, then say --trust, in Python "
            "trust=True"
        )
    add(digest, place)


def is_trusted(digest: str) -> bool:
    """Whether this user made or trusts files of this digest."""
    if digest in _here:
        return True
    folder = store()
    if folder is None:
        return False
    try:
        _check_owned(folder, folder.parent)
        found = (folder / digest).lstat()
    except (OSError, TrustError):
        return False
    return stat.S_ISREG(found.st_mode) and _is_ours(found)


def add(digest: str, place: Path) -> str | None:
    """Trust files of this digest from now on; returns a notice where that cannot be written down.

    Args:
        digest: of the files.
        place: where they are, for who reads the notes.
    """
    if is_trusted(digest):
        return None
    _here.add(digest)
    folder = store()
    try:
        if folder is None:
            raise TrustError("there is no home directory")
        for made in (folder.parent, folder):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_owned(folder, folder.parent)
        (folder / digest).write_text(f"{place}\n", encoding="utf-8", errors="surrogateescape")
    except (OSError, TrustError) as error:
        reason = getattr(error, "strerror", None) or error
        return (
            f"that you made this run cannot be noted in {folder or 'your home'} ({reason}): "
            "loading it later asks for --trust"
        )
    return None


def store() -> Path | None:
    """Where the notes are: in $XDG_DATA_HOME or ~/.local/share; None without a home directory."""
    base = os.environ.get("XDG_DATA_HOME", "")
    try:
        root = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "share"  # noqa: PTH117
    except RuntimeError:
        return None
    return root / "pinnsig" / "trusted"


def _check_owned(*folders: Path) -> None:
    for folder in folders:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or not _is_ours(found):
            raise TrustError(f"{folder} is not yours alone: others could write to it")


def _is_ours(found: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):  # Windows keeps others out of a profile by itself
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022
