"""Line search for the strong Wolfe conditions.

Nocedal and Wright, Numerical Optimization (2006), algorithms 3.5 and 3.6, with cubic
interpolation kept inside the bracket, and Hager and Zhang's approximate Wolfe condition (SIAM J.
Optim. 16 (2005), 170-192) where rounding hides the decrease. A trial at which the loss is not
finite counts as infinitely bad: the search turns back from it.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from pinnsig.optim.base import Request

Searching = Generator[Request, Any, "Trial | None"]
"""Asks for evaluations, and gives the trial that it ends with, if any."""


@dataclass(frozen=True)
class Trial:
    """One point along the line: step length t, loss, slope along the line, gradient, and terms."""

    t: float
    loss: float
    slope: float
    gradient: Tensor
    terms: tuple[float, ...] = ()

    @property
    def finite(self) -> bool:
        """Whether loss and slope are numbers."""
        return math.isfinite(self.loss) and math.isfinite(self.slope)


@dataclass(frozen=True)
class StrongWolfe:
    """The search with its constants: 0 < c1 < c2 < 1.

    Attributes:
        c1: sufficient decrease, loss(t) <= loss(0) + c1 t slope(0).
        c2: curvature, |slope(t)| <= c2 |slope(0)|.
        trials: at most so many evaluations.
        rounding: relative error of a loss, for the approximate condition.
    """

    c1: float = 1e-4
    c2: float = 0.9
    trials: int = 25
    rounding: float = 1e-15

    def search(self, at: Callable[[float], Searching], start: Trial, t: float) -> Searching:
        """A point that meets the conditions; else the best that decreases the loss, else None.

        Args:
            at: evaluates a trial, or gives None where a limit forbids it, which ends the search.
            start: the trial at t = 0; its slope is negative.
            t: the first step length tried.
        """
        previous = start
        for left in range(self.trials - 1, -1, -1):
            trial = yield from at(t)
            if trial is None:
                break
            if self._meets(trial, start):
                return trial
            if self._too_high(trial, start) or (previous.t > 0 and trial.loss >= previous.loss):
                return (yield from self._zoom(at, start, previous, trial, left))
            if trial.slope >= 0:
                return (yield from self._zoom(at, start, trial, previous, left))
            longer = _cubic_minimum(previous, trial)
            previous, t = trial, min(max(longer, 1.5 * trial.t), 10 * trial.t)
        return previous if previous.t > 0 else None

    def _zoom(
        self, at: Callable[[float], Searching], start: Trial, low: Trial, high: Trial, left: int
    ) -> Searching:
        """Shrink the bracket between `low`, the better end, and `high`."""
        for _ in range(left):
            width = high.t - low.t
            t = _cubic_minimum(low, high) if high.finite else low.t + 0.1 * width
            nearest, farthest = sorted((low.t + 0.1 * width, high.t - 0.1 * width))
            t = min(max(t, nearest), farthest) if high.finite else t
            if t in (low.t, high.t):  # as narrow as numbers allow
                break
            trial = yield from at(t)
            if trial is None:
                break
            if self._meets(trial, start):
                return trial
            if self._too_high(trial, start) or trial.loss >= low.loss:
                high = trial
            else:
                if trial.slope * width >= 0:
                    high = low
                low = trial
        return low if low.t > 0 and low.loss < start.loss else None

    def _too_high(self, trial: Trial, start: Trial) -> bool:
        return not trial.finite or trial.loss > start.loss + self.c1 * trial.t * start.slope

    def _meets(self, trial: Trial, start: Trial) -> bool:
        if not trial.finite or abs(trial.slope) > -self.c2 * start.slope:
            return False
        if not self._too_high(trial, start):
            return True
        flat = abs(trial.loss - start.loss) <= self.rounding * abs(start.loss)
        return flat and trial.slope <= (2 * self.c1 - 1) * start.slope


def _cubic_minimum(a: Trial, b: Trial) -> float:
    """Where the cubic through both trials' losses and slopes is lowest; the middle if nowhere."""
    if not (a.finite and b.finite) or a.t == b.t:
        return 0.5 * (a.t + b.t)
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if square < 0 or not math.isfinite(square):
        return 0.5 * (a.t + b.t)
    d2 = math.copysign(math.sqrt(square), b.t - a.t)
    bottom = b.slope - a.slope + 2 * d2
    if bottom == 0:
        return 0.5 * (a.t + b.t)
    t = b.t - (b.t - a.t) * (b.slope + d2 - d1) / bottom
    return t if math.isfinite(t) else 0.5 * (a.t + b.t)
