"""Boxes: named coordinates and the intervals they run over."""

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from pinnsig.core.errors import ProblemError
from pinnsig.core.names import check_coordinates
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.domain import Domain, Placed, PlacedOn
from pinnsig.geometry.formulas import Formula, Piece, both
from pinnsig.geometry.outside import ROUNDING
from pinnsig.geometry.parts import Face, Part


class Box(Domain):
    """A product of intervals, one per coordinate, in the order given.

    `Box(x=(-1.0, 1.0), t=(0.0, 1.0))` has the coordinates x and t.

    Its boundary parts are faces: "x" means both sides, "x-" the lower one, "x+" the upper one.

    Raises:
        ProblemError: no coordinate, a name that Python cannot use, or an empty interval.
    """

    example = "write on='x', 'x-' or ('x-', 'y+')"

    def __init__(self, /, **intervals: tuple[float, float]) -> None:
        if not intervals:
            raise ProblemError("a domain needs at least one coordinate, such as Box(x=(0, 1))")
        for name, interval in intervals.items():
            pair = isinstance(interval, tuple | list) and len(interval) == 2
            if not pair or not all(isinstance(end, Real) for end in interval):
                raise ProblemError(f"coordinate {name}: {interval!r} is not a pair (lower, upper)")
            low, high = interval
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ProblemError(
                    f"coordinate {name}: ({low}, {high}) needs finite ends with lower < upper"
                )
        check_coordinates(tuple(intervals))
        self.names = tuple(intervals)
        self.lower = np.array([float(low) for low, _ in intervals.values()])
        self.upper = np.array([float(high) for _, high in intervals.values()])

    def __repr__(self) -> str:
        ends = zip(self.names, self.lower, self.upper, strict=True)
        intervals = ", ".join(f"{name}=({low:g}, {high:g})" for name, low, high in ends)
        return f"{type(self).__name__}({intervals})"

    def named(self, text: str) -> tuple[Part, ...]:
        """The faces that a text names: "x" both sides, "x-" the lower one, "x+" the upper one."""
        if text == "boundary":
            return super().named(text)
        found = tuple(face for face in self.faces_of(text.rstrip("+-")) if face.answers(text))
        if not found:
            raise ProblemError(
                f"on={text!r} names no coordinate of the domain: it has "
                f"{', '.join(self.names)} (x means both sides, x- the lower, x+ the upper)"
            )
        return found

    @property
    def all_parts(self) -> tuple[Face, ...]:
        """All faces, a pair for each coordinate."""
        return tuple(face for name in self.names for face in self.faces_of(name))

    def faces_of(self, name: str) -> tuple[Face, ...]:
        """Both faces of a coordinate; none of what is no coordinate."""
        return (Face(name, False), Face(name, True)) if name in self.names else ()

    def scatter(self, unit: UnitArray) -> Placed:
        """Place all points inside."""
        return self.place(unit), np.ones(len(unit), dtype=bool)

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Place all points on a face."""
        assert isinstance(part, Face)
        points = self.place(unit, part)
        normals = np.zeros_like(points)
        normals[:, self.names.index(part.coordinate)] = part.normal
        return points, normals, np.ones(len(unit), dtype=bool)

    def weights(self, parts: Sequence[Part]) -> list[float]:
        """Deal out points to faces evenly: their coordinates may have any units."""
        return [1.0] * len(parts)

    @property
    def measure(self) -> float:
        """The product of its intervals' lengths."""
        return float(np.prod(self.upper - self.lower))

    def named_measure(self, part: Part) -> float:
        """The product of the lengths of the other coordinates' intervals."""
        assert isinstance(part, Face)
        return float(np.prod(np.delete(self.upper - self.lower, self.names.index(part.coordinate))))

    def signed_formula(self) -> Formula:
        """(x - a) (b - x) / (b - a) of all coordinates."""
        return both([self._between(name) for name in self.names])

    def pieces(self, part: Part) -> list[Piece]:
        """A face: the distance to its plane, where the other coordinates are between their ends."""
        assert isinstance(part, Face)
        others = [self._between(name) for name in self.names if name != part.coordinate]
        return [Piece(self._from_end(part), both(others) if others else None)]

    def inner_formulas(self, part: Part) -> list[Formula]:
        """The distance to its plane, which within the box is nowhere but on the face."""
        assert isinstance(part, Face)
        return [self._from_end(part)]

    def _from_end(self, face: Face) -> Formula:
        name, sign = face.coordinate, face.normal
        end = self.interval(name)[face.upper]
        return lambda at: sign * (end - at[name])

    def _between(self, name: str) -> Formula:
        low, high = self.interval(name)
        return lambda at: (at[name] - low) * (high - at[name]) / (high - low)

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the boundary, negative inside, all coordinates alike."""
        beyond = np.maximum(self.lower - points, points - self.upper)
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        return outside + np.minimum(beyond.max(axis=1), 0.0)

    def place(self, unit: UnitArray, face: Face | None = None) -> PointArray:
        """Map points of the unit cube into the box, or onto one of its faces.

        Args:
            unit: as many axes as the box has coordinates, one fewer for a face.
            face: where to put the points; None means the interior.
        """
        if face is not None:
            unit = np.insert(unit, self.names.index(face.coordinate), float(face.upper), axis=1)
        # written so that 0 and 1 give the ends exactly; rounding alone could leave a thin box
        return np.clip(self.lower * (1.0 - unit) + self.upper * unit, self.lower, self.upper)

    def contains(self, points: PointArray) -> MaskArray:
        """Return which of the points lie in the closed box, within rounding."""
        room = ROUNDING * (self.upper - self.lower)
        return np.all((points >= self.lower - room) & (points <= self.upper + room), axis=1)


class Interval(Box):
    """A box of one coordinate: `Interval(x=(0.0, 1.0))`.

    Raises:
        ProblemError: see `Box`; several coordinates.
    """

    def __init__(self, /, **intervals: tuple[float, float]) -> None:
        super().__init__(**intervals)
        if self.dimensions != 1:
            raise ProblemError(
                f"an interval has one coordinate, not {', '.join(self.names)}: write Box(...)"
            )
