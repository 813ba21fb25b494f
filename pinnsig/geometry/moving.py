"""Domains that move, turn and grow with time."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pinnsig.core.errors import ProblemError
from pinnsig.core.names import check_coordinates
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.box import Interval
from pinnsig.geometry.checks import checked_pair, checked_point
from pinnsig.geometry.domain import TIME_NAMES, Domain, Placed, PlacedOn
from pinnsig.geometry.formulas import At, Formula, Piece
from pinnsig.geometry.parts import Face, Part
from pinnsig.geometry.scattering import FEW, quasi_random

Motion = Callable[[Any], Any]
"""Of times, shape (N,), by arithmetic and torch's functions."""

TIMES = 2049  # at which extents and lengths of time are worked out


class Moving(Domain):
    """A domain in motion: x = shift(t) + scale(t) R(angle(t)) X for its points X at rest.

    `Disc(radius=0.2).moving(t=(0.0, 1.0), shift=lambda t: (0.5 * t, 0.0))`.

    Points are uniform in space and time. Boundary parts are those of the body, through all times,
    with normals in space; and "t-" and "t+", the body at the first and the last time.

    Args:
        body: at rest, about whose origin it turns and grows.
        time: the name and interval of time.
        shift: of time, a tuple with one entry for each coordinate.
        angle: of time, in radians: in the plane, or about `axis` in space.
        scale: of time, above 0.
        axis: of three coordinates, about which it turns.

    Raises:
        ProblemError: functions that give something else.
    """

    def __init__(
        self,
        body: Domain,
        time: tuple[str, tuple[float, float]],
        *,
        shift: Motion | None = None,
        angle: Motion | None = None,
        scale: Motion | None = None,
        axis: Sequence[float] = (0.0, 0.0, 1.0),
    ) -> None:
        if body.time is not None:
            raise ProblemError(f"{body} has a time already: move it before it is multiplied")
        if angle is not None and body.dimensions not in (2, 3):
            raise ProblemError(f"moving: angle turns two or three coordinates, not {body.names}")
        name, interval = time
        self.body, self.shift, self.angle, self.scale = body, shift, angle, scale
        self.names = (*body.names, name)
        check_coordinates(self.names)
        self.times = Interval(**{name: checked_pair(interval, f"moving: {name}")})
        direction = checked_point(axis, "moving: axis", 3)
        if not direction.any():
            raise ProblemError("moving: axis = (0, 0, 0) is no direction")
        self.axis = (direction / np.linalg.norm(direction)).tolist()
        self._knots = np.linspace(*interval, TIMES)
        if (self._scale_at(self._knots) <= 0.0).any():
            raise ProblemError("moving: scale must be above 0 at all times")
        self.lower, self.upper = self._corners()

    def __repr__(self) -> str:
        return f"{self.body}.moving({repr(self.times).partition('(')[2]}"

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """Those of the body, and the ends of time."""
        return (*self.body.all_parts, *self.times.all_parts)

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance at each time, or to the ends of time where these are nearer."""
        rest, scale = self._at_rest(points)
        both = np.stack([self.body.distance(rest) * scale, self.times.distance(points[:, -1:])])
        outside = np.linalg.norm(np.maximum(both, 0.0), axis=0)
        return outside + np.minimum(both.max(axis=0), 0.0)

    def contains(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside or on the boundary, within rounding."""
        return self.body.contains(self._at_rest(points)[0]) & self.times.contains(points[:, -1:])

    def inside(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside."""
        return self.body.inside(self._at_rest(points)[0]) & self.times.inside(points[:, -1:])

    def scatter(self, unit: UnitArray) -> Placed:
        """Place points of the body at times that are drawn by its volume then."""
        points, kept = self.body.scatter(unit[:, :-1])
        return self._moved(points, self._time_of(unit[:, -1], self.body.dimensions)), kept

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Place points on the body's boundary through time, or in the body at an end of time."""
        if part in self.times.all_parts:
            assert isinstance(part, Face)
            points, kept = self.body.scatter(unit)
            time = np.full(len(unit), self.times.interval(part.coordinate)[part.upper])
            normals = np.zeros((len(unit), self.dimensions))
            normals[:, -1] = part.normal
            return self._moved(points, time), normals, kept
        points, normals, kept = self.body.scatter_on(part, unit[:, :-1])
        time = self._time_of(unit[:, -1], self.body.dimensions - 1)
        turned = _rows(self._turned(list(normals.T), self._angle(time)))
        return self._moved(points, time), np.column_stack([turned, np.zeros(len(unit))]), kept

    @property
    def measure(self) -> float:
        """Its volume, over all times."""
        return self.body.measure * self._total(self.body.dimensions)

    @property
    def cover(self) -> float:
        """See `Domain.cover`."""
        return self.body.cover * self._total(self.body.dimensions)

    def named_measure(self, part: Part) -> float:
        """The size of a part of the body, over all times; the volume at an end of time."""
        return self._of_part(part, self.body.measure, self.body.named_measure)

    def part_cover(self, part: Part) -> float:
        """See `Domain.part_cover`."""
        return self._of_part(part, self.body.cover, self.body.part_cover)

    def signed_formula(self) -> Formula:
        """That of the body where it is at each time; not beyond the ends of time."""
        return self._carried(self.body.signed_formula())

    def pieces(self, part: Part) -> list[Piece]:
        """Those of the body."""
        if part in self.times.all_parts:
            return [Piece(z, self.signed_formula()) for z, _ in self.times.pieces(part)]
        return [
            Piece(self._carried(zero), room if room is None else self._carried(room))
            for zero, room in self.body.pieces(part)
        ]

    def inner_formulas(self, part: Part) -> list[Formula]:
        """Those of the body, or of time."""
        if part in self.times.all_parts:
            return self.times.inner_formulas(part)
        return [self._carried(formula) for formula in self.body.inner_formulas(part)]

    # --- motion ----------------------------------------------------------------------------------

    def _of_part(self, part: Part, whole: float, of_body: Callable[[Part], float]) -> float:
        if part in self.times.all_parts:
            assert isinstance(part, Face)
            end = np.array([self.times.interval(part.coordinate)[part.upper]])
            return whole * float(self._scale_at(end)[0]) ** self.body.dimensions
        return of_body(part) * self._total(self.body.dimensions - 1)

    def _carried(self, formula: Formula) -> Formula:
        """A formula of the body, at rest, as one of it in motion."""

        def carried(at: At) -> Any:
            time = at[self.names[-1]]
            where = [at[name] for name in self.body.names]
            if self.shift is not None:
                where = [x - s for x, s in zip(where, self._shift(time), strict=True)]
            if self.angle is not None:
                where = self._turned(where, -(self.angle(time) + 0.0 * time))
            if self.scale is None:
                return formula(dict(zip(self.body.names, where, strict=True)))
            scale = self.scale(time)
            return scale * formula(
                {n: x / scale for n, x in zip(self.body.names, where, strict=True)}
            )

        return carried

    def _moved(self, points: PointArray, time: ColumnArray) -> PointArray:
        """Points of the body where they are at a time, with that time."""
        place = self._turned(list((points * self._scale_at(time)[:, None]).T), self._angle(time))
        return np.column_stack([_rows(place) + self._shift_at(time), time])

    def _at_rest(self, points: PointArray) -> tuple[PointArray, ColumnArray]:
        """Where points are on the body at rest, and how large it is at their time."""
        time = np.clip(points[:, -1], self.times.lower, self.times.upper)
        back = points[:, :-1] - self._shift_at(time)
        scale = self._scale_at(time)
        return _rows(self._turned(list(back.T), -self._angle(time))) / scale[:, None], scale

    def _turned(self, place: list[Any], angle: Any) -> list[Any]:
        """Coordinates turned by an angle: arrays, tensors or jets (Rodrigues' formula)."""
        if self.angle is None:
            return place
        module: Any = np if isinstance(angle, np.ndarray) else torch
        c, s = module.cos(angle), module.sin(angle)
        if len(place) == 2:
            x, y = place
            return [c * x - s * y, s * x + c * y]
        a, along = self.axis, sum(k * x for k, x in zip(self.axis, place, strict=True))
        cross = [a[i - 2] * place[i - 1] - a[i - 1] * place[i - 2] for i in range(3)]
        return [
            x * c + w * s + k * (along * (1.0 - c)) for x, w, k in zip(place, cross, a, strict=True)
        ]

    def _shift(self, time: Any) -> Sequence[Any]:
        found = self.shift(time) if self.shift is not None else ()
        if not isinstance(found, tuple | list) or len(found) != self.body.dimensions:
            raise ProblemError(
                f"moving: shift must give a tuple of {self.body.dimensions}, one entry for each of "
                f"{', '.join(self.body.names)}"
            )
        return found

    def _shift_at(self, time: ColumnArray) -> PointArray:
        if self.shift is None:
            return np.zeros((len(time), self.body.dimensions))
        found = self._shift(torch.from_numpy(np.array(time)))
        return _rows([_numbers(x, time, "shift") for x in found])

    def _scale_at(self, time: ColumnArray) -> ColumnArray:
        if self.scale is None:
            return np.ones(len(time))
        return _numbers(self.scale(torch.from_numpy(np.array(time))), time, "scale")

    def _angle(self, time: ColumnArray) -> ColumnArray:
        if self.angle is None:
            return np.zeros(len(time))
        return _numbers(self.angle(torch.from_numpy(np.array(time))), time, "angle")

    # --- what is worked out over time ------------------------------------------------------------

    def _corners(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A box around it at all times, from points of the body's boundary."""
        body = self.body
        if self.angle is None:
            scale, shift = self._scale_at(self._knots)[:, None], self._shift_at(self._knots)
            low, high = (scale * end + shift for end in (body.lower, body.upper))
        else:
            unit = quasi_random(body.dimensions - 1, FEW // 8)
            on = np.concatenate([body.scatter_on(part, unit)[0] for part in body.all_parts])
            far = 1.01 * on - 0.01 * on.mean(axis=0)  # points are a little within the extremes
            moved = [self._moved(far, np.full(len(far), t))[:, :-1] for t in self._knots[::16]]
            low, high = (np.stack([f(m, axis=0) for m in moved]) for f in (np.min, np.max))
        return (
            np.concatenate([low.min(axis=0), self.times.lower]),
            np.concatenate([high.max(axis=0), self.times.upper]),
        )

    def _total(self, power: int) -> float:
        """The integral of scale^power over time."""
        return float(self._cumulative(power)[-1])

    def _time_of(self, u: ColumnArray, power: int) -> ColumnArray:
        """Times whose density is scale^power."""
        cumulative = self._cumulative(power)
        return np.interp(u * cumulative[-1], cumulative, self._knots)

    def _cumulative(self, power: int) -> ColumnArray:
        """The integral of scale^power from the first time on, at the knots."""
        return self._integrals[power - self.body.dimensions + 1]

    @cached_property
    def _integrals(self) -> list[ColumnArray]:
        found = []
        for power in (self.body.dimensions - 1, self.body.dimensions):
            rate = self._scale_at(self._knots) ** power
            steps = 0.5 * (rate[1:] + rate[:-1]) * np.diff(self._knots)
            found.append(np.concatenate([[0.0], np.cumsum(steps)]))
        return found


def moving(
    body: Domain,
    *,
    shift: Motion | None = None,
    angle: Motion | None = None,
    scale: Motion | None = None,
    axis: Sequence[float] = (0.0, 0.0, 1.0),
    **time: tuple[float, float],
) -> Moving:
    """Return a domain in motion over an interval of time, whose name is a keyword.

    Raises:
        ProblemError: no time, or what `Moving` refuses.
    """
    if len(time) != 1 or next(iter(time)) not in TIME_NAMES:
        raise ProblemError(
            "moving needs one interval of time, such as t=(0.0, 1.0), not "
            f"{', '.join(time) or 'none'}"
        )
    for name, motion in (("shift", shift), ("angle", angle), ("scale", scale)):
        if motion is not None and not callable(motion):
            raise ProblemError(f"moving: {name}={motion!r:.60} must be a function of time")
    return Moving(body, next(iter(time.items())), shift=shift, angle=angle, scale=scale, axis=axis)


def _rows(columns: list[ColumnArray]) -> PointArray:
    return np.stack(columns, axis=1)


def _numbers(values: Any, time: ColumnArray, what: str) -> ColumnArray:
    """What a motion gave, as finite numbers at each time."""
    try:
        found = np.asarray(values, dtype=np.float64)
        found = np.broadcast_to(found, time.shape)
    except (TypeError, ValueError, RuntimeError):
        raise ProblemError(f"moving: {what} must give a number at each time, shape (N,)") from None
    if not math.isfinite(float(np.abs(found).sum())):
        raise ProblemError(f"moving: {what} must be finite at all times")
    return found
