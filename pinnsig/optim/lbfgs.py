"""L-BFGS in its compact form, with a strong-Wolfe line search."""

import math
from typing import ClassVar

import torch
from torch import Tensor

from pinnsig.errors import SettingsError
from pinnsig.optim.base import Evaluate, Optimizer, Step
from pinnsig.optim.line_search import StrongWolfe, Trial

CONVERGED = "converged: gradient"
LINE_SEARCH_FAILED = "line search failed"
EVALUATION_LIMIT = "evaluation limit"


class Memory:
    """The last pairs s, y and the product of the inverse Hessian's approximation with a vector.

    Byrd, Nocedal and Schnabel, Math. Program. 63 (1994), theorem 2.2: two products with the
    stacked pairs and a small triangular solve, in place of a loop over them.
    """

    def __init__(self, size: int, like: Tensor) -> None:
        self.s = like.new_zeros(size, like.numel())
        self.y = like.new_zeros(size, like.numel())
        self.order: list[int] = []  # rows in use, oldest first
        wide = like.dtype if like.device.type == "mps" else torch.float64
        self.sy = torch.zeros(size, size, dtype=wide, device=like.device)
        self.yy = torch.zeros_like(self.sy)

    def __len__(self) -> int:
        return len(self.order)

    def clear(self) -> None:
        """Forget all pairs."""
        self.order.clear()

    def add(self, s: Tensor, y: Tensor) -> bool:
        """Keep a pair, dropping the oldest; a pair without positive curvature is left out."""
        curvature, size = float(s @ y), float(y @ y)
        if not curvature > torch.finfo(s.dtype).eps * size:
            return False
        row = len(self.order) if len(self.order) < len(self.s) else self.order.pop(0)
        self.order.append(row)
        self.s[row], self.y[row] = s, y
        self.sy[row, :], self.sy[:, row] = (self.y @ s).to(self.sy), (self.s @ y).to(self.sy)
        self.yy[row, :] = self.yy[:, row] = (self.y @ y).to(self.yy)
        return True

    def solve(self, g: Tensor) -> Tensor:
        """H g, with H's seed scaled by s.y / y.y of the newest pair."""
        if not self.order:
            return g.clone()
        rows = torch.tensor(self.order, device=g.device)
        sy, yy = self.sy[rows][:, rows], self.yy[rows][:, rows]
        gamma = sy[-1, -1] / yy[-1, -1]
        upper = torch.triu(sy)
        p = (self.s @ g)[rows].to(sy)
        q = (self.y @ g)[rows].to(sy)
        u = torch.linalg.solve_triangular(upper, p[:, None], upper=True)[:, 0]
        right = torch.diagonal(sy) * u + gamma * (yy @ u) - gamma * q
        v = torch.linalg.solve_triangular(upper.T, right[:, None], upper=False)[:, 0]
        along_s, along_y = g.new_zeros(len(self.s)), g.new_zeros(len(self.s))
        along_s[rows], along_y[rows] = v.to(g), (-gamma * u).to(g)
        return gamma.to(g) * g + along_s @ self.s + along_y @ self.y


class LBFGS(Optimizer):
    """Limited-memory BFGS; one step is one direction and one line search.

    Args:
        history: pairs kept.
        gradient_tolerance: stop once every entry of the gradient is this small.
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
        c1: float = 1e-4,
        c2: float = 0.9,
        trials: int = 25,
    ) -> None:
        if history < 1 or trials < 1:
            raise SettingsError(f"L-BFGS: history = {history} and trials = {trials} must be >= 1")
        if not 0 < c1 < c2 < 1:
            raise SettingsError(f"L-BFGS: c1 = {c1} and c2 = {c2} must have 0 < c1 < c2 < 1")
        self.history = history
        self.gradient_tolerance = gradient_tolerance
        self.c1, self.c2, self.trials = c1, c2, trials
        self.memory: Memory | None = None
        self.present: Trial | None = None  # loss and gradient at theta, once known

    def step(self, theta: Tensor, evaluate: Evaluate, budget: int | None = None) -> Step:
        """One iteration; the loss reported is the one at the new parameters."""
        left = math.inf if budget is None else budget
        if self.memory is None:
            self.memory = Memory(self.history, theta)
        if self.present is None:
            loss, gradient = evaluate()
            left -= 1
            self.present = Trial(0.0, loss, 0.0, gradient.clone())
        start = self.present
        if not math.isfinite(start.loss):
            return Step(start.loss)
        if float(start.gradient.abs().max()) <= self.gradient_tolerance:
            return Step(start.loss, CONVERGED)
        if left < 1:
            return Step(start.loss, EVALUATION_LIMIT)
        return self._search(theta, evaluate, start, left)

    def _search(self, theta: Tensor, evaluate: Evaluate, start: Trial, left: float) -> Step:
        memory = self.memory
        assert memory is not None
        origin = theta.clone()
        while True:
            direction = memory.solve(start.gradient).neg_()
            slope = float(direction @ start.gradient)
            if not slope < 0 and len(memory):
                memory.clear()
                continue
            trials = int(min(self.trials, left))
            found = self._line(theta, evaluate, origin, direction, start, slope, trials)
            trial, used = found
            left -= used
            if trial is not None:
                memory.add(trial.t * direction, trial.gradient - start.gradient)
                theta.copy_(origin).add_(direction, alpha=trial.t)
                self.present = trial
                return Step(trial.loss)
            theta.copy_(origin)
            if left < 1:
                return Step(start.loss, EVALUATION_LIMIT)
            if not len(memory):
                return Step(start.loss, LINE_SEARCH_FAILED)
            memory.clear()  # once more, along the steepest descent

    def _line(
        self,
        theta: Tensor,
        evaluate: Evaluate,
        origin: Tensor,
        direction: Tensor,
        start: Trial,
        slope: float,
        trials: int,
    ) -> tuple[Trial | None, int]:
        used = 0

        def at(t: float) -> Trial:
            nonlocal used
            used += 1
            theta.copy_(origin).add_(direction, alpha=t)
            loss, gradient = evaluate()
            return Trial(t, loss, float(direction @ gradient), gradient.clone())

        rounding = 10 * torch.finfo(theta.dtype).eps
        search = StrongWolfe(self.c1, self.c2, trials, rounding)
        assert self.memory is not None
        first = 1.0
        if not len(self.memory):  # no curvature known: a step short against the parameters
            length = float(torch.linalg.vector_norm(direction))
            first = min(1.0, 1e-3 * max(1.0, float(torch.linalg.vector_norm(origin))) / length)
        return search.search(at, Trial(0.0, start.loss, slope, start.gradient), first), used
