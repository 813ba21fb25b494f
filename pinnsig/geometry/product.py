"""Products of domains with different coordinates: space times time, cylinders, slabs."""

from collections.abc import Sequence

import numpy as np

from pinnsig.core.errors import ProblemError
from pinnsig.core.names import check_coordinates
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.ball import Disc
from pinnsig.geometry.box import Box, Interval
from pinnsig.geometry.checks import checked_names, checked_pair
from pinnsig.geometry.domain import Domain, Placed, PlacedOn
from pinnsig.geometry.formulas import Formula, Piece, both
from pinnsig.geometry.parts import Face, Part
from pinnsig.geometry.scattering import pick


def product(left: Domain, right: Domain) -> Domain:
    """Return all pairs of points of two domains; of two boxes, a box.

    Raises:
        ProblemError: something else than domains, or a coordinate that both have.
    """
    if not isinstance(right, Domain):
        raise ProblemError(f"{right!r:.60} is no domain, such as Box(t=(0.0, 1.0))")
    both = [name for name in left.names if name in right.names]
    if both:
        raise ProblemError(
            f"{left} and {right} both have the coordinate {both[0]}: a product needs different ones"
        )
    if isinstance(left, Box) and isinstance(right, Box):
        return Box(**{name: d.interval(name) for d in (left, right) for name in d.names})
    return Product(left, right)


class Product(Domain):
    """All pairs of points of two domains: `Disc(radius=1) * Box(t=(0.0, 1.0))`.

    Its boundary parts are those of either, times the whole of the other, and keep their names: the
    ends of time are "t-" and "t+", those of space run through all times.

    Raises:
        ProblemError: coordinates whose names cannot stand beside each other.
    """

    def __init__(self, left: Domain, right: Domain) -> None:
        self.left, self.right = left, right
        self.names = left.names + right.names
        check_coordinates(self.names)
        self.lower = np.concatenate([left.lower, right.lower])
        self.upper = np.concatenate([left.upper, right.upper])

    def __repr__(self) -> str:
        return f"{self.left} * {self.right}"

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """Those of both."""
        return tuple(dict.fromkeys(self.left.all_parts + self.right.all_parts))

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the boundary, negative inside, all coordinates alike."""
        mine, others = self._split(points)
        both = np.stack([self.left.distance(mine), self.right.distance(others)])
        outside = np.linalg.norm(np.maximum(both, 0.0), axis=0)
        return outside + np.minimum(both.max(axis=0), 0.0)

    def contains(self, points: PointArray) -> MaskArray:
        """Return which of the points lie in both, within rounding."""
        mine, others = self._split(points)
        return self.left.contains(mine) & self.right.contains(others)

    def inside(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside both."""
        mine, others = self._split(points)
        return self.left.inside(mine) & self.right.inside(others)

    def scatter(self, unit: UnitArray) -> Placed:
        """Place points in both."""
        mine, others = self._split(unit)
        (a, kept_a), (b, kept_b) = self.left.scatter(mine), self.right.scatter(others)
        return np.hstack([a, b]), kept_a & kept_b

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Place points on a part of one, and in the other."""
        sizes = self._covers(part)
        if min(sizes) > 0.0:  # both have a part of that name
            chosen, rest = pick(unit[:, 0], sizes)
            unit = np.column_stack([rest, unit[:, 1:]])
        else:
            chosen = np.full(len(unit), int(sizes[1] > 0.0))
        points, normals = (np.zeros((len(unit), self.dimensions)) for _ in range(2))
        kept = np.zeros(len(unit), dtype=bool)
        n = self.left.dimensions
        for side in (0, 1):
            at = chosen == side
            if not at.any():
                continue
            if side == 0:
                a, normal, on = self.left.scatter_on(part, unit[at, : n - 1])
                b, within = self.right.scatter(unit[at, n - 1 :])
                normals[at, :n] = normal
            else:
                a, within = self.left.scatter(unit[at, :n])
                b, normal, on = self.right.scatter_on(part, unit[at, n:])
                normals[at, n:] = normal
            points[at], kept[at] = np.hstack([a, b]), on & within
        return points, normals, kept

    def signed_formula(self) -> Formula:
        """That of both."""
        return both([self.left.signed_formula(), self.right.signed_formula()])

    def pieces(self, part: Part) -> list[Piece]:
        """The pieces of either, within the other."""
        found = []
        for mine, other in ((self.left, self.right), (self.right, self.left)):
            if part in mine.all_parts:
                found += [piece.within(other.signed_formula()) for piece in mine.pieces(part)]
        return found

    def inner_formulas(self, part: Part) -> list[Formula]:
        """Those of either."""
        owners = [domain for domain in (self.left, self.right) if part in domain.all_parts]
        return [formula for domain in owners for formula in domain.inner_formulas(part)]

    @property
    def measure(self) -> float:
        """The product of the two."""
        return self.left.measure * self.right.measure

    def named_measure(self, part: Part) -> float:
        """That of the part times the whole of the other domain."""
        mine, others = self.left, self.right
        first = mine.named_measure(part) * others.measure if part in mine.all_parts else 0.0
        second = others.named_measure(part) * mine.measure if part in others.all_parts else 0.0
        return first + second

    @property
    def cover(self) -> float:
        """The product of the two."""
        return self.left.cover * self.right.cover

    def part_cover(self, part: Part) -> float:
        """That of the part times the whole of the other domain."""
        return sum(self._covers(part))

    def normal_names(self, parts: Sequence[Part]) -> tuple[str, ...]:
        """Coordinates along which normals of these parts may have a component."""
        known: list[str] = []
        for part in parts:
            owners = [d for d in (self.left, self.right) if part in d.all_parts]
            if not owners or isinstance(part, Face):
                known += super().normal_names([part])
            for domain in owners:
                known += domain.normal_names([part])
        return tuple(dict.fromkeys(known))

    def _split(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = self.left.dimensions
        return columns[:, :n], columns[:, n:]

    def _covers(self, part: Part) -> tuple[float, float]:
        """Of a part, how much of it the first and the second domain have, in `part_cover`."""
        mine, others = self.left, self.right
        return (
            mine.part_cover(part) * others.cover if part in mine.all_parts else 0.0,
            others.part_cover(part) * mine.cover if part in others.all_parts else 0.0,
        )


class Cylinder(Product):
    """A round cylinder: `Cylinder(radius=1, height=(0, 2))`, a disc times an interval.

    Its boundary parts are "side", "z-" and "z+".

    Args:
        center: of the disc.
        radius: of the disc.
        height: the interval of the last coordinate.
        names: of the coordinates, those of the disc first.
        name: of its round side.

    Raises:
        ProblemError: a centre, radius, height or name that cannot be.
    """

    def __init__(
        self,
        center: Sequence[float] = (0.0, 0.0),
        radius: float = 1.0,
        *,
        height: tuple[float, float],
        names: Sequence[str] | None = None,
        name: str = "side",
    ) -> None:
        names = checked_names(names, 3, "Cylinder")
        base = Disc(center, radius, names=names[:2], name=name)
        super().__init__(base, Interval(**{names[2]: checked_pair(height, "Cylinder: height")}))
