"""What constructors of domains check, in one line each."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import ProblemError
from pinnsig.core.names import check_coordinates

SPACE = ("x", "y", "z")


def checked_names(names: Sequence[str] | None, dimensions: int, shape: str) -> tuple[str, ...]:
    """Return a shape's coordinates: x, y, z, or x1, x2, ... where nothing else is said.

    Raises:
        ProblemError: a wrong number of them, or names that Python cannot use.
    """
    if names is None:
        names = SPACE[:dimensions]
        if dimensions > len(SPACE):
            names = [f"x{i + 1}" for i in range(dimensions)]
    if isinstance(names, str) or len(names) != dimensions:
        raise ProblemError(f"{shape}: names={names!r} must be {dimensions} coordinates")
    check_coordinates(tuple(names))
    return tuple(names)


def checked_part(name: Any, shape: str) -> str:
    """Return the name of a boundary part, which a condition's `on` can be.

    Raises:
        ProblemError: no text, or one that means something else.
    """
    plain = isinstance(name, str) and not set(name) & set("=+- \t\n")
    if not plain or name == "boundary":
        why = (
            "that is the whole of it" if name == "boundary" else "it must be a word, such as 'hole'"
        )
        raise ProblemError(f"{shape}: {name!r} cannot be the name of a boundary part: {why}")
    return name


def checked_number(value: Any, what: str, above: float | None = None) -> float:
    """Return a finite number.

    Raises:
        ProblemError: something else, or one that is not above a limit.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ProblemError(f"{what} = {value!r:.60} cannot be: it must be a finite number")
    number = float(value)
    if above is not None and not number > above:
        raise ProblemError(f"{what} = {number:g} cannot be: it must be above {above:g}")
    return number


def checked_pair(value: Any, what: str) -> tuple[float, float]:
    """Return an interval (lower, upper).

    Raises:
        ProblemError: something else, or an empty one.
    """
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise ProblemError(f"{what} = {value!r:.60} is not a pair (lower, upper)")
    low, high = (checked_number(end, what) for end in value)
    if not low < high:
        raise ProblemError(f"{what} = ({low:g}, {high:g}) is empty: it needs lower < upper")
    return low, high


def checked_points(values: Any, what: str, dimensions: int | None = None) -> NDArray[np.float64]:
    """Return points, shape (N, dimensions).

    Raises:
        ProblemError: another shape, or what is no finite number.
    """
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError(f"{what} = {values!r:.60} holds more than numbers") from None
    if found.ndim != 2 or (dimensions is not None and found.shape[1] != dimensions):
        size = "dimensions" if dimensions is None else dimensions
        raise ProblemError(f"{what} must have shape (N, {size}), not {found.shape}")
    if not np.isfinite(found).all():
        raise ProblemError(f"{what}: all coordinates must be finite numbers")
    return found


def checked_point(values: Any, what: str, dimensions: int | None = None) -> NDArray[np.float64]:
    """Return one point, shape (dimensions,).

    Raises:
        ProblemError: see `checked_points`.
    """
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str) or not len(values):
        raise ProblemError(f"{what} = {values!r:.60} is no point: write a tuple of coordinates")
    if dimensions is not None and len(values) != dimensions:
        raise ProblemError(f"{what} = {tuple(values)!r:.60} must have {dimensions} coordinates")
    return checked_points([values], what)[0]
