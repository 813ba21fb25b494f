"""L-BFGS with a strong-Wolfe line search."""

import math
from typing import Any, ClassVar

import torch
from torch import Tensor

from pinnsig.errors import SettingsError
from pinnsig.optim.base import LIMIT, Allowed, Evaluate, Optimizer, Step, always
from pinnsig.optim.line_search import StrongWolfe, Trial
from pinnsig.optim.memory import Memory

CONVERGED_GRADIENT = "converged: gradient"
CONVERGED_CHANGE = "converged: change"
LINE_SEARCH_FAILED = "line search failed"


class LBFGS(Optimizer):
    """Limited-memory BFGS; one step is one direction and one line search.

    Args:
        history: pairs kept.
        gradient_tolerance: stop once every entry of the gradient is this small.
        change_tolerance: stop once a step changes the loss, relative to it, by no more than this;
            0 lets it go on for as long as a line search finds a lower loss.
        c1, c2: the line search's constants, see `StrongWolfe`.
        trials: evaluations allowed in one line search.

    Raises:
        SettingsError: a setting out of its range.
    """

    name: ClassVar[str] = "lbfgs"

    def __init__(
        self,
        history: int = 50,
        gradient_tolerance: float = 1e-12,
        change_tolerance: float = 0.0,
        c1: float = 1e-4,
        c2: float = 0.9,
        trials: int = 25,
    ) -> None:
        if history < 1 or trials < 1:
            raise SettingsError(f"lbfgs: history = {history} and trials = {trials} must be >= 1")
        if not 0 < c1 < c2 < 1:
            raise SettingsError(f"lbfgs: c1 = {c1} and c2 = {c2} must have 0 < c1 < c2 < 1")
        if not (gradient_tolerance >= 0 and change_tolerance >= 0):
            raise SettingsError(
                f"lbfgs: tolerances {gradient_tolerance} and {change_tolerance} must not be below 0"
            )
        self.history = history
        self.gradient_tolerance = gradient_tolerance
        self.change_tolerance = change_tolerance
        self.c1, self.c2, self.trials = c1, c2, trials
        self.memory: Memory | None = None
        self.present: Trial | None = None  # loss and gradient at theta, once known
        self.change = math.inf  # of the loss in the last step, relative

    def step(self, theta: Tensor, evaluate: Evaluate, allowed: Allowed = always) -> Step:
        """One iteration; the loss reported is the one at the new parameters."""
        if self.memory is None:
            self.memory = Memory(self.history, theta)
        if self.present is None:
            if not allowed():
                return Step(math.nan, LIMIT)
            measured = evaluate()
            self.present = Trial(0.0, measured.loss, 0.0, measured.gradient.clone())
            self.memory.measure(self.present.gradient)
        start = self.present
        if not math.isfinite(start.loss):
            return Step(start.loss)
        if self.memory.largest <= self.gradient_tolerance:
            return Step(start.loss, CONVERGED_GRADIENT)
        if self.change_tolerance and self.change <= self.change_tolerance:
            return Step(start.loss, CONVERGED_CHANGE)
        if not allowed():
            return Step(start.loss, LIMIT)
        return self._search(self.memory, theta, evaluate, start, allowed)

    def _search(
        self, memory: Memory, theta: Tensor, evaluate: Evaluate, start: Trial, allowed: Allowed
    ) -> Step:
        origin = theta.clone()
        while True:
            direction, slope = memory.direction(start.gradient)
            if not slope < 0 and len(memory):
                memory.clear()
                continue
            first = 1.0 if len(memory) else _first_step(origin, direction)

            def at(t: float, along: Tensor = direction) -> Trial:
                theta.copy_(origin).add_(along, alpha=t)
                measured = evaluate(along)
                return Trial(t, measured.loss, measured.slope, measured.gradient.clone())

            rounding = 10 * torch.finfo(theta.dtype).eps
            search = StrongWolfe(self.c1, self.c2, self.trials, rounding)
            trial = search.search(at, Trial(0.0, start.loss, slope, start.gradient), first, allowed)
            if trial is not None:
                memory.add(trial.t * direction, trial.gradient - start.gradient, trial.gradient)
                theta.copy_(origin).add_(direction, alpha=trial.t)
                self.change = abs(start.loss - trial.loss) / abs(start.loss or 1.0)
                self.present = trial
                return Step(trial.loss)
            theta.copy_(origin)
            if not allowed():
                return Step(start.loss, LIMIT)
            if not len(memory):
                return Step(start.loss, LINE_SEARCH_FAILED)
            memory.clear()  # once more, along the steepest descent

    def state(self) -> dict[str, Any]:
        """Pairs, their products, and loss and gradient at the parameters."""
        present = self.present
        return {
            "memory": None if self.memory is None else self.memory.state(),
            "loss": None if present is None else present.loss,
            "gradient": None if present is None else present.gradient,
            "change": self.change if math.isfinite(self.change) else None,
        }

    def load(self, state: dict[str, Any], like: Tensor) -> None:
        """See `Optimizer.load`."""
        memory = state["memory"]
        if memory is None:
            return
        self.memory = Memory.restored(self.history, memory, like)
        same = len(memory["sy"]) == self.history + 1  # else the gradient has to be measured again
        if state["loss"] is not None and same:
            self.present = Trial(0.0, state["loss"], 0.0, state["gradient"].to(like, copy=True))
        self.change = math.inf if state["change"] is None else state["change"]

    def inherit(self, previous: Optimizer, like: Tensor) -> None:
        """The pairs; loss and gradient are another precision's, or another loss's."""
        super().inherit(previous, like)
        self.present, self.change = None, math.inf


def _first_step(origin: Tensor, direction: Tensor) -> float:
    """Without a known curvature: a step that is short against the parameters."""
    length = float(torch.linalg.vector_norm(direction))
    return min(1.0, 1e-3 * max(1.0, float(torch.linalg.vector_norm(origin))) / length)
