"""Points that a user has in a table: a file, a pandas DataFrame, or columns by name."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from pinnsig.core.errors import RunError
from pinnsig.core.paths import plain, shortened
from pinnsig.core.types import ColumnArray
from pinnsig.problem.tables import Table, numbers, read_columns

if TYPE_CHECKING:
    from pandas import DataFrame

FILES = (".csv", ".parquet", ".pq")
"""What the names of tables end with."""


def is_frame(given: object) -> "TypeGuard[DataFrame]":
    """Return whether something is a pandas DataFrame, without importing pandas for it."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, pandas.DataFrame)


def is_file(given: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether something is a path, or a text that ends as a table's name does."""
    return isinstance(given, os.PathLike) or (
        isinstance(given, str) and given.lower().endswith(FILES)
    )


def read_points(table: "Table | DataFrame", names: Sequence[str]) -> dict[str, ColumnArray]:
    """Return the coordinates of points; other columns may stand beside them.

    Args:
        table: a CSV or Parquet file, a DataFrame, or columns by name.
        names: the coordinates.

    Raises:
        RunError: there is no point, a coordinate is missing, or something is no finite number.
        ProblemError: the file is no table.
    """
    what = str(table) if is_file(table) else "the table of points"
    given: Any = {str(k): table[k].to_numpy() for k in table} if is_frame(table) else table
    found = read_columns(given, names, "points")
    missing = next((name for name in names if name not in found), None)
    if missing is not None:
        raise RunError(
            f"{plain(what)} has no column {missing}: it has {plain(shortened(', '.join(found)))}, "
            f"and the coordinates are {', '.join(names)}"
        )
    columns = {name: _finite(name, found[name], what) for name in names}
    if len(lengths := {len(column) for column in columns.values()}) > 1:
        raise RunError(f"{plain(what)}: the coordinates have different lengths, {sorted(lengths)}")
    if lengths == {0}:
        raise RunError(f"{plain(what)} holds no points: it needs rows of {','.join(names)}")
    return columns


def _finite(name: str, values: Any, what: str) -> ColumnArray:
    column = numbers(name, values, plain(what))
    bad = np.flatnonzero(~np.isfinite(column))
    if len(bad):
        raise RunError(
            f"{plain(what)}: {name} is not a finite number in {len(bad)} of {len(column)} rows, "
            f"first in row {bad[0]} (counted from 0)"
        )
    return column
