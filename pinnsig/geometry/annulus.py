"""Rings between two circles."""

import math
from collections.abc import Sequence

import numpy as np

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, PointArray, UnitArray
from pinnsig.geometry.ball import Disc
from pinnsig.geometry.checks import checked_names, checked_number, checked_point
from pinnsig.geometry.domain import Domain, Placed, PlacedOn
from pinnsig.geometry.formulas import Formula, Piece, both, negative
from pinnsig.geometry.maps import to_sphere
from pinnsig.geometry.parts import NamedPart, Part

INNER, OUTER = NamedPart("inner"), NamedPart("outer")


class Annulus(Domain):
    """A ring between two circles about one centre: `Annulus(inner=0.5, outer=1)`.

    Its boundary parts are called "inner" and "outer".

    Args:
        center: of both circles.
        inner, outer: their radii, 0 < inner < outer.
        names: of the coordinates.

    Raises:
        ProblemError: a centre, radius or name that cannot be.
    """

    def __init__(
        self,
        center: Sequence[float] = (0.0, 0.0),
        *,
        inner: float,
        outer: float,
        names: Sequence[str] | None = None,
    ) -> None:
        self.center = checked_point(center, "Annulus: center", 2)
        self.inner = checked_number(inner, "Annulus: inner", above=0.0)
        self.outer = checked_number(outer, "Annulus: outer", above=0.0)
        if not self.inner < self.outer:
            raise ProblemError(f"Annulus: inner = {inner:g} must be smaller than outer = {outer:g}")
        self.names = checked_names(names, 2, "Annulus")
        self.lower, self.upper = self.center - self.outer, self.center + self.outer

    def __repr__(self) -> str:
        x, y = self.center
        return f"Annulus(center=({x:g}, {y:g}), inner={self.inner:g}, outer={self.outer:g})"

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """Its two circles."""
        return (INNER, OUTER)

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the nearer circle, negative inside."""
        radius = np.linalg.norm(points - self.center, axis=1)
        return np.maximum(self.inner - radius, radius - self.outer)

    def scatter(self, unit: UnitArray) -> Placed:
        """Place all points inside: the area within a radius, and the angle, are uniform."""
        low, high = self.inner**2, self.outer**2
        radius = np.sqrt(low + unit[:, :1] * (high - low))
        return self.center + radius * to_sphere(unit[:, 1:]), np.ones(len(unit), dtype=bool)

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Place all points on one of the circles."""
        outward = to_sphere(unit)
        radius, sign = (self.outer, 1.0) if part == OUTER else (self.inner, -1.0)
        return self.center + radius * outward, sign * outward, np.ones(len(unit), dtype=bool)

    def signed_formula(self) -> Formula:
        """That of both circles."""
        return both([piece.zero for part in self.all_parts for piece in self.pieces(part)])

    def pieces(self, part: Part) -> list[Piece]:
        """One of the circles, as of a disc."""
        radius = self.outer if part == OUTER else self.inner
        formula = Disc(tuple(self.center), radius, names=self.names).signed_formula()
        return [Piece(formula if part == OUTER else negative(formula))]

    @property
    def measure(self) -> float:
        """Its area."""
        return math.pi * (self.outer - self.inner) * (self.outer + self.inner)

    def named_measure(self, part: Part) -> float:
        """The length of one of its circles."""
        return 2.0 * math.pi * (self.outer if part == OUTER else self.inner)
