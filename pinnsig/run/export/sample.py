"""Quantities at points, as they are written to files."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.types import AxisArray, ColumnArray, MaskArray


@dataclass(frozen=True)
class Sample:
    """Quantities at points.

    Attributes:
        points: the coordinates of all points, by name.
        values: quantities there, NaN where there are none.
        axes: of a grid, the values of each coordinate, ascending; the last coordinate changes
            fastest from point to point. None for points that are no grid.
        inside: which points have values; None means all.
    """

    points: Mapping[str, ColumnArray]
    values: Mapping[str, ColumnArray]
    axes: Mapping[str, AxisArray] | None = None
    inside: MaskArray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the grid; the number of points where there is none."""
        if self.axes is None:
            return (len(next(iter(self.points.values()))),)
        return tuple(map(len, self.axes.values()))

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Coordinates and quantities at the points that have values."""
        every = {**self.points, **self.values}
        if self.inside is None:
            return every
        return {name: column[self.inside] for name, column in every.items()}

    def at(self, name: str, place: int) -> "Sample":
        """Return the part of a grid at one value of a coordinate, which stays an axis of it."""
        assert self.axes is not None
        axis, shape = list(self.axes).index(name), self.shape

        def some(column: NDArray[np.generic]) -> NDArray[np.generic]:
            return column.reshape(shape).take([place], axis=axis).ravel()

        return Sample(
            {n: some(c) for n, c in self.points.items()},  # type: ignore[misc]
            {n: some(c) for n, c in self.values.items()},  # type: ignore[misc]
            {**self.axes, name: self.axes[name][[place]]},
            None if self.inside is None else some(self.inside),  # type: ignore[arg-type]
        )
