"""Domains: named coordinates and the intervals they run over."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from pinnsig.core.errors import ProblemError
from pinnsig.core.names import check_coordinates
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray

TIME_NAMES = ("t", "tau", "time")

ROUNDING = 1e-6  # of an interval: what lies no further outside is on its end
FACTORS = (1e3, 1e6, 1e2, 1e1, 1e9, 1e12)
TIME_FACTORS = (1e3, 60.0, 3600.0, 1e6, 1e9)
"""By which data in other units are off, the likely ones first."""


@dataclass(frozen=True)
class Face:
    """One side of a box: `coordinate` is held at its lower or upper end."""

    coordinate: str
    upper: bool

    @property
    def normal(self) -> float:
        """Sign of the outward normal along the coordinate."""
        return 1.0 if self.upper else -1.0


class Box:
    """A product of intervals, one per coordinate, in the order given.

    `Box(x=(-1.0, 1.0), t=(0.0, 1.0))` has the coordinates x and t.

    Raises:
        ProblemError: no coordinate, a name that Python cannot use, or an empty interval.
    """

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

    @property
    def dimensions(self) -> int:
        """Number of coordinates."""
        return len(self.names)

    @property
    def time(self) -> str | None:
        """The coordinate that is time (t, tau or time), or None."""
        return next((name for name in self.names if name in TIME_NAMES), None)

    def interval(self, name: str) -> tuple[float, float]:
        """Lower and upper end of one coordinate."""
        index = self.names.index(name)
        return float(self.lower[index]), float(self.upper[index])

    def faces(self, on: str | Sequence[str]) -> tuple[Face, ...]:
        """The faces that `on` names: "x" both sides, "x-" the lower one, "x+" the upper one.

        Raises:
            ProblemError: `on` names no coordinate of this domain.
        """
        found: list[Face] = []
        texts = (on,) if isinstance(on, str) else on
        if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
            raise ProblemError(f"on={on!r} names no face: write 'x', 'x-' or ('x-', 'y+')")
        for text in texts:
            name, side = (text[:-1], text[-1]) if text[-1:] in ("-", "+") else (text, "")
            if name not in self.names:
                raise ProblemError(
                    f"on={text!r} names no coordinate of the domain: it has "
                    f"{', '.join(self.names)} (x means both sides, x- the lower, x+ the upper)"
                )
            found += [Face(name, upper) for upper in (False, True) if side in ("", "-+"[upper])]
        if not found:
            raise ProblemError("on=() names no face: write 'x', 'x-' or ('x-', 'y+')")
        return tuple(dict.fromkeys(found))

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
        """Return which of the points lie in the closed box."""
        return np.all((points >= self.lower) & (points <= self.upper), axis=1)

    def describe_outside(self, points: PointArray, units: bool = False) -> str | None:
        """Say how many of the points lie outside, and where; None if none does.

        Args:
            points: which may lie anywhere.
            units: whether to say that another unit would put all of them inside.
        """
        room = ROUNDING * (self.upper - self.lower)
        off = (points < self.lower - room) | (points > self.upper + room)
        count = int(off.any(axis=1).sum())
        if not count:
            return None
        found = []
        for axis in np.flatnonzero(off.any(axis=0)):
            values, name = points[:, axis], self.names[axis]
            low, high = self.interval(name)
            some = values[off[:, axis]]
            place = f"{some.min():.6g}" + (f" to {some.max():.6g}" if np.ptp(some) else "")
            found.append(f"{name} = {place}, where the domain has {low:g} to {high:g}")
            factor = self._other_unit(values, name) if units and np.mean(off[:, axis]) > 0.5 else 0
            found[-1] += f" (a factor of {factor:g}: is it in another unit?)" if factor else ""
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

    def _other_unit(self, values: ColumnArray, name: str) -> float:
        """The factor that puts all values inside, where they fill a tenth of the interval, or 0."""
        low, high = self.interval(name)
        for factor in TIME_FACTORS if name == self.time else FACTORS:
            for scaled in (values / factor, values * factor):
                fills = max(np.ptp(scaled), np.abs(scaled).max()) >= 0.1 * (high - low)
                if fills and scaled.min() >= low and scaled.max() <= high:
                    return factor
        return 0.0
