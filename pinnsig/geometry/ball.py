"""Balls in any number of dimensions, and discs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, PointArray, UnitArray
from pinnsig.geometry.checks import checked_names, checked_number, checked_part, checked_point
from pinnsig.geometry.domain import Domain, Placed, PlacedOn
from pinnsig.geometry.formulas import At, Formula
from pinnsig.geometry.maps import ball_volume, to_ball, to_sphere
from pinnsig.geometry.parts import NamedPart, Part


class Ball(Domain):
    """A ball in two or more dimensions: `Ball(center=(0, 0, 0), radius=1)`.

    Args:
        center: its coordinates, whose number is that of dimensions.
        radius: above 0.
        names: of the coordinates; x, y, z, or x1, x2, ... in more dimensions.
        name: of its boundary, by which a condition can tell it from others (on="hole").

    Raises:
        ProblemError: a centre, radius or name that cannot be.
    """

    def __init__(
        self,
        center: Sequence[float] = (0.0, 0.0, 0.0),
        radius: float = 1.0,
        *,
        names: Sequence[str] | None = None,
        name: str = "",
    ) -> None:
        shape = type(self).__name__
        self.center = checked_point(center, f"{shape}: center")
        if len(self.center) < 2:
            raise ProblemError(f"{shape}: a centre of one coordinate is that of an Interval")
        self.radius = checked_number(radius, f"{shape}: radius", above=0.0)
        self.names = checked_names(names, len(self.center), shape)
        self.part = NamedPart(checked_part(name, shape))
        self.lower, self.upper = self.center - self.radius, self.center + self.radius

    def __repr__(self) -> str:
        place = ", ".join(f"{value:g}" for value in self.center)
        return f"{type(self).__name__}(center=({place}), radius={self.radius:g})"

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """Its sphere."""
        return (self.part,)

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to its sphere, negative inside."""
        return np.linalg.norm(points - self.center, axis=1) - self.radius

    def scatter(self, unit: UnitArray) -> Placed:
        """Place all points inside, by a map that keeps volumes."""
        return self.center + self.radius * to_ball(unit), np.ones(len(unit), dtype=bool)

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Place all points on the sphere, by a map that keeps areas."""
        del part
        normals = to_sphere(unit)
        return self.center + self.radius * normals, normals, np.ones(len(unit), dtype=bool)

    def signed_formula(self) -> Formula:
        """(R^2 - r^2) / (2 R), r from the centre."""
        center, names, radius = self.center.tolist(), self.names, self.radius

        def formula(at: At) -> Any:
            squares = [(at[name] - c) ** 2 for name, c in zip(names, center, strict=True)]
            return (radius**2 - sum(squares[1:], squares[0])) / (2.0 * radius)

        return formula

    @property
    def measure(self) -> float:
        """Its volume."""
        return ball_volume(self.dimensions) * self.radius**self.dimensions

    def named_measure(self, part: Part) -> float:
        """The area of its sphere."""
        del part
        n = self.dimensions
        return n * ball_volume(n) * self.radius ** (n - 1)


class Disc(Ball):
    """A disc: `Disc(center=(0, 0), radius=1)`, in x and y or the coordinates of other names.

    See `Ball` for the arguments.
    """

    def __init__(
        self,
        center: Sequence[float] = (0.0, 0.0),
        radius: float = 1.0,
        *,
        names: Sequence[str] | None = None,
        name: str = "",
    ) -> None:
        checked_point(center, "Disc: center", 2)
        super().__init__(center, radius, names=names, name=name)
