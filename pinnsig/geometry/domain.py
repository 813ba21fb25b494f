"""`Domain`: what conditions, sampling, figures and predictions ask of a domain."""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray

TIME_NAMES = ("t", "tau", "time")

ROUNDING = 1e-6  # of an interval: what lies no further outside is on its end
FACTORS = (1e3, 1e6, 1e2, 1e1, 1e9, 1e12)
TIME_FACTORS = (1e3, 60.0, 3600.0, 1e6, 1e9)
"""By which data in other units are off, the likely ones first."""

Draw = Callable[[int, int], UnitArray]
"""`draw(n, dimensions)`: at most n points of the unit cube, shape (n, dimensions)."""

Predicate = Callable[..., Any]
"""Of coordinates by name, arrays of shape (N,); true where a boundary part is."""

Where = str | Predicate | Sequence[str | Predicate]
"""Which parts of a boundary: names, or predicates of coordinates."""


class Part:
    """A part of a boundary; hashable, equal to another one that means the same."""


@dataclass(frozen=True)
class NamedPart(Part):
    """A part that a domain knows by a name."""

    name: str


@dataclass(frozen=True)
class Filtered(Part):
    """Where a predicate holds on the boundary, but for the ends of time."""

    predicate: Predicate


class Domain(ABC):
    """A bounded set of points with named coordinates and a boundary of named parts.

    Attributes:
        names: of the coordinates, in order.
        example: how a boundary part is named, in words.
        lower, upper: corners of the smallest box around it, shape (dimensions,).
    """

    example: str = "write on='boundary', or a predicate such as on=lambda x, y: x > 0"

    names: tuple[str, ...]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    # --- what a domain says ----------------------------------------------------------------------

    @abstractmethod
    def named(self, text: str) -> tuple[Part, ...]:
        """The boundary parts that a text names.

        Raises:
            ProblemError: there is none of that name.
        """

    @property
    @abstractmethod
    def sides(self) -> tuple[Part, ...]:
        """The whole boundary, but for the ends of time."""

    @abstractmethod
    def contains(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside or on the boundary, within rounding."""

    @abstractmethod
    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the boundary, negative inside."""

    @abstractmethod
    def sample(self, count: int, draw: Draw) -> PointArray:
        """Return points uniform inside; a grid may give fewer than `count`."""

    @abstractmethod
    def sample_named(self, part: Part, count: int, draw: Draw) -> tuple[PointArray, PointArray]:
        """Return points uniform on a boundary part, and the outward unit normals there.

        Normals are those of space: where there is time, they have no component along it, but for
        its own ends. A grid may give fewer points; a part without extent has one.
        """

    @property
    @abstractmethod
    def measure(self) -> float:
        """Its length, area or volume; times the length of time, where it has time."""

    @abstractmethod
    def part_measure(self, part: Part) -> float:
        """Length or area of a boundary part; 1 for single points."""

    def normal_names(self, parts: Sequence[Part]) -> tuple[str, ...]:
        """Coordinates along which normals of these parts may have a component."""
        del parts
        return self.names

    # --- what follows ----------------------------------------------------------------------------

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

    def approximate_distance(self, part: Part) -> Callable[[Mapping[str, Any]], Any]:
        """Return a function of coordinates by name that vanishes on a boundary part.

        It is positive inside, smooth, and made of arithmetic and torch's functions.

        Raises:
            ProblemError: there is none for this domain.
        """
        del part
        raise ProblemError(f"{type(self).__name__} has no smooth distance: leave hard=True out")

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

    def sample_part(self, part: Part, count: int, draw: Draw) -> tuple[PointArray, PointArray]:
        """`sample_named`, for any part.

        Raises:
            ProblemError: a predicate that cannot be called, or that holds almost nowhere.
        """
        if not isinstance(part, Filtered):
            return self.sample_named(part, count, draw)

        def whole(n: int) -> tuple[PointArray, PointArray]:
            shares = self.shares(self.sides, n)
            found = [self.sample_named(p, k, draw) for p, k in zip(self.sides, shares, strict=True)]
            points, normals = (np.concatenate(columns) for columns in zip(*found, strict=True))
            return points, normals

        return sample_where(part.predicate, self.names, count, whole)

    def shares(self, parts: Sequence[Part], count: int) -> list[int]:
        """Deal out points to boundary parts, in proportion to their measure, at least one each."""
        sizes = np.array([self.part_measure(part) for part in parts])
        ends = np.round(np.cumsum(sizes) / sizes.sum() * count).astype(int)
        return [max(int(n), 1) for n in np.diff(ends, prepend=0)]

    def describe_outside(self, points: PointArray, units: bool = False) -> str | None:
        """Say how many of the points lie outside, and where; None if none does.

        Args:
            points: which may lie anywhere.
            units: whether to say that another unit would put all of them inside.
        """
        off = ~self.contains(points)
        count = int(off.sum())
        if not count:
            return None
        room = ROUNDING * (self.upper - self.lower)
        beyond = (points < self.lower - room) | (points > self.upper + room)
        axes = np.flatnonzero(beyond.any(axis=0)).tolist()
        found = [self._beyond(points, axis, units) for axis in axes]
        if not found:
            place = zip(self.names, points[off][0], strict=True)
            found = ["such as " + ", ".join(f"{name} = {value:.6g}" for name, value in place)]
        return f"{count} of {len(points)} points lie outside the domain: {'; '.join(found)}"

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

    def _beyond(self, points: PointArray, axis: int, units: bool) -> str:
        """Where points leave the interval of one coordinate, in words."""
        values, name = points[:, axis], self.names[axis]
        low, high = self.interval(name)
        room = ROUNDING * (high - low)
        some = values[(values < low - room) | (values > high + room)]
        place = f"{some.min():.6g}" + (f" to {some.max():.6g}" if np.ptp(some) else "")
        text = f"{name} = {place}, where the domain has {low:g} to {high:g}"
        factor = self._other_unit(values, name) if units and len(some) > 0.5 * len(values) else 0
        return text + (f" (a factor of {factor:g}: is it in another unit?)" if factor else "")

    def _other_unit(self, values: ColumnArray, name: str) -> float:
        """The factor that puts all values inside, where they fill a tenth of the interval, or 0."""
        low, high = self.interval(name)
        for factor in TIME_FACTORS if name == self.time else FACTORS:
            for scaled in (values / factor, values * factor):
                fills = max(np.ptp(scaled), np.abs(scaled).max()) >= 0.1 * (high - low)
                if fills and scaled.min() >= low and scaled.max() <= high:
                    return factor
        return 0.0


def holds(predicate: Predicate, names: Sequence[str], points: PointArray) -> MaskArray:
    """Return where a predicate holds, called with the coordinates that it names.

    Raises:
        ProblemError: it names something else, or gives no truth value for each point.
    """
    wanted = list(inspect.signature(predicate).parameters)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ProblemError(
            f"on={_called(predicate)}: its parameter {unknown[0]!r} is none of the coordinates "
            f"{', '.join(names)}"
        )
    found = np.asarray(predicate(*(points[:, names.index(name)].copy() for name in wanted)))
    if found.dtype != np.bool_ or found.shape not in ((), (len(points),)):
        raise ProblemError(
            f"on={_called(predicate)} must give a truth value for each point, shape "
            f"({len(points)},), not {found.dtype} of shape {found.shape}"
        )
    return np.broadcast_to(found, (len(points),))


def sample_where(
    predicate: Predicate,
    names: Sequence[str],
    count: int,
    sample: Callable[[int], tuple[PointArray, PointArray]],
) -> tuple[PointArray, PointArray]:
    """Return points of a boundary where a predicate holds, with their normals.

    Args:
        predicate: of coordinates.
        names: of the coordinates.
        count: how many points.
        sample: gives so many points of the whole boundary, with normals.

    Raises:
        ProblemError: it holds almost nowhere.
    """
    kept: list[tuple[PointArray, PointArray]] = []
    found, tried, wanted = 0, 0, max(count, 64)
    while found < count:
        points, normals = sample(wanted)
        keep = holds(predicate, names, points)
        kept.append((points[keep], normals[keep]))
        found += int(keep.sum())
        tried += len(points)
        if tried > 1000 * max(found, 20):
            raise ProblemError(
                f"on={_called(predicate)} holds at {found} of {tried} points of the boundary: "
                "it must hold on a part of it"
            )
        wanted = int(min(1.2 * (count - found) * tried / max(found, 1), 2**16)) + 16
    points, normals = (np.concatenate(columns)[:count] for columns in zip(*kept, strict=True))
    return points, normals


def _called(predicate: Predicate) -> str:
    return getattr(predicate, "__name__", None) or repr(predicate)
