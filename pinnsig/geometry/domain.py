"""`Domain`: what conditions, sampling, figures and predictions ask of a domain."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import ProblemError
from pinnsig.core.registry import suggestion
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.formulas import Formula, Piece, joined, trimmed
from pinnsig.geometry.outside import ROUNDING, describe_outside
from pinnsig.geometry.parts import Draw, Face, Filtered, Part, Where, called, holds
from pinnsig.geometry.scattering import fill, pick_part, quasi_random

TIME_NAMES = ("t", "tau", "time")
AT_A_TIME = 2**17
"""Points that a domain is asked for at a time."""

Placed = tuple[PointArray, MaskArray]
"""Points, and which of them count."""
PlacedOn = tuple[PointArray, PointArray, MaskArray]
"""Points of a boundary, the outward unit normals there, and which of them count."""


class Domain(ABC):
    """A bounded set of points with named coordinates and a boundary of named parts.

    A new one says where points of the unit cube go, inside and on its boundary; sampling follows.
    Domains of the same coordinates are joined by `|`, `-` and `&`, of others multiplied by `*`.

    Attributes:
        names: of the coordinates, in order.
        example: how a boundary part is named, in words.
        lower, upper: corners of a box around it, shape (dimensions,); the smallest one, unless it
            is an intersection or a difference.
    """

    example: str = "write on='boundary', or a predicate such as on=lambda x, y: x > 0"

    names: tuple[str, ...]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    # --- what a domain says ----------------------------------------------------------------------

    @property
    @abstractmethod
    def all_parts(self) -> tuple[Part, ...]:
        """The parts of its whole boundary, the ends of time among them."""

    @abstractmethod
    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the boundary, negative inside.

        Of combinations the sign is right, and the size at most the distance.
        """

    @abstractmethod
    def scatter(self, unit: UnitArray) -> Placed:
        """Map points of the unit cube to points that are uniform inside, where they count.

        Args:
            unit: shape (N, dimensions), uniform.
        """

    @abstractmethod
    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Map points of the unit cube to points that are uniform on a boundary part.

        Normals are those of space: where there is time, they have no component along it, but for
        its own ends.

        Args:
            part: one of `all_parts`.
            unit: shape (N, dimensions - 1), uniform.
        """

    @property
    @abstractmethod
    def measure(self) -> float:
        """Its length, area or volume; times the length of time, where it has time."""

    @abstractmethod
    def named_measure(self, part: Part) -> float:
        """Length or area of one of `all_parts`; 1 for single points."""

    @property
    def cover(self) -> float:
        """The measure of all that `scatter` draws from."""
        return self.measure

    def part_cover(self, part: Part) -> float:
        """The measure of all that `scatter_on` draws from."""
        return self.named_measure(part)

    # --- smooth distances, where there are formulas ----------------------------------------------

    def signed_formula(self) -> Formula:
        """Return a smooth function that is positive inside, negative outside, 0 on the boundary.

        Raises:
            ProblemError: there is none.
        """
        raise ProblemError(
            f"{self} has no formula for a smooth distance: leave out hard=True on its boundary"
        )

    def pieces(self, part: Part) -> list[Piece]:
        """Return what one of `all_parts` is made of, by formulas that hold in all of space.

        Raises:
            ProblemError: there are none.
        """
        del part
        return [Piece(self.signed_formula())]

    def inner_formulas(self, part: Part) -> list[Formula]:
        """Return functions that vanish on the pieces of a part, and are positive elsewhere inside.

        Outside of the domain they may be anything.
        """
        return [trimmed(piece, self.size) for piece in self.pieces(part)]

    # --- what follows ----------------------------------------------------------------------------

    def approximate_distance(self, part: Part | None = None) -> Formula:
        """Return a smooth function that vanishes on a boundary part, and is positive inside.

        Its slope along the inward normal is 1 on the part. It is smooth inside; second derivatives
        grow without bound towards corners, where pieces of the boundary meet.

        Args:
            part: of the boundary; None means all sides, as "boundary" does.

        Returns:
            A function of a dict of coordinates by name, tensors or jets of shape (N,).

        Raises:
            ProblemError: a part given by a predicate, or a shape that has no formula.
        """
        if isinstance(part, Filtered):
            raise ProblemError(
                f"on={called(part.predicate)}: a predicate has no formula for a smooth distance: "
                "name the part, or leave out hard=True"
            )
        parts = self.sides if part is None else (part,)
        return joined([f for p in parts for f in self.inner_formulas(p)], self.size)

    @property
    def size(self) -> float:
        """Its largest extent along a coordinate."""
        return float((self.upper - self.lower).max())

    def named(self, text: str) -> tuple[Part, ...]:
        """The boundary parts that a text names; "boundary" means `sides`.

        Raises:
            ProblemError: there is none of that name.
        """
        found = self.sides if text == "boundary" else [p for p in self.all_parts if p.answers(text)]
        if not found:
            known = [str(part) for part in self.all_parts if str(part)]
            raise ProblemError(
                f"on={text!r} names no part of the boundary: {suggestion(text, known)}; "
                "'boundary' is all of it"
                if known
                else f"on={text!r} names no part of the boundary: write 'boundary' for all of it"
            )
        return tuple(found)

    @property
    def sides(self) -> tuple[Part, ...]:
        """The whole boundary, but for the ends of time."""
        time = self.time
        parts = self.all_parts
        sides = [part for part in parts if not (isinstance(part, Face) and part.coordinate == time)]
        return tuple(sides) or parts

    @property
    def dimensions(self) -> int:
        """Number of coordinates."""
        return len(self.names)

    @property
    def time(self) -> str | None:
        """The coordinate that is time (t, tau or time), or None."""
        return next((name for name in self.names if name in TIME_NAMES), None)

    def interval(self, name: str) -> tuple[float, float]:
        """Lowest and highest value of one coordinate."""
        index = self.names.index(name)
        return float(self.lower[index]), float(self.upper[index])

    def parts(self, on: Where) -> tuple[Part, ...]:
        """The boundary parts that `on` names, or says by a predicate of coordinates.

        Raises:
            ProblemError: it names none, or one that is not there.
        """
        each = (on,) if isinstance(on, str) or callable(on) else on
        if not isinstance(each, Sequence) or not all(
            isinstance(o, str) or callable(o) for o in each
        ):
            raise ProblemError(f"on={on!r} names no boundary: {self.example}")
        found: list[Part] = []
        for one in each:
            found += self.named(one) if isinstance(one, str) else [Filtered(one)]
        if not found:
            raise ProblemError(f"on=() names no boundary: {self.example}")
        return tuple(dict.fromkeys(found))

    def contains(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside or on the boundary, within rounding."""
        return self.distance(points) <= ROUNDING * self.size

    def inside(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside, by the sign of the distance alone."""
        return self.distance(points) < 0.0

    def sample(self, count: int, draw: Draw) -> PointArray:
        """Return points uniform inside; a grid may give fewer than `count`.

        Args:
            count: how many.
            draw: gives points of the unit cube, others each time that it is called.

        Raises:
            ProblemError: hardly any of them falls inside.
        """
        return fill(count, self.dimensions, draw, self.scatter, f"inside {self}")[0]

    def sample_part(self, part: Part, count: int, draw: Draw) -> tuple[PointArray, PointArray]:
        """Return points uniform on a boundary part, and the outward unit normals there.

        A grid may give fewer than `count`; a part without extent has one point.

        Raises:
            ProblemError: a predicate that cannot be called, or that holds almost nowhere.
        """
        free = self.dimensions - 1
        if isinstance(part, Filtered):
            what = f"where on={called(part.predicate)} holds, which must be a part of the boundary"
            if not free:
                return self._ends(part)
        else:
            what, count = f"on the boundary {str(part)!r}", count if free else 1
        points, normals = fill(count, free, draw, lambda u: self._scatter_on(part, u), what)
        return points, normals

    def sample_parts(
        self, parts: Sequence[Part], count: int, draw: Draw
    ) -> tuple[PointArray, PointArray]:
        """Return points of several boundary parts, dealt out by `shares`, and normals there."""
        shares = self.shares(parts, count)
        found = [self.sample_part(p, n, draw) for p, n in zip(parts, shares, strict=True)]
        points, normals = (np.concatenate(columns) for columns in zip(*found, strict=True))
        return points, normals

    def part_measure(self, part: Part) -> float:
        """Length or area of a boundary part; 1 for single points.

        Of a predicate's by quasi-random points, which is right to about 1e-3.
        """
        if not isinstance(part, Filtered):
            return self.named_measure(part)
        if self.dimensions == 1:
            return float(len(self._ends(part)[0]))
        unit = quasi_random(self.dimensions - 1)
        total = 0.0
        for side in self.sides:
            points, _, kept = self.scatter_on(side, unit)
            share = np.mean(holds(part.predicate, self.names, points[kept])) if kept.any() else 0.0
            total += float(share) * self.named_measure(side)
        return total

    def weights(self, parts: Sequence[Part]) -> list[float]:
        """By which points are dealt out to boundary parts: their measures."""
        return [self.part_measure(part) for part in parts]

    def shares(self, parts: Sequence[Part], count: int) -> list[int]:
        """Deal out points to boundary parts, in proportion to their weight, at least one each."""
        weights = np.array(self.weights(parts))
        whole = weights.sum() or 1.0
        ends = np.ceil(np.cumsum(weights) / whole * count - 1e-6).astype(int)
        return [max(int(n), 1) for n in np.diff(ends, prepend=0)]

    def normal_names(self, parts: Sequence[Part]) -> tuple[str, ...]:
        """Coordinates along which normals of these parts may have a component."""
        space = tuple(name for name in self.names if name != self.time)
        found = [(p.coordinate,) if isinstance(p, Face) else space for p in parts]
        return tuple(dict.fromkeys(name for names in found for name in names))

    def describe_outside(self, points: PointArray, units: bool = False) -> str | None:
        """Say how many of the points lie outside, and where; None if none does.

        Args:
            points: which may lie anywhere.
            units: whether to say that another unit would put all of them inside.
        """
        cuts = range(AT_A_TIME, len(points), AT_A_TIME)  # a mesh takes memory for each of them
        off = ~np.concatenate([self.contains(some) for some in np.split(points, cuts)])
        if not off.any():
            return None
        return describe_outside(points, off, self.names, self.lower, self.upper, self.time, units)

    def steps(self, dtype: np.dtype[np.floating]) -> dict[str, float]:
        """How many positions numbers of a type can tell apart on each coordinate."""
        kind = dtype.type
        found = {}
        with np.errstate(over="ignore"):
            for name, low, high in zip(self.names, self.lower, self.upper, strict=True):
                ends = kind(low), kind(high)
                step = float(np.spacing(max(map(abs, ends))))
                whole = float(ends[1]) - float(ends[0])
                found[name] = whole / step if math.isfinite(step) and whole > 0 else 0.0
        return found

    def _scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """`scatter_on`, for any part."""
        if not isinstance(part, Filtered):
            return self.scatter_on(part, unit)
        sides = self.sides
        covers = [self.part_cover(side) / self.named_measure(side) for side in sides]
        weights = [w * c for w, c in zip(self.weights(sides), covers, strict=True)]
        points, normals, kept, _ = pick_part([(self, side) for side in sides], weights, unit)
        kept[kept] = holds(part.predicate, self.names, points[kept])
        return points, normals, kept

    def _ends(self, part: Filtered) -> tuple[PointArray, PointArray]:
        """The ends of an interval where a predicate holds."""
        found = [self.scatter_on(side, np.empty((1, 0))) for side in self.sides]
        points, normals, _ = (np.concatenate(columns) for columns in zip(*found, strict=True))
        keep = holds(part.predicate, self.names, points)
        if not keep.any():
            raise ProblemError(f"on={called(part.predicate)} holds at no end of the interval")
        return points[keep], normals[keep]

    def called(self, name: str) -> "Domain":
        """Return the same domain, whose boundary has this name, but for the ends of time.

        Raises:
            ProblemError: a name that cannot be.
        """
        from pinnsig.geometry.renamed import Renamed

        return Renamed(self, name)

    def moving(
        self,
        *,
        shift: Callable[[Any], Any] | None = None,
        angle: Callable[[Any], Any] | None = None,
        scale: Callable[[Any], Any] | None = None,
        axis: Sequence[float] = (0.0, 0.0, 1.0),
        **time: tuple[float, float],
    ) -> "Domain":
        """Return the domain in motion: `Disc().moving(t=(0, 1), shift=lambda t: (t, 0 * t))`.

        See `pinnsig.geometry.moving.Moving`; functions of time are made of arithmetic and torch's.

        Raises:
            ProblemError: no time, or functions that give something else.
        """
        from pinnsig.geometry.moving import moving

        return moving(self, shift=shift, angle=angle, scale=scale, axis=axis, **time)

    # --- operators -------------------------------------------------------------------------------

    def __or__(self, other: "Domain") -> "Domain":
        from pinnsig.geometry.combinations import Union

        return Union(self, other)

    def __and__(self, other: "Domain") -> "Domain":
        from pinnsig.geometry.combinations import Intersection

        return Intersection(self, other)

    def __sub__(self, other: "Domain") -> "Domain":
        from pinnsig.geometry.combinations import Difference

        return Difference(self, other)

    def __mul__(self, other: "Domain") -> "Domain":
        from pinnsig.geometry.product import product

        return product(self, other)
