"""Named numbers and choices of a problem, settable from outside, possibly learned."""

import math
from collections.abc import Callable
from typing import Any

from pinnsig.core.errors import ProblemError
from pinnsig.problem.bijections import Bijection
from pinnsig.problem.binding import needed_names


class Setting:
    """A descriptor for one named setting of a problem; subclasses say which values are right."""

    name = "?"

    def __init__(self, default: Any) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return instance.__dict__.get(self.name, self.default)

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = self.check(value)

    def check(self, value: Any) -> Any:
        """Return the value as it is stored; raise ProblemError if it cannot be used."""
        raise NotImplementedError


class Coefficient(Setting):
    """A real coefficient of a problem, such as a viscosity.

    Args:
        default: its value unless set otherwise.
        above: exclusive lower limit.
        minimum: inclusive lower limit.
        maximum: inclusive upper limit.
        learn: unknown, to be found by training together with the network, starting at `default` or
            at what it is set to (an inverse problem). It stays between its limits: each can be
            approached and never crossed, so that it cannot start at one.
        true: of a learned coefficient, the value that `solution` is meant for, the name of the
            coefficient that holds it, or a function of coefficients and choices by their names
            (`true=lambda k_true: 2 * k_true`); None if unknown, and then a solution that depends on
            it is no reference.

    Raises:
        ProblemError: a value that is not a finite number or that the limits rule out, limits that
            leave nothing between them, or a true value of what is not learned.
    """

    def __init__(
        self,
        default: float,
        *,
        above: float | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
        learn: bool = False,
        true: float | str | Callable[..., float] | None = None,
    ) -> None:
        self.name = "a coefficient"  # until it has one
        self.above, self.minimum, self.maximum = above, minimum, maximum
        self.learn = learn
        self.limits = limits_of(above, minimum, maximum)
        if self.limits[0] > self.limits[1] or (learn and self.limits[0] == self.limits[1]):
            low, high = self.limits
            raise ProblemError(f"nothing lies between a coefficient's limits {low:g} and {high:g}")
        if true is not None and not learn:
            raise ProblemError("true= belongs to a coefficient that is learned: add learn=True")
        known = true is not None and not isinstance(true, str) and not callable(true)
        self.true = self.check_true(true) if known else true
        super().__init__(self.check(default))

    def check(self, value: Any) -> float:
        """Return the value as a float.

        Raises:
            ProblemError: not a finite number, outside the limits, or, if learned, at one of them.
        """
        number = self._allowed(value, f"{self.name} = ")
        if self.learn and number in self.limits:
            raise ProblemError(
                f"{self.name} = {number:g} cannot be: it is learned between its limits, and would "
                "never leave the one that it starts at"
            )
        return number

    @property
    def rule(self) -> str:
        """What it may be, in words: "above 0, at most 1", or nothing."""
        limits = {"above": self.above, "at least": self.minimum, "at most": self.maximum}
        return ", ".join(f"{word} {x:g}" for word, x in limits.items() if x is not None)

    @property
    def learning(self) -> str:
        """How it is learned, in words: "learned, starts at 0.1, true 0.2", or nothing."""
        if not self.learn:
            return ""
        if callable(self.true):
            true = f"by {', '.join(needed_names(self.true))}"
        else:
            true = f"{self.true:g}" if isinstance(self.true, float) else self.true or "not known"
        return f"learned, starts at {self.default:g}, true {true}"

    def check_true(self, value: Any) -> float:
        """Return a true value as a float.

        Raises:
            ProblemError: it is not finite, or the limits rule it out.
        """
        return self._allowed(value, "true = ")

    def bijection(self, start: float) -> Bijection:
        """Return the map by which it is learned from a start value."""
        lower, upper = self.limits
        return Bijection(start, lower, upper, self.above == lower, False)

    def _allowed(self, value: Any, what: str) -> float:
        number = _number(what.removesuffix(" = "), value)
        if not math.isfinite(number):
            raise ProblemError(f"{what}{value} is not finite")
        for limit, fails, words in (
            (self.above, lambda bound: number <= bound, "greater than"),
            (self.minimum, lambda bound: number < bound, "at least"),
            (self.maximum, lambda bound: number > bound, "at most"),
        ):
            if limit is not None and fails(limit):
                must = f"it must be {words} {limit:g}"
                raise ProblemError(f"{what}{number:g} cannot be: {must}")
        return number


def limits_of(
    above: float | None, minimum: float | None, maximum: float | None
) -> tuple[float, float]:
    """Return the lower and the upper limit, infinite where there is none.

    Raises:
        ProblemError: one is no number.
    """
    limits = {"above": above, "minimum": minimum, "maximum": maximum}
    for name, limit in limits.items():
        if limit is not None and math.isnan(_number(name, limit)):
            raise ProblemError(f"a coefficient's limit {name} = {limit} is no number")
    lower = max((limit for limit in (above, minimum) if limit is not None), default=-math.inf)
    return lower, math.inf if maximum is None else maximum


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, str | bool):  # as a file may hold: "0.02", true
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(f"{name} = {value!r} is not a number") from None


class Choice(Setting):
    """A setting that takes one of a few words; the first is the default."""

    def __init__(self, *options: str) -> None:
        super().__init__(options[0])
        self.options = options

    def check(self, value: Any) -> str:
        """Return the word; raise ProblemError if it is not one of the options."""
        if value not in self.options:
            options = " or ".join(self.options)
            raise ProblemError(f"{self.name} = {value!r} cannot be: choose {options}")
        return value
