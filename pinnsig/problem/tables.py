"""Columns of numbers that a user gives: arrays, dicts, and tables in CSV or Parquet files."""

import csv
import functools
import importlib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.core.paths import plain, shortened, user_path
from pinnsig.core.types import ColumnArray

Table = str | Path | Mapping[str, ArrayLike] | ArrayLike
"""A path, columns by name, or an array of shape (N, columns)."""

MISSING = ("", "na", "n/a", "nan", "null", "none")
"""What stands in a CSV file where there is no number; in any case of letters."""
DELIMITERS = (",", ";", "\t")
SHOWN = 5  # rows that a message names


def read_columns(table: Table, names: Sequence[str], what: str) -> dict[str, Any]:
    """Return the columns of a table by name, as they are given.

    Args:
        table: a path, a mapping, or an array with a column for each of `names`.
        names: of an array's columns.
        what: what the table is called in an error.

    Raises:
        ProblemError: no such file, a file that is no table, or an array of another shape.
    """
    if isinstance(table, str | os.PathLike):
        return read_table(table, what)
    if isinstance(table, Mapping):
        return {str(key): column for key, column in table.items()}
    found = np.asarray(table.detach().cpu() if isinstance(table, Tensor) else table)
    if found.ndim == 1 and len(names) == 1:
        found = found[:, None]
    if found.ndim != 2 or found.shape[1] != len(names):
        raise ProblemError(
            f"{what}: an array must have shape (N, {len(names)}), a column for each of "
            f"{', '.join(names)}, not {found.shape}"
        )
    return dict(zip(names, found.T, strict=True))


def numbers(key: str, values: Any, what: str) -> ColumnArray:
    """Return a column as a copy of its own, float64; NaN where something is missing.

    Args:
        key: the column's name.
        values: one number, or N of them.
        what: what it belongs to, in an error.

    Raises:
        ProblemError: it holds anything but real numbers, or depends on what is learned.
    """
    each = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(value, Tensor) and value.requires_grad for value in each):
        raise ProblemError(
            f"{what}: column {key} depends on a learned coefficient: what was measured stays as "
            "it is"
        )
    try:
        given = np.asarray(values)
        if given.dtype.kind == "U" and isinstance(values, np.ndarray):  # of a file
            row = next((i for i, text in enumerate(given) if not _is_number(text)), 0)
            raise TypeError(f"column {key}, row {row} has {plain(shortened(given[row], 40))!r}")
        if given.dtype.kind not in "iufO":
            raise TypeError(f"column {key} has the type {given.dtype}")
        return np.atleast_1d(np.array(given, np.float64))
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ProblemError(f"{what}: columns hold numbers only ({reason})") from None


def check_lengths(columns: Mapping[str, ColumnArray], what: str) -> None:
    """Refuse columns that are no rows together.

    Raises:
        ProblemError: they have different lengths, or other shapes, or none has a row.
    """
    shapes = {key: column.shape for key, column in columns.items()}
    if len(set(shapes.values())) != 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise ProblemError(f"{what}: columns need one common length, not {shapes}")
    if not next(iter(columns.values())).size:
        raise ProblemError(f"{what}: there is no point in it")


def name_rows(rows: Iterable[int]) -> str:
    """Return the numbers of rows in words, the first few of them."""
    found = list(rows)
    text = ", ".join(map(str, found[:SHOWN]))
    more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
    return f"row{'s' * (len(found) > 1)} {text}{more}"


def read_table(path: str | os.PathLike[str], what: str) -> dict[str, NDArray[Any]]:
    """Return the columns of a CSV or Parquet file by name, read-only.

    A CSV file begins with the names of its columns; commas, semicolons or tabs stand between them.
    A column that holds text is given as text.

    Raises:
        ProblemError: the file cannot be read, or is no table.
    """
    file = user_path(Path(path), ProblemError)
    try:
        with file.open("rb") as opened:  # each time, for whoever notes what a problem reads
            state = os.fstat(opened.fileno())
        return _parsed(file.absolute(), state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise ProblemError(f"{what}: cannot read {file}: {error.strerror or error}") from None
    except ProblemError as error:
        raise ProblemError(f"{what}: {error}") from None


@functools.lru_cache(maxsize=8)
def _parsed(file: Path, changed: int, size: int) -> dict[str, NDArray[Any]]:
    """The table as it stands; conditions are made anew at each evaluation."""
    del changed, size
    data = file.read_bytes()
    is_parquet = file.suffix.lower() in (".parquet", ".pq") or data[:4] == b"PAR1"
    found = _parquet(file, data) if is_parquet else _csv(file, data)
    for column in found.values():
        column.flags.writeable = False
    return found


def _csv(file: Path, data: bytes) -> dict[str, NDArray[Any]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ProblemError(f"{file} is no CSV file: it is no text in UTF-8") from None
    header = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=header.count)
    try:
        lines = [line for line in csv.reader(io.StringIO(text), delimiter=delimiter) if line]
    except csv.Error as error:
        raise ProblemError(f"{file} is no CSV file: {error}") from None
    names = [name.strip() for name in lines[0]] if lines else []
    if not names or any(not name or _is_number(name) for name in names):
        raise ProblemError(f"{file}: its first line must name the columns, such as x,t,u")
    if len(set(names)) != len(names):
        raise ProblemError(f"{file}: two columns have one name among {', '.join(names)}")
    for row, line in enumerate(lines[1:]):
        if len(line) != len(names):
            raise ProblemError(f"{file}: row {row} has {len(line)} values for {len(names)} columns")
    columns = zip(*lines[1:], strict=True) if len(lines) > 1 else ([] for _ in names)
    return {name: _column(list(values)) for name, values in zip(names, columns, strict=True)}


def _column(texts: list[str]) -> NDArray[Any]:
    """Numbers, where all are numbers or missing; else the texts."""
    given = ["nan" if text.strip().lower() in MISSING else text for text in texts]
    try:
        return np.array(given, np.float64)
    except ValueError:
        return np.array(texts)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.strip().lower() in MISSING
    return True


def _parquet(file: Path, data: bytes) -> dict[str, NDArray[Any]]:
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ProblemError(
            f"{file}: Parquet files are read by pyarrow, which is not installed: "
            "pip install 'pinnsig[parquet]', or give a CSV file"
        ) from None
    try:
        table = parquet.read_table(io.BytesIO(data))
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise ProblemError(f"{file} is no Parquet file: {reason}") from None
    return {name: np.array(table[name].to_numpy()) for name in table.column_names}
