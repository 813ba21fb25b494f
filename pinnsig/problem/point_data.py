"""Measured values at given points."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, MaskArray, PointArray
from pinnsig.geometry import Domain, Draw
from pinnsig.problem.condition import WEIGHTS, Condition, Sites, read_target
from pinnsig.problem.data_columns import (
    Noise,
    check_positive,
    chosen_columns,
    common_scale,
    missing_words,
    noise_columns,
    taken_column,
)
from pinnsig.problem.tables import Table, check_lengths, name_rows, numbers

OF = " of "  # no name of a field or partial holds it
FACTOR, NOISE = f"factor{OF}", f"noise{OF}"


class PointData(Condition):
    """Measured values at given points: `PointData(x=[...], t=[...], u=[...])`.

    Or `PointData("data.csv")`, or of a dict, or an array with `columns`. Every coordinate of the
    domain is given, and at least one field or partial (u_x); all columns have one length.

    With `noise`, what is minimised for each measured value is its deviation in units of its own
    standard deviation sigma, times a common scale s: r = (u - measured) s / sigma, where
    1 / s^2 is the mean of 1 / sigma^2 over all values. So the mean square keeps the size that it
    has without noise levels, and precise values count for more. The run keeps sigma beside the
    points, in a column `noise of u`; `sigma / s` times the residual is the deviation again.

    Args:
        table: a CSV or Parquet file, columns by name, or an array of shape (N, columns). Columns
            called `weights`, `noise` and `noise_u` stand for what is said below.
        name: of its term.
        columns: which columns of the table are taken; of an array, what its columns are; or in a
            dict, what they are called there: `columns={"x": "position", "u": "temp"}`.
        outside: whether points may lie outside the domain, which else are refused.
        missing: "refuse" values that are missing (NaN), or "drop" them: a row without a coordinate
            is left out, a row without some of the values serves the others.
        weights: factors on the squared residuals, one a point, or the name of their column.
        noise: standard deviations of the measured values, positive: a number, one a point, either
            of them by quantity in a dict, or the name of their column.
        values: coordinates, fields and partials by name.
    """

    group = "data"

    def __init__(
        self,
        table: Table | None = None,
        /,
        *,
        name: str | None = None,
        columns: Sequence[str] | Mapping[str, str] | None = None,
        outside: bool = False,
        missing: Literal["refuse", "drop"] = "refuse",
        weights: ArrayLike | str | None = None,
        noise: Noise | None = None,
        **values: ArrayLike,
    ) -> None:
        super().__init__(name)
        if not isinstance(outside, bool):
            raise ProblemError(f"PointData: outside={outside!r} must be True or False")
        if missing not in ("refuse", "drop"):
            raise ProblemError(f"PointData: missing={missing!r} must be 'refuse' or 'drop'")
        self.outside, self.missing = outside, missing
        found = {} if table is None else chosen_columns(table, columns)
        twice = next((key for key in values if key in found), None)
        if twice is not None:
            raise ProblemError(f"PointData: column {twice} is in the table and given beside it")
        found |= values
        self.weights = taken_column(found, weights, "weights")
        self.noise = noise_columns(found, noise)
        self.columns = {key: numbers(key, column, "PointData") for key, column in found.items()}
        self._check_lengths()

    def _check_lengths(self) -> None:
        check_lengths(self.columns, "PointData")
        length = len(next(iter(self.columns.values())))
        beside = {"weights": self.weights}
        beside |= {f"noise of {k}" if k else "noise": n for k, n in self.noise.items()}
        for key, column in beside.items():
            if column is not None and column.shape not in ((length,), (1,)):
                raise ProblemError(
                    f"PointData: {key} must be one number or {length}, not {column.shape}"
                )

    def at_rows(self, rows: MaskArray) -> Self:
        """Return the same with some of its rows only."""

        def some(column: ColumnArray) -> ColumnArray:
            return column[rows] if len(column) == len(rows) else column

        other = copy.copy(self)
        other.columns = {key: column[rows] for key, column in self.columns.items()}
        other.noise = {key: some(sigma) for key, sigma in self.noise.items()}
        other.weights = None if self.weights is None else some(self.weights)
        return other

    def sites(self, domain: Domain, count: int, draw: Draw) -> Sites:
        """The given points, whatever the count; the measured values go with them."""
        del count, draw
        points, columns, present, kept = self._present(domain)
        outside = domain.describe_outside(points, units=True)
        if outside and not self.outside:
            raise ProblemError(f"PointData: {outside}; leave them out, or say outside=True")
        extra = {target: np.where(present[target], v, 0.0) for target, v in columns.items()}
        noise = {target: sigma[kept] for target, sigma in self._noise_of(columns).items()}
        scale = common_scale(noise, present)
        for target, there in present.items():
            factor = there * np.sqrt(len(there) / np.count_nonzero(there))
            if noise:
                factor = factor * scale / np.where(there, noise[target], 1.0)
                extra[NOISE + target] = np.where(there, noise[target], 0.0)
            if not np.all(factor == 1.0):
                extra[FACTOR + target] = factor
        if self.weights is not None:
            extra[WEIGHTS] = np.broadcast_to(self.weights, kept.shape)[kept]
        return Sites(points, extra)

    def _present(
        self, domain: Domain
    ) -> tuple[PointArray, dict[str, ColumnArray], dict[str, MaskArray], MaskArray]:
        """The points, the measured columns and which of their values are there, and what is kept.

        Raises:
            ProblemError: a coordinate or all values are absent, or something is not finite.
        """
        lacking = [name for name in domain.names if name not in self.columns]
        if lacking:
            raise ProblemError(f"PointData lacks the coordinate {lacking[0]}")
        measured = {k: column for k, column in self.columns.items() if k not in domain.names}
        if not measured:
            raise ProblemError("PointData holds no field: add measured values, such as u=[...]")
        noise = self._noise_of(measured)
        rows = len(next(iter(measured.values())))
        beside = {} if self.weights is None else {"weights": np.resize(self.weights, rows)}
        beside |= {NOISE + target: sigma for target, sigma in noise.items()}
        for key, column in {**self.columns, **beside}.items():
            endless = np.flatnonzero(np.isinf(column))
            if len(endless):
                raise ProblemError(
                    f"PointData: column {key} holds values that are not finite, in "
                    f"{name_rows(endless)} (counted from 0)"
                )
        gaps = {key: np.isnan(column) for key, column in {**self.columns, **beside}.items()}
        if any(gap.any() for gap in gaps.values()) and self.missing == "refuse":
            raise ProblemError(
                f"PointData: {missing_words(gaps, rows)}: mend them, or say missing='drop'"
            )
        check_positive(beside)
        absent = np.any([gaps[name] for name in (*domain.names, *beside.keys() & {"weights"})], 0)
        present = {key: ~(absent | gaps[key] | gaps.get(NOISE + key, False)) for key in measured}
        kept = np.any(list(present.values()), axis=0)
        for key, there in present.items():
            if not there.any():
                raise ProblemError(f"PointData: column {key} has no value at any point")
        points = np.stack([self.columns[name] for name in domain.names], axis=1)[kept]
        return (
            points,
            {key: column[kept] for key, column in measured.items()},
            {key: there[kept] for key, there in present.items()},
            kept,
        )

    def _noise_of(self, measured: Mapping[str, Any]) -> dict[str, ColumnArray]:
        """The noise of every measured column, one number a row; empty where none is given."""
        if not self.noise:
            return {}
        unknown = next((key for key in self.noise if key and key not in measured), None)
        if unknown is not None:
            raise ProblemError(f"PointData: there is noise of {unknown}, which is not measured")
        rows = len(next(iter(self.columns.values())))
        found = {}
        for target in measured:
            sigma = self.noise.get(target, self.noise.get(""))
            if sigma is None:
                raise ProblemError(
                    f"PointData: there is no noise of {target}: give it for all quantities, or none"
                )
            found[target] = np.array(np.broadcast_to(sigma, rows))
        return found

    def notice(self, domain: Domain) -> str | None:
        """Which points lie outside the domain, where they may, and what is missing."""
        if any(name not in self.columns for name in domain.names):
            return None  # refused later
        points = np.stack([self.columns[name] for name in domain.names], axis=1)
        outside = domain.describe_outside(points[~np.isnan(points).any(axis=1)])
        gaps = {key: np.isnan(column) for key, column in self.columns.items()}
        missing = missing_words(gaps, len(points)) if self.missing == "drop" else ""
        lines = [line for line in (outside, missing and f"{missing}: left out") if line]
        return f"{self.name or 'data'}: {'; '.join(lines)}" if lines else None

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Tensor],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """Field less measured value, in units of its noise where that is given."""
        mistaken = [n for n in fields if n in ("noise", "weights") or n.startswith("noise_")]
        if mistaken and (self.noise or self.weights is not None):
            raise ProblemError(
                f"PointData: {mistaken[0]} means a field here, and what data are weighted with: "
                "call the field by another name"
            )
        found = {}
        for target, value in extra.items():
            if OF not in target:
                difference = read_target(fields, target, coordinates) - value
                factor = extra.get(FACTOR + target)
                found[target] = difference if factor is None else difference * factor
        return found


def measured_values(sites: Sites, target: str) -> tuple[PointArray, ColumnArray] | None:
    """Return where a quantity was measured, and its values; None where it was not."""
    if target not in sites.extra:
        return None
    factor = sites.extra.get(FACTOR + target)
    there = slice(None) if factor is None else factor > 0
    return sites.points[there], sites.extra[target][there]
