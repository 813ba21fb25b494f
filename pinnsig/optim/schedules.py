"""Learning-rate schedules: what a phase makes of its learning rate, iteration by iteration."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import Registry


def constant(progress: float, final: float) -> float:
    """Always 1."""
    del progress, final
    return 1.0


def cosine(progress: float, final: float) -> float:
    """Half a period of a cosine: Loshchilov and Hutter, ICLR 2017, equation 5."""
    return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * progress))


def exponential(progress: float, final: float) -> float:
    """The same ratio from each iteration to the next."""
    return final**progress


SCHEDULES: Registry[Callable[[float, float], float]] = Registry(
    "schedule",
    SettingsError,
    {"constant": constant, "cosine": cosine, "exponential": exponential},
)
"""Factors by name, from the phase's progress in [0, 1] and the factor at its end."""


@dataclass(frozen=True)
class Schedule:
    """A linear warm-up, then the named curve from 1 down to `final` at the end of the phase.

    Attributes:
        name: constant, cosine or exponential.
        final: factor at the phase's last iteration.
        warmup: iterations over which the rate rises from 1/warmup of its value to all of it.

    Raises:
        SettingsError: an unknown name, or a number out of its range.
    """

    name: str = "constant"
    final: float = 0.01
    warmup: int = 0

    def __post_init__(self) -> None:
        SCHEDULES.find(self.name)
        if not 0 < self.final <= 1:
            raise SettingsError(f"final = {self.final:g} must be above 0 and at most 1")
        if self.warmup < 0:
            raise SettingsError(f"warmup = {self.warmup} must not be below 0")

    def factor(self, iteration: int, total: int) -> float:
        """What the learning rate is multiplied with at an iteration, from 1 to total."""
        if iteration <= self.warmup:
            return iteration / self.warmup
        progress = (iteration - self.warmup - 1) / max(total - self.warmup - 1, 1)
        return SCHEDULES[self.name](min(progress, 1.0), self.final)
