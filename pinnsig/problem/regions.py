"""Quantities that are others in each region of a domain."""

from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from pinnsig.core.errors import ProblemError


def by_region(level: Any, *values: Any, at: float | Sequence[float] = 0.0) -> Any:
    """Return, at each point, the value of the region that it lies in.

    `by_region(y - 0.4, k1, k2)` is k1 below y = 0.4 and k2 above;
    `by_region(y, n1, n2, n3, at=(0.3, 0.7))` has three layers. In an ansatz it makes a field of one
    network output for each region, whose slope may jump; in a residual, coefficients that do. All
    values are computed at all points: each must be finite, with its derivatives, outside its own
    region, too.

    Args:
        level: a coordinate, or a function of several that passes a threshold where a region ends.
        values: numbers, coefficients or columns, from the lowest level to the highest.
        at: the thresholds, in ascending order, one fewer than values. A point on one belongs to
            the region above it.

    Returns:
        A column with partials: those of the values, and zero for numbers.

    Raises:
        ProblemError: another number of thresholds, or thresholds in another order.
    """
    thresholds: list[Any] = list(at) if isinstance(at, Sequence) else [at]
    if len(values) != len(thresholds) + 1:
        raise ProblemError(
            f"by_region: {len(values)} values need {len(values) - 1} thresholds, not "
            f"{len(thresholds)}"
        )
    if any(not low < high for low, high in pairwise(thresholds)):
        raise ProblemError(f"by_region: thresholds {thresholds} must ascend")
    columns = [_column(level, value) for value in values]
    found = columns.pop()
    for threshold, below in zip(reversed(thresholds), reversed(columns), strict=True):
        found = torch.where(level < threshold, below, found)
    return found


def _column(level: Any, value: Any) -> Any:
    """A number as a column, whose partials are zero."""
    single = isinstance(value, Real) or (isinstance(value, Tensor) and value.ndim == 0)
    return 0.0 * level + value if single else value
