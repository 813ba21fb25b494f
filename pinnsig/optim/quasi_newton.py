"""What quasi-Newton methods share: a direction from known curvature, and a line search along it."""

import math
from abc import abstractmethod
from typing import Any, Protocol

import torch
from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.optim.base import LIMIT, Gradient, Optimizer, Step, Steps
from pinnsig.optim.line_search import Searching, StrongWolfe, Trial

CONVERGED_GRADIENT = "converged: gradient"
CONVERGED_CHANGE = "converged: change"
LINE_SEARCH_FAILED = "line search failed"

# a line search that needs so many evaluations in the mean of so many steps in float32 is one that
# rounding leads astray
ROUNDING_TRIALS, ROUNDING_STEPS = 2.5, 20


class InverseHessian(Protocol):
    """An approximation of the inverse Hessian that learns from pairs of changes.

    Attributes:
        largest: the largest entry, in absolute value, of the gradient that was measured last.
    """

    largest: float

    @property
    def length(self) -> float:
        """The step length along its direction that a line search tries first."""
        ...

    def __len__(self) -> int:
        """How much it has learned; 0 means that its direction is steepest descent."""
        ...

    def measure(self, g: Tensor) -> None:
        """Meet a gradient, shape (P,), that comes without a pair."""
        ...

    def direction(self, g: Tensor) -> tuple[Tensor, float]:
        """-H g for the gradient that was measured last, shape (P,), and its slope, -g.H g."""
        ...

    def add(self, s: Tensor, y: Tensor, g: Tensor, t: float) -> bool:
        """Learn from a step of length t along the direction given last.

        Args:
            s, y: change of the parameters and of the gradient, shape (P,).
            g: the gradient after it, which the next direction starts from.
            t: with s = t * direction.

        Returns:
            Whether the pair could be used.
        """
        ...

    def clear(self) -> None:
        """Forget everything learned."""
        ...

    def state(self) -> dict[str, Any]:
        """All of it, as tensors and plain data."""
        ...


