"""Levenberg-Marquardt without a matrix: conjugate gradients on products with J and J^T."""

import math
from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.core.memory import in_words, require
from pinnsig.optim.base import (
    LIMIT,
    Gradient,
    Layout,
    Loss,
    Measured,
    Optimizer,
    Request,
    Step,
    Steps,
)
from pinnsig.optim.gauss_newton.conjugate_gradients import product, sketch, solve
from pinnsig.optim.gauss_newton.damping import Damping
from pinnsig.optim.gauss_newton.levenberg_marquardt import FIRST_DAMPING, NO_STEP
from pinnsig.optim.gauss_newton.nystrom import Nystrom
from pinnsig.optim.quasi_newton import CONVERGED_CHANGE, CONVERGED_GRADIENT


class GaussNewtonCG(Optimizer):
    """Damped Gauss-Newton steps by preconditioned conjugate gradients; memory is a few vectors.

    J v is a central difference of residuals, so that it needs float64; J^T u is a pullback.

    Args:
        rank: of the Nystrom preconditioner; 0 does without.
        refresh: steps after which it is made anew.
        tolerance: the linear residual, relative to the gradient, at which a step is good enough.
        products: the most products with J^T J in one step.
        seed: of the preconditioner's random vectors.
        gradient_tolerance, change_tolerance: see `LM`.

    Raises:
        SettingsError: a setting out of its range.
    """

    name = "gncg"
    precise = True

    def __init__(
        self,
        rank: int = 60,
        refresh: int = 20,
        tolerance: float = 1e-2,
        products: int = 100,
        seed: int = 0,
        gradient_tolerance: float = 1e-14,
        change_tolerance: float = 0.0,
    ) -> None:
        if rank < 0 or refresh < 1 or products < 1:
            raise SettingsError(
                f"gncg: rank = {rank} must be >= 0, refresh = {refresh} and products = {products} "
                ">= 1"
            )
        if not 0 < tolerance < 1:
            raise SettingsError(f"gncg: tolerance = {tolerance} must lie between 0 and 1")
        if not (gradient_tolerance >= 0 and change_tolerance >= 0):
            raise SettingsError(
                f"gncg: tolerances {gradient_tolerance} and {change_tolerance} must not be below 0"
            )
        self.rank, self.refresh, self.seed = rank, refresh, seed
        self.tolerance, self.products = tolerance, products
        self.gradient_tolerance = gradient_tolerance
        self.change_tolerance = change_tolerance
        self.damping = Damping()
        self.preconditioner: Nystrom | None = None
        self.steps = 0
        self.change = math.inf

    def prepare(self, layout: Layout) -> str:
        """See `Optimizer.prepare`."""
        if layout.dtype != torch.float64:
            raise SettingsError(
                f"gncg differences residuals, which {str(layout.dtype).removeprefix('torch.')} "
                "rounds away: take --dtype float64, or a phase with dtype=float64"
            )
        cells = layout.parameters * (2 * min(self.rank, layout.parameters) + 10)
        what = f"{layout.rows:,} residuals and {layout.parameters:,} parameters"
        require(
            8 * cells,
            f"{self.name}: the vectors of {what} with rank = {self.rank}",
            "take a smaller rank, or lbfgs",
            layout.device,
        )
        return f"{self.name}: no matrix for {what}, {in_words(8 * cells)}"

    def step(self, theta: Tensor) -> Steps:
        """One iteration; the loss reported is the one at the new parameters."""
        measured: Measured | None = yield Gradient()
        if measured is None:
            return Step(math.nan, LIMIT)
        loss, terms = measured.loss, measured.terms
        if not math.isfinite(loss):
            return Step(loss, terms=terms)
        assert measured.gradient is not None
        slope = measured.gradient / 2
        steepest = 2 * float(slope.abs().max())
        if not math.isfinite(steepest):  # where the loss itself may be finite
            return Step(math.nan, terms=terms)
        if steepest <= self.gradient_tolerance:
            return Step(loss, CONVERGED_GRADIENT, terms)
        if self.change_tolerance and self.change <= self.change_tolerance:
            return Step(loss, CONVERGED_CHANGE, terms)
        if self.rank and self.steps % self.refresh == 0 and not (yield from self._sketch(theta)):
            return Step(loss, LIMIT, terms)
        if not self.damping.value:
            largest = yield from self._largest(theta, slope)
            if largest is None:
                return Step(loss, LIMIT, terms)
            self.damping.value = FIRST_DAMPING * largest
        origin = theta.clone()
        rounding, first = torch.finfo(theta.dtype).eps, self.damping.value
        while True:
            found = yield from solve(
                theta, slope, self.damping.value, self.preconditioner, self.tolerance, self.products
            )
            if found is None:
                return Step(loss, LIMIT, terms)
            d, predicted = found
            if not predicted > rounding * loss:
                self.damping = Damping(first)
                return Step(loss, NO_STEP, terms)
            theta.copy_(origin).add_(d)
            measured = yield Loss()
            if measured is not None and measured.loss < loss:
                self.damping.accept((loss - measured.loss) / predicted)
                self.change = (loss - measured.loss) / loss
                self.steps += 1
                return Step(measured.loss, terms=measured.terms)
            theta.copy_(origin)
            if measured is None:
                return Step(loss, LIMIT, terms)
            self.damping.reject()

    def _largest(self, theta: Tensor, slope: Tensor) -> Generator[Request, Any, float | None]:
        """About the largest eigenvalue of J^T J; None at a limit."""
        if self.preconditioner is not None:
            return float(self.preconditioner.values[0])
        v = slope / torch.linalg.vector_norm(slope)
        found = yield from product(theta, v)
        return None if found is None else float(v @ found)

    def _sketch(self, theta: Tensor) -> Generator[Request, Any, bool]:
        """Make the preconditioner; return whether no limit forbade it."""
        generator = torch.Generator().manual_seed(self.seed + self.steps)
        shape = len(theta), min(self.rank, len(theta))
        drawn = torch.randn(shape, generator=generator, dtype=theta.dtype).to(theta.device)
        test = torch.linalg.qr(drawn).Q
        found = yield from sketch(theta, test)
        if found is None:
            return False
        # residuals nearby may not be finite: then there is none
        self.preconditioner = Nystrom.from_sketch(test, found) if found.isfinite().all() else None
        return True

    def renew(self) -> None:
        """See `Optimizer.renew`."""
        self.change = math.inf

    def state(self) -> dict[str, Any]:
        """Damping and preconditioner."""
        known = self.preconditioner
        return {
            "damping": [self.damping.value, self.damping.growth],
            "basis": None if known is None else known.basis,
            "values": None if known is None else known.values,
            "steps": self.steps,
            "change": self.change if math.isfinite(self.change) else None,
        }

    def load(self, state: dict[str, Any], like: Tensor) -> None:
        """See `Optimizer.load`."""
        self.damping = Damping(*state["damping"])
        self.preconditioner = None
        if state["basis"] is not None:
            basis, values = (state[k].to(like, copy=True) for k in ("basis", "values"))
            self.preconditioner = Nystrom(basis, values)
        self.steps = state["steps"]
        self.change = math.inf if state["change"] is None else state["change"]
