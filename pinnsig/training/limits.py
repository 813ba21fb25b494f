"""Limits on training: when it may not go on, and the name of the reason."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from pinnsig.core.errors import SettingsError
from pinnsig.training.records import (
    ERROR_REACHED,
    EVALUATION_LIMIT,
    INTERRUPTED,
    LOSS_REACHED,
    NON_FINITE,
    TIME_LIMIT,
)

Clock = Callable[[], float]
"""Gives seconds since some moment; `time.perf_counter`, or what a test sets."""


@dataclass(frozen=True)
class Limits:
    """Limits on all of training; None means none.

    Attributes:
        seconds: no evaluation begins later than this, counted from the first iteration on and over
            all resumes; setting up and judging are not counted.
        loss: end once the loss is as low.
        error: end once the relative L2 error is as low.
        interrupted: asked after every iteration; true ends training there.

    Raises:
        SettingsError: a limit that is not above zero.
    """

    seconds: float | None = None
    loss: float | None = None
    error: float | None = None
    interrupted: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        for name in ("seconds", "loss", "error"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise SettingsError(f"limit on {name} = {value} must be above zero")

    def reached(self, value: float, loss: float, error: float | None) -> str | None:
        """Why to stop after an iteration, or None.

        Args:
            value: what is minimised; `loss`: the loss as reported.
            error: the relative L2 error, if it was measured.
        """
        if not math.isfinite(value):
            return NON_FINITE
        if self.interrupted():
            return INTERRUPTED
        if self.loss is not None and loss <= self.loss:
            return LOSS_REACHED
        if self.error is not None and error is not None and error <= self.error:
            return ERROR_REACHED
        return None


@dataclass
class Budget:
    """What a phase may still spend on evaluations.

    Attributes:
        evaluations: how many more; infinity means no limit.
        deadline: on the clock.
        clock: gives the time.
    """

    evaluations: float = math.inf
    deadline: float = math.inf
    clock: Clock = time.perf_counter

    def allowed(self) -> bool:
        """Whether one more evaluation may begin."""
        return self.evaluations >= 1 and self.clock() < self.deadline

    @property
    def reason(self) -> str:
        """The limit that was met."""
        return EVALUATION_LIMIT if self.evaluations < 1 else TIME_LIMIT
