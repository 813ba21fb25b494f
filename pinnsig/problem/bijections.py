"""Smooth maps of the real line onto what a learned coefficient may be."""

import functools
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pinnsig.core.errors import ProblemError


@dataclass(frozen=True)
class Bijection:
    """value(theta): strictly increasing, onto the open interval between two limits.

    It is exponential towards one limit and logistic between two, and without limits the identity
    but for scale. value(0) = start, with the slope `scale`: the size of the start value, or less
    where a limit is nearer. What rounding would carry to an open limit stays next to it.

    Attributes:
        start: the value at theta = 0, strictly between the limits.
        lower, upper: the limits; infinite where there is none.
        open_lower, open_upper: whether the limit itself is no value.
    """

    start: float
    lower: float = -math.inf
    upper: float = math.inf
    open_lower: bool = False
    open_upper: bool = False

    @property
    def below(self) -> float:
        """The distance from the start down to the lower limit."""
        return self.start - self.lower

    @property
    def above(self) -> float:
        """The distance from the start up to the upper limit."""
        return self.upper - self.start

    @property
    def room(self) -> float:
        """The slope of the map at the start if theta were a logarithm of odds."""
        return 1 / (1 / self.below + 1 / self.above) if self.limited else math.inf

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.lower) or math.isfinite(self.upper)

    @property
    def scale(self) -> float:
        """d value / d theta at theta = 0."""
        size = abs(self.start) or (1.0 if not self.limited else math.inf)
        return min(size, self.room)

    def value(self, theta: Tensor) -> Tensor:
        """Return the value at a parameter, both of shape (); differentiable."""
        if not self.limited:
            return self.start + self.scale * theta
        t = theta * (self.scale / self.room)
        up, down = t.clamp(min=0.0), (-t).clamp(min=0.0)
        rise = self.start + _step(up, self.above, self.below)
        fall = self.start - _step(down, self.below, self.above)
        # near a limit that is closer to zero than the start, digits count from the limit
        if abs(self.upper) < abs(self.start):
            rise = torch.where(t > 1, self.upper - _left(up, self.above, self.below), rise)
        if abs(self.lower) < abs(self.start):
            fall = torch.where(t < -1, self.lower + _left(down, self.below, self.above), fall)
        value = torch.where(t < 0, fall, rise)
        low, high = self.range(theta.dtype)
        held = value.detach().clamp(low, high)
        return torch.where(held == value, value, held + (value - value.detach()))

    def smooth(self, theta: Any) -> Any:
        """Return the same value of whatever has partials of its own, such as a jet.

        It is one formula throughout: near a limit it has fewer digits than `value`, and rounding
        may bring it to the limit.
        """
        if not self.limited:
            return self.start + self.scale * theta
        t = (self.scale / self.room) * theta
        if math.isinf(self.upper):
            return self.lower + self.below * torch.exp(t)
        if math.isinf(self.lower):
            return self.upper - self.above * torch.exp(-t)
        odds = math.log(self.below / self.above)
        return self.lower + (self.upper - self.lower) * torch.sigmoid(t + odds)

    def theta(self, value: float) -> float:
        """Return the parameter of a value.

        Raises:
            ProblemError: the value lies at a limit or outside.
        """
        if not self.lower < value < self.upper:
            raise ProblemError(
                f"{value:g} does not lie strictly between {self.lower:g} and {self.upper:g}"
            )
        if not self.limited:
            return (value - self.start) / self.scale
        t = 0.0
        if math.isfinite(self.lower):
            t += _log_ratio(value - self.lower, self.below, value - self.start)
        if math.isfinite(self.upper):
            t -= _log_ratio(self.upper - value, self.above, self.start - value)
        return t * self.room / self.scale

    def range(self, dtype: torch.dtype) -> tuple[float, float]:
        """Return the least and the largest number of a type that are allowed."""
        least = _inside(self.lower, self.open_lower, 1, dtype)
        return least, _inside(self.upper, self.open_upper, -1, dtype)

    def limit_at(self, value: float) -> float | None:
        """Return the limit that a value has come to; None if it keeps a distance.

        It has come there within a thousandth of the distance from the start; to zero within a
        hundred-thousandth, as what has to be positive may well be a thousand times smaller.
        """
        for limit, start in ((self.lower, self.below), (self.upper, self.above)):
            near = (1e-3 if limit else 1e-5) * start
            if math.isfinite(limit) and abs(value - limit) <= near:
                return limit
        return None


def _step(t: Tensor, room: float, behind: float) -> Tensor:
    """How far the value goes towards a limit at distance `room`, at t >= 0.

    Args:
        t: shape ().
        room: infinite where there is no limit that way.
        behind: the distance to the limit on the other side.
    """
    if math.isinf(room):
        return behind * torch.expm1(t)
    e = torch.exp(-t)
    gone = torch.where(t < 1, -torch.expm1(-t), 1 - e)  # the slope of expm1 cancels at large t
    return room * gone / (1 + room / behind * e)


def _left(t: Tensor, room: float, behind: float) -> Tensor:
    """What is left of `room` then."""
    e = torch.exp(-t)
    return room * (1 + room / behind) * e / (1 + room / behind * e)


def _log_ratio(a: float, b: float, difference: float) -> float:
    """log(a / b), where a - b is known."""
    return math.log1p(difference / b) if abs(difference) < 0.5 * b else math.log(a / b)


@functools.cache
def _inside(limit: float, is_open: bool, direction: int, dtype: torch.dtype) -> float:
    """The number of a type that is next to a limit on its inner side, or the limit itself."""
    if math.isinf(limit):
        return limit
    number = torch.tensor(limit, dtype=torch.float64).to(dtype)
    inward = torch.tensor(direction * math.inf, dtype=dtype)
    beyond = (limit - float(number)) * direction  # > 0: rounded out of the interval
    if beyond > 0 or (is_open and beyond == 0):
        number = torch.nextafter(number, inward)
    if 0 < abs(float(number)) < torch.finfo(dtype).tiny:  # what a processor may take for zero
        return direction * torch.finfo(dtype).tiny
    return float(number)
