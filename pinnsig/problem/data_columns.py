"""Columns of measured values: which are taken, what weighs them, and what is missing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, MaskArray
from pinnsig.problem.tables import Table, name_rows, numbers, read_columns

Noise = float | ArrayLike | Mapping[str, float | ArrayLike] | str
"""Standard deviations of measured values: one, one a point, or either by quantity."""


def chosen_columns(
    table: Table, columns: Sequence[str] | Mapping[str, str] | None
) -> dict[str, Any]:
    """Return the columns of a table that are asked for, by their names here.

    Raises:
        ProblemError: it lacks one of them.
    """
    names = dict(columns) if isinstance(columns, Mapping) else {c: c for c in columns or ()}
    found = read_columns(table, list(names.values()), "PointData")
    if columns is None:
        return found
    for name in names.values():
        if name not in found:
            raise ProblemError(
                f"PointData: the table has no column {name!r}: it has {', '.join(found)}"
            )
    rest = {"weights", "noise"} | {key for key in found if key.startswith("noise_")}
    beside = {key: found[key] for key in found if key in rest and key not in names.values()}
    return {key: found[name] for key, name in names.items()} | beside


def taken_column(found: dict[str, Any], given: Any, name: str) -> ColumnArray | None:
    """Return what is given, or the column that it names, or that has the name; it is taken away.

    Raises:
        ProblemError: there is no such column, or it holds no numbers.
    """
    if isinstance(given, str) and given not in found:
        raise ProblemError(f"PointData: {name}={given!r} names no column: there are {[*found]}")
    if given is None:
        given = found.pop(name, None)
    elif isinstance(given, str):
        given = found.pop(given)
    return None if given is None else numbers(name, given, "PointData")


def noise_columns(found: dict[str, Any], given: Noise | None) -> dict[str, ColumnArray]:
    """Return standard deviations by quantity, "" standing for all; their columns are taken away."""
    if isinstance(given, Mapping):
        return {str(key): numbers(f"noise of {key}", s, "PointData") for key, s in given.items()}
    for_all = taken_column(found, given, "noise")
    named = [key for key in found if key.startswith("noise_")]
    own = {key.removeprefix("noise_"): numbers(key, found.pop(key), "PointData") for key in named}
    return own if for_all is None else {"": for_all} | own


def check_positive(beside: Mapping[str, ColumnArray]) -> None:
    """Refuse weights below 0, and noise that is not above.

    Raises:
        ProblemError: names the rows.
    """
    for key, column in beside.items():
        wrong = column < 0 if key == "weights" else column <= 0
        if wrong.any():
            rule = "must not be negative" if key == "weights" else "must be above 0"
            raise ProblemError(
                f"PointData: {key} {rule}: {column[wrong][0]:g} in "
                f"{name_rows(np.flatnonzero(wrong))}"
            )
    if "weights" in beside and not np.nansum(beside["weights"]) > 0:
        raise ProblemError("PointData: all weights are 0")


def common_scale(noise: Mapping[str, ColumnArray], present: Mapping[str, MaskArray]) -> float:
    """Return s, with 1 / s^2 the mean of 1 / sigma^2 over all values."""
    if not noise:
        return 1.0
    all_of_them = np.concatenate([sigma[present[target]] for target, sigma in noise.items()])
    smallest = float(all_of_them.min())  # so that no square overflows
    return smallest / float(np.sqrt(np.mean((smallest / all_of_them) ** 2)))


def missing_words(gaps: Mapping[str, MaskArray], rows: int) -> str:
    """Return which rows have missing values, in words; nothing where none has."""
    count = int(np.any(list(gaps.values()), axis=0).sum())
    if not count:
        return ""
    where = [f"{key} in {name_rows(np.flatnonzero(g))}" for key, g in gaps.items() if g.any()]
    return f"{count} of {rows} rows have missing values ({'; '.join(where)}, counted from 0)"
