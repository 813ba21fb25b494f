"""Named numbers and choices of a problem, settable from outside, possibly learned."""

import math
from typing import Any

from pinnsig.errors import ProblemError


class Setting:
    """A descriptor for one named setting of a problem; subclasses say which values are right."""

    def __init__(self, default: Any) -> None:
        self.default = default
        self.name = "?"

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
        learn: unknown, to be found by training together with the network, starting at `default`
            (an inverse problem). One that has to be positive is learned by its logarithm.
        true: of a learned coefficient, the value that `solution` is meant for; None if unknown, and
            then a solution that depends on it is no reference.
    """

    def __init__(
        self,
        default: float,
        *,
        above: float | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
        learn: bool = False,
        true: float | None = None,
    ) -> None:
        super().__init__(float(default))
        self.true = true
        self.above = above
        self.minimum = minimum
        self.maximum = maximum
        self.learn = learn

    @property
    def positive(self) -> bool:
        """Whether its own rule keeps it above zero."""
        return self.above is not None and self.above >= 0

    def check(self, value: Any) -> float:
        """Return the value as a float.

        Raises:
            ProblemError: not a finite number, or outside the limits.
        """
        try:
            if isinstance(value, str | bool):  # as a file may hold: "0.02", true
                raise TypeError
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise ProblemError(f"{self.name} = {value!r} is not a number") from None
        if not math.isfinite(number):
            raise ProblemError(f"{self.name} = {value} is not finite")
        for limit, fails, words in (
            (self.above, lambda bound: number <= bound, "greater than"),
            (self.minimum, lambda bound: number < bound, "at least"),
            (self.maximum, lambda bound: number > bound, "at most"),
        ):
            if limit is not None and fails(limit):
                must = f"it must be {words} {limit:g}"
                raise ProblemError(f"{self.name} = {number:g} cannot be: {must}")
        return number


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
