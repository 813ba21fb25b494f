"""Measured values at given points."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import Domain, Draw
from pinnsig.problem.condition import Condition, Sites, read_target


class PointData(Condition):
    """Measured values at given points: `PointData(x=[...], t=[...], u=[...])`.

    Every coordinate of the domain is given, and at least one field or partial (u_x); all columns
    have one length, and hold finite numbers only.

    Args:
        name: of its term.
        outside: whether points may lie outside the domain, which else are refused.
        columns: coordinates, fields and partials by name.
    """

    group = "data"

    def __init__(
        self, /, *, name: str | None = None, outside: bool = False, **columns: ArrayLike
    ) -> None:
        super().__init__(name)
        if not isinstance(outside, bool):
            raise ProblemError(f"PointData: outside={outside!r} must be True or False")
        self.outside = outside
        for key, values in columns.items():
            each = values if isinstance(values, list | tuple) else [values]
            if any(isinstance(value, Tensor) and value.requires_grad for value in each):
                raise ProblemError(
                    f"PointData: column {key} depends on a learned coefficient: what was measured "
                    "stays as it is"
                )
        self.columns = {key: _numbers(key, values) for key, values in columns.items()}
        shapes = {key: column.shape for key, column in self.columns.items()}
        if len(set(shapes.values())) != 1 or any(len(shape) != 1 for shape in shapes.values()):
            raise ProblemError(f"PointData: columns need one common length, not {shapes}")
        for key, column in self.columns.items():
            if not column.size:
                raise ProblemError("PointData: there is no point in it")
            if not np.isfinite(column).all():
                raise ProblemError(f"PointData: column {key} holds values that are not finite")

    def sites(self, domain: Domain, count: int, draw: Draw) -> Sites:
        """The given points, whatever the count; the measured values go with them."""
        del count, draw
        missing = [name for name in domain.names if name not in self.columns]
        if missing:
            raise ProblemError(f"PointData lacks the coordinate {missing[0]}")
        measured = {k: column for k, column in self.columns.items() if k not in domain.names}
        if not measured:
            raise ProblemError("PointData holds no field: add measured values, such as u=[...]")
        points = np.stack([self.columns[name] for name in domain.names], axis=1)
        outside = domain.describe_outside(points, units=True)
        if outside and not self.outside:
            raise ProblemError(f"PointData: {outside}; leave them out, or say outside=True")
        return Sites(points, measured)

    def notice(self, domain: Domain) -> str | None:
        """Which points lie outside the domain, where they may."""
        points = [self.columns.get(name) for name in domain.names]
        if any(column is None for column in points):
            return None  # refused later
        outside = domain.describe_outside(np.stack([c for c in points if c is not None], axis=1))
        return f"{self.name or 'data'}: {outside}" if outside else None

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Tensor],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """Field less measured value."""
        return {
            target: read_target(fields, target, coordinates) - value
            for target, value in extra.items()
        }


def _numbers(key: str, values: ArrayLike) -> NDArray[np.float64]:
    """A column as a copy of its own, float64.

    Raises:
        ProblemError: it holds anything but real numbers.
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "iufO":
            raise TypeError(f"column {key} has the type {given.dtype}")
        return np.atleast_1d(np.array(given, np.float64))
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ProblemError(f"PointData: columns hold numbers only ({reason})") from None
