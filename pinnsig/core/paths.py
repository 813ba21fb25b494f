"""Paths and texts that come from outside: checked once, and shown plainly."""

import os
from pathlib import Path

from pinnsig.core.errors import PinnsigError

LONGEST_NAME, LONGEST_PATH = 255, 4095  # bytes, on the usual file systems
DEEPEST = 100  # levels of a file of ours: no setting or result has a tenth of them


def user_path(text: str | Path, error: type[PinnsigError]) -> Path:
    """Return a path that a user or a file names, with `~` written out.

    Args:
        text: the path.
        error: what is raised.

    Raises:
        PinnsigError: of that type: no file can have this name.
    """
    name = os.fspath(text)
    if "\0" in name:
        raise error(f"{plain(shortened(name))} is no path: it holds a NUL character")
    try:
        path = Path(name).expanduser()
        raw = os.fsencode(path)
    except (RuntimeError, UnicodeError) as fault:
        raise error(f"{plain(shortened(name))} is no path: {fault}") from None
    longest = max((len(os.fsencode(part)) for part in path.parts), default=0)
    if len(raw) > LONGEST_PATH or longest > LONGEST_NAME:
        raise error(
            f"{plain(shortened(name))} is no path: it has {len(raw)} bytes and a name of "
            f"{longest}; a path may have {LONGEST_PATH}, a name {LONGEST_NAME}"
        )
    return path


def shortened(text: str, most: int = 80) -> str:
    """Return a text, or its beginning and three dots."""
    return text if len(text) <= most else f"{text[:most]}..."


def plain(text: str) -> str:
    r"""Return a text with control characters written out, such as \x1b, so that none is obeyed."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def nests_too_deep(data: object) -> bool:
    """Whether lists and dicts lie deeper in each other than any file of ours has them."""
    level = [data]
    for _ in range(DEEPEST):
        level = [
            item
            for value in level
            if isinstance(value, dict | list)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return False
    return True
