"""Unions, intersections and differences of domains."""

from abc import abstractmethod
from functools import cached_property

import numpy as np

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.domain import Domain, Placed, PlacedOn
from pinnsig.geometry.formulas import Formula, Piece, both, either, negative, trimmed
from pinnsig.geometry.parts import Face, Flat, NamedPart, Part
from pinnsig.geometry.scattering import FEW, MANY, pick, pick_part, quasi_random

SKIN = 1e-7  # of its size: how far from a boundary point to look at what lies on either side


class Combination(Domain):
    """Two domains of the same coordinates in one.

    Its boundary is made of both boundaries, each where the other leaves it, and keeps their names;
    parts of one name belong together. "x-" is what is left of the lower faces of boxes, but for
    those of boxes that are taken away: these can be named by `called`.

    Measures are those of the two times shares that fixed quasi-random points give, right to about
    1e-4. The distance has the right sign; its size is that to the nearer or farther of the two
    boundaries, which is at most the distance to this one.

    Raises:
        ProblemError: domains of other coordinates, or nothing is left.
    """

    symbol: str
    flips = False  # whether the normals of the second one turn round
    keeps_outside = True  # whether of the first one's boundary that is left which is outside

    def __init__(self, left: Domain, right: Domain) -> None:
        for domain in (left, right):
            if not isinstance(domain, Domain):
                raise ProblemError(f"{domain!r:.60} is no domain, such as Disc(...) or Box(...)")
        if left.names != right.names:
            mine, others = ", ".join(left.names), ", ".join(right.names)
            raise ProblemError(
                f"{left} has the coordinates {mine}, {right} has {others}: they must be the same, "
                "in one order; write Disc(...) * Box(t=(0, 1)) for times"
            )
        if left.dimensions == 1:
            raise ProblemError("intervals are not combined: write one Interval")
        self.left, self.right = left, right
        self.names = left.names
        self.lower, self.upper = self._corners()
        if (self.lower >= self.upper).any() or not self._share:
            raise ProblemError(f"{self} is empty")

    def __repr__(self) -> str:
        return f"({self.left} {self.symbol} {self.right})"

    @abstractmethod
    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners of a box around it."""

    @cached_property
    def _share(self) -> float:
        """The share of points of `scatter` that count."""
        for count in (FEW, MANY):
            kept = self.scatter(quasi_random(self.dimensions, count))[1]
            if kept.any():
                return float(kept.mean())
        return 0.0

    @property
    def measure(self) -> float:
        """Its area or volume."""
        return self._measure

    @cached_property
    def _measure(self) -> float:
        return self.cover * float(self.scatter(quasi_random(self.dimensions, MANY))[1].mean())

    @cached_property
    def _measures(self) -> dict[Part, float]:
        """Of its boundary parts, but for those of which nothing is left."""
        unit, found = quasi_random(self.dimensions - 1, MANY), {}
        for part in self._sources:
            found[part] = self.part_cover(part) * float(self.scatter_on(part, unit)[2].mean())
        return {part: size for part, size in found.items() if size}

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """Those of both, but for what nothing is left of."""
        return tuple(self._measures)

    def part_cover(self, part: Part) -> float:
        """That of the part of both, before the other takes away from it."""
        return sum(domain.part_cover(own) for domain, own in self._sources[part])

    def named_measure(self, part: Part) -> float:
        """The length or area that is left of a part."""
        return self._measures[part]

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Place points on the parts of both; those count that lie on this one's boundary."""
        sources = self._sources[part]
        weights = [domain.part_cover(own) for domain, own in sources]
        points, normals, kept, chosen = pick_part(sources, weights, unit)
        second = np.array([domain is self.right for domain, _ in sources])[chosen]
        if self.flips:
            normals = np.where(second[:, None], -normals, normals)
        at = np.flatnonzero(kept)
        step = SKIN * (self.upper - self.lower) * normals[at]
        below, above = points[at] - step, points[at] + step
        left = self.left.inside(below), self.left.inside(above)
        right = self.right.inside(below), self.right.inside(above)
        here = self._either(left[0], right[0]) & ~self._either(left[1], right[1])
        # where both boundaries lie on each other, points of one of them count
        here &= ~(second[at] & (left[0] != left[1]))
        kept[at] = here
        return points, normals, kept

    @abstractmethod
    def _either(self, left: MaskArray, right: MaskArray) -> MaskArray:
        """Whether points are inside, by whether they are inside the two."""

    def inside(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside."""
        return self._either(self.left.inside(points), self.right.inside(points))

    @abstractmethod
    def signed_formula(self) -> Formula:
        """See `Domain.signed_formula`."""

    def pieces(self, part: Part) -> list[Piece]:
        """Those of both, each where the other leaves it."""
        first, second = self.left.signed_formula(), self.right.signed_formula()
        found = []
        for domain, own in self._sources[part]:
            room = second if domain is self.left else first
            turns = self.flips and domain is self.right
            if self.keeps_outside and not turns:
                room = negative(room)
            for piece in domain.pieces(own):
                if turns:
                    piece = Piece(negative(piece.zero), piece.room)
                found.append(piece.within(room))
        return found

    @cached_property
    def _sources(self) -> dict[Part, list[tuple[Domain, Part]]]:
        """What each of its parts is made of, before the other takes away from it."""
        found: dict[Part, list[tuple[Domain, Part]]] = {}
        for domain in (self.left, self.right):
            for own in domain.all_parts:
                found.setdefault(self._renamed(domain, own), []).append((domain, own))
        return found

    def _renamed(self, domain: Domain, part: Part) -> Part:
        """What a part of one of the two is here.

        A face is one where it is at an end of the whole. The faces of what is taken away have no
        name, for they would be called by the opposite of their normals.
        """
        if not isinstance(part, Face | Flat):
            return part
        face = part if isinstance(part, Face) else part.face
        end = domain.interval(face.coordinate)[face.upper]
        if isinstance(part, Face) and end == self.interval(face.coordinate)[face.upper]:
            return face
        return NamedPart("") if self.flips and domain is self.right else Flat(face)


class Union(Combination):
    """What lies in one domain or the other: `Disc(radius=1) | Box(x=(0, 2), y=(0, 1))`."""

    symbol = "|"

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = (self.left.lower, self.right.lower), (self.left.upper, self.right.upper)
        return np.minimum(*low), np.maximum(*high)

    @property
    def cover(self) -> float:
        """That of both."""
        return self.left.cover + self.right.cover

    def _either(self, left: MaskArray, right: MaskArray) -> MaskArray:
        return left | right

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the nearer of the two."""
        return np.minimum(self.left.distance(points), self.right.distance(points))

    def signed_formula(self) -> Formula:
        """Their R-disjunction."""
        return either(self.left.signed_formula(), self.right.signed_formula())

    def scatter(self, unit: UnitArray) -> Placed:
        """Place points in both; those of the second count where the first has none."""
        chosen, rest = pick(unit[:, 0], [self.left.cover, self.right.cover])
        unit = np.column_stack([rest, unit[:, 1:]])
        points, kept = np.empty_like(unit), np.zeros(len(unit), dtype=bool)
        for i, domain in enumerate((self.left, self.right)):
            mine = chosen == i
            points[mine], kept[mine] = domain.scatter(unit[mine])
        kept[chosen == 1] &= ~self.left.inside(points[chosen == 1])
        return points, kept


class Intersection(Combination):
    """What lies in both domains: `Disc(radius=1) & Box(x=(0, 2), y=(0, 1))`."""

    symbol = "&"
    keeps_outside = False

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = (self.left.lower, self.right.lower), (self.left.upper, self.right.upper)
        return np.maximum(*low), np.minimum(*high)

    @cached_property
    def _smaller(self) -> tuple[Domain, Domain]:
        """Both, the one with the smaller measure first."""
        first, second = sorted((self.left, self.right), key=lambda domain: domain.cover)
        return first, second

    @property
    def cover(self) -> float:
        """That of the smaller one."""
        return self._smaller[0].cover

    def _either(self, left: MaskArray, right: MaskArray) -> MaskArray:
        return left & right

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the farther of the two."""
        return np.maximum(self.left.distance(points), self.right.distance(points))

    def signed_formula(self) -> Formula:
        """Their R-conjunction."""
        return both([self.left.signed_formula(), self.right.signed_formula()])

    def inner_formulas(self, part: Part) -> list[Formula]:
        """Those of both: within either they vanish on its boundary alone."""
        return [f for domain, own in self._sources[part] for f in domain.inner_formulas(own)]

    def scatter(self, unit: UnitArray) -> Placed:
        """Place points in the smaller one; those count that are in the other, too."""
        small, large = self._smaller
        points, kept = small.scatter(unit)
        return points, kept & large.inside(points)


class Difference(Combination):
    """What lies in the first domain and not in the second: `Box(...) - Disc(..., name="hole")`."""

    symbol = "-"
    flips = True

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        return self.left.lower, self.left.upper

    @property
    def cover(self) -> float:
        """That of the first."""
        return self.left.cover

    def _either(self, left: MaskArray, right: MaskArray) -> MaskArray:
        return left & ~right

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the first, or from within the second, whichever is larger."""
        return np.maximum(self.left.distance(points), -self.right.distance(points))

    def signed_formula(self) -> Formula:
        """The R-conjunction of the first and the negative of the second."""
        return both([self.left.signed_formula(), negative(self.right.signed_formula())])

    def inner_formulas(self, part: Part) -> list[Formula]:
        """Those of the first, and the pieces of the second, seen from outside."""
        found: list[Formula] = []
        for domain, own in self._sources[part]:
            if domain is self.left:
                found += domain.inner_formulas(own)
            else:
                outward = [Piece(negative(zero), room) for zero, room in domain.pieces(own)]
                found += [trimmed(piece, self.size) for piece in outward]
        return found

    def scatter(self, unit: UnitArray) -> Placed:
        """Place points in the first; those count that are not in the second."""
        points, kept = self.left.scatter(unit)
        return points, kept & ~self.right.inside(points)
