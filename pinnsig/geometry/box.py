"""Boxes: named coordinates and the intervals they run over."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from pinnsig.core.errors import ProblemError
from pinnsig.core.names import check_coordinates
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.domain import ROUNDING, Domain, Draw, Part


@dataclass(frozen=True)
class Face(Part):
    """One side of a box: `coordinate` is held at its lower or upper end."""

    coordinate: str
    upper: bool

    @property
    def normal(self) -> float:
        """Sign of the outward normal along the coordinate."""
        return 1.0 if self.upper else -1.0


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
        return f"Box({', '.join(f'{n}=({low:g}, {high:g})' for n, low, high in ends)})"

    def named(self, text: str) -> tuple[Face, ...]:
        """The faces that a text names: "x" both sides, "x-" the lower one, "x+" the upper one."""
        name, side = (text[:-1], text[-1]) if text[-1:] in ("-", "+") else (text, "")
        if text == "boundary":
            return self.sides
        if name not in self.names:
            raise ProblemError(
                f"on={text!r} names no coordinate of the domain: it has "
                f"{', '.join(self.names)} (x means both sides, x- the lower, x+ the upper)"
            )
        return tuple(Face(name, upper) for upper in (False, True) if side in ("", "-+"[upper]))

    @property
    def sides(self) -> tuple[Face, ...]:
        """All faces, but for those of time."""
        space = [name for name in self.names if name != self.time] or self.names
        return tuple(Face(name, upper) for name in space for upper in (False, True))

    def sample(self, count: int, draw: Draw) -> PointArray:
        """Return points uniform inside; a grid may give fewer than `count`."""
        return self.place(draw(count, self.dimensions))

    def sample_named(self, part: Part, count: int, draw: Draw) -> tuple[PointArray, PointArray]:
        """Return points uniform on a face, and its normal at each; an end of an interval is one."""
        assert isinstance(part, Face)
        free = self.dimensions - 1
        points = self.place(draw(count if free else 1, free), part)
        normals = np.zeros_like(points)
        normals[:, self.names.index(part.coordinate)] = part.normal
        return points, normals

    def normal_names(self, parts: Sequence[Part]) -> tuple[str, ...]:
        """Coordinates along which normals of these parts may have a component."""
        if not all(isinstance(part, Face) for part in parts):
            return self.names
        return tuple(dict.fromkeys(part.coordinate for part in parts if isinstance(part, Face)))

    def shares(self, parts: Sequence[Part], count: int) -> list[int]:
        """Deal out points to faces evenly: their coordinates may have any units."""
        return [count // len(parts) + (i < count % len(parts)) for i in range(len(parts))]

    @property
    def measure(self) -> float:
        """The product of its intervals' lengths."""
        return float(np.prod(self.upper - self.lower))

    def part_measure(self, part: Part) -> float:
        """The product of the lengths of the other coordinates' intervals."""
        lengths = self.upper - self.lower
        if not isinstance(part, Face):
            return sum(self.part_measure(side) for side in self.sides)
        return float(np.prod(np.delete(lengths, self.names.index(part.coordinate))))

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
