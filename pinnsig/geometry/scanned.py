"""Domains that are known by their boundary alone: base of meshes and of clouds of points."""

from abc import abstractmethod

import numpy as np

from pinnsig.core.types import ColumnArray, PointArray, UnitArray
from pinnsig.geometry.domain import Domain, Placed
from pinnsig.geometry.parts import NamedPart, Part


class Scanned(Domain):
    """A domain whose boundary is one part, and which says of points whether they lie inside.

    A subclass has `inside`.

    Attributes:
        part: its boundary.
    """

    part: NamedPart

    @abstractmethod
    def to_boundary(self, points: PointArray) -> ColumnArray:
        """Return the distance to the boundary, on either side."""

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """All of it is one."""
        return (self.part,)

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the boundary, negative inside."""
        found = self.to_boundary(points)
        return np.where(self.inside(points), -found, found)

    def scatter(self, unit: UnitArray) -> Placed:
        """Place points in the box around it; those inside count."""
        points = self.lower + unit * (self.upper - self.lower)
        return points, self.inside(points)

    @property
    def cover(self) -> float:
        """That of the box around it."""
        return float(np.prod(self.upper - self.lower))
