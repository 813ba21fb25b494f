"""The formats that runs are exported to, by name."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pinnsig.core.errors import ExportError
from pinnsig.core.files import write_reported
from pinnsig.core.paths import plain, user_path
from pinnsig.core.registry import Registry
from pinnsig.run.export.source import Source

Files = Iterator[tuple[str, bytes]]
"""Names of files and what they hold, the one to open last."""
Writer = Callable[[Source, Path], Files]
"""Gives the files of a source, of which the path is the one that was asked for.

All that can be wrong is found before the first file is given.
"""


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes:
        write: makes the files.
        about: what it is, for people.
        suffixes: what the names of its files end with, the usual one first.
        is_model: whether it holds the model itself, and so takes no points.
    """

    write: Writer
    about: str
    suffixes: tuple[str, ...]
    is_model: bool = False


FORMATS: Registry[Format] = Registry("format", ExportError)
"""Formats by name."""


def register_format(
    name: str, about: str, *suffixes: str, is_model: bool = False
) -> Callable[[Writer], Writer]:
    """A decorator that makes a function known as the writer of a format.

    Args:
        name: of the format.
        about: what it is, for people.
        suffixes: what its files end with, the usual one first; none means the name.
        is_model: whether it holds the model itself.

    Raises:
        ExportError: the name belongs to another one.
    """

    def register(write: Writer) -> Writer:
        FORMATS.register(name, Format(write, about, suffixes or (f".{name}",), is_model))
        return write

    return register


def choose_format(path: Path | None, to: str | None) -> Format:
    """Return the format of that name, or that a file's name ends with.

    Raises:
        ExportError: there is none, or the name ends as those of another format do.
    """
    by_suffix = {suffix: f for f in FORMATS.values() for suffix in f.suffixes}
    suffix = "" if path is None else path.suffix.lower()
    if to is None:
        if suffix not in by_suffix:
            raise ExportError(
                f"{plain(str(path))} does not tell the format: let it end with one of "
                f"{', '.join(by_suffix)}, or name one of {', '.join(FORMATS)}"
            )
        return by_suffix[suffix]
    found = FORMATS.find(to)
    if by_suffix.get(suffix, found) is not found:
        raise ExportError(f"{plain(str(path))} ends as another format than {to}: rename it")
    return found


def write_export(source: Source, path: str | os.PathLike[str], to: str | None = None) -> list[Path]:
    """Write a source to a file, each of its files whole or not at all.

    Returns:
        The files, the one to open first.

    Raises:
        ExportError: see `TrainedModel.export`.
    """
    target = user_path(Path(path), ExportError)
    chosen = choose_format(target, to)
    if target.is_dir():
        raise ExportError(f"{plain(str(target))} is a directory: give the path of a file")
    if chosen.is_model:
        source.refuse_points()
    written: list[Path] = []
    for name, data in chosen.write(source, target):
        written.append(write_reported(target.with_name(name), data, ExportError, folders=True))
    return [*written[-1:], *written[:-1]]