class QuasiNewton(Optimizer):
    """One step is one direction and one line search.

    Args:
        gradient_tolerance: stop once every entry of the gradient is this small.
        change_tolerance: stop once a step changes the loss, relative to it, by no more than this;
            0 lets it go on for as long as a line search finds a lower loss.
        c1, c2: the line search's constants, see `StrongWolfe`.
        trials: evaluations allowed in one line search.

    Raises:
        SettingsError: a setting out of its range.
    """

    def __init__(
        self,
        gradient_tolerance: float = 1e-12,
        change_tolerance: float = 0.0,
        c1: float = 1e-4,
        c2: float = 0.9,
        trials: int = 25,
    ) -> None:
        if trials < 1:
            raise SettingsError(f"{self.name}: trials = {trials} must be >= 1")
        if not 0 < c1 < c2 < 1:
            raise SettingsError(f"{self.name}: c1 = {c1} and c2 = {c2} must have 0 < c1 < c2 < 1")
        if not (gradient_tolerance >= 0 and change_tolerance >= 0):
            raise SettingsError(
                f"{self.name}: tolerances {gradient_tolerance} and {change_tolerance} must not be "
                "below 0"
            )
        self.gradient_tolerance = gradient_tolerance
        self.change_tolerance = change_tolerance
        self.c1, self.c2, self.trials = c1, c2, trials
        self.curvature: InverseHessian | None = None
        self.present: Trial | None = None  # loss and gradient at theta, once known
        self.change = math.inf  # of the loss in the last step, relative
        self.steps = self.evaluations = 0  # since the start or the last notice
        self.noticed = False

    @abstractmethod
    def start_curvature(self, theta: Tensor) -> InverseHessian:
        """The approximation before anything is learned."""

    @abstractmethod
    def restore_curvature(self, state: dict[str, Any], like: Tensor) -> InverseHessian:
        """The approximation from its state."""

    def step(self, theta: Tensor) -> Steps:
        """One iteration; the loss reported is the one at the new parameters."""
        if self.curvature is None:
            self.curvature = self.start_curvature(theta)
        if self.present is None:
            measured = yield Gradient()
            if measured is None:
                return Step(math.nan, LIMIT)
            gradient = measured.gradient.clone()
            self.present = Trial(0.0, measured.loss, 0.0, gradient, measured.terms)
            self.curvature.measure(gradient)
        start = self.present
        if not math.isfinite(start.loss):
            return Step(start.loss, terms=start.terms)
        if not math.isfinite(self.curvature.largest):  # a gradient that the loss hides
            self.present = None
            return Step(math.nan, terms=start.terms)
        if self.curvature.largest <= self.gradient_tolerance:
            return Step(start.loss, CONVERGED_GRADIENT)
        if self.change_tolerance and self.change <= self.change_tolerance:
            return Step(start.loss, CONVERGED_CHANGE)
        return (yield from self._search(self.curvature, theta, start))

    def _search(self, curvature: InverseHessian, theta: Tensor, start: Trial) -> Steps:
        origin = theta.clone()
        while True:
            direction, slope = curvature.direction(start.gradient)
            if not slope < 0 and len(curvature):
                curvature.clear()
                continue
            first = curvature.length if len(curvature) else _first_step(origin, direction)
            limited = False

            def at(t: float, along: Tensor = direction) -> Searching:
                nonlocal limited
                theta.copy_(origin).add_(along, alpha=t)
                measured = yield Gradient(along)
                if measured is None:
                    limited = True
                    return None
                self.evaluations += 1
                gradient = measured.gradient.clone()
                return Trial(t, measured.loss, measured.slope, gradient, measured.terms)

            rounding = 10 * torch.finfo(theta.dtype).eps
            search = StrongWolfe(self.c1, self.c2, self.trials, rounding)
            begun = Trial(0.0, start.loss, slope, start.gradient)
            trial = yield from search.search(at, begun, first)
            if trial is not None:
                s = trial.t * direction
                curvature.add(s, trial.gradient - start.gradient, trial.gradient, trial.t)
                theta.copy_(origin).add_(s)
                self.change = abs(start.loss - trial.loss) / abs(start.loss or 1.0)
                self.present = trial
                return Step(trial.loss, terms=trial.terms, notice=self._rounding_notice(theta))
            theta.copy_(origin)
            if limited:
                return Step(start.loss, LIMIT)
            if not len(curvature):
                return Step(start.loss, LINE_SEARCH_FAILED)
            curvature.clear()  # once more, along the steepest descent

    def _rounding_notice(self, theta: Tensor) -> str | None:
        """Said once, where rounding in float32 keeps the line search busy."""
        self.steps += 1
        if self.steps < ROUNDING_STEPS:
            return None
        trials, self.steps, self.evaluations = self.evaluations / self.steps, 0, 0
        if self.noticed or theta.dtype != torch.float32 or trials < ROUNDING_TRIALS:
            return None
        self.noticed = True
        return (
            f"{self.name}: {trials:.1f} evaluations an iteration, where about 1 is usual: float32 "
            f"rounding hides how the loss changes; --dtype float64, or a phase with dtype=float64, "
            "goes on"
        )

    def renew(self) -> None:
        """See `Optimizer.renew`."""
        self.present, self.change = None, math.inf

    def state(self) -> dict[str, Any]:
        """The curvature learned, and loss and gradient at the parameters."""
        present = self.present
        return {
            "curvature": None if self.curvature is None else self.curvature.state(),
            "loss": None if present is None else present.loss,
            "gradient": None if present is None else present.gradient,
            "terms": None if present is None else list(present.terms),
            "change": self.change if math.isfinite(self.change) else None,
            "counts": [self.steps, self.evaluations, int(self.noticed)],
        }

    def load(self, state: dict[str, Any], like: Tensor) -> None:
        """See `Optimizer.load`."""
        if state["curvature"] is None:
            return
        self.curvature = self.restore_curvature(state["curvature"], like)
        self.steps, self.evaluations, self.noticed = state["counts"]
        if state["loss"] is not None and self.goes_on_exactly(state["curvature"]):
            gradient = state["gradient"].to(like, copy=True)
            self.present = Trial(0.0, state["loss"], 0.0, gradient, tuple(state["terms"]))
        self.change = math.inf if state["change"] is None else state["change"]

    def goes_on_exactly(self, curvature: dict[str, Any]) -> bool:
        """Whether the restored curvature knows the present gradient; else it is measured again."""
        del curvature
        return True


def _first_step(origin: Tensor, direction: Tensor) -> float:
    """Without a known curvature: a step that is short against the parameters."""
    length = float(torch.linalg.vector_norm(direction))
    return min(1.0, 1e-3 * max(1.0, float(torch.linalg.vector_norm(origin))) / length)
