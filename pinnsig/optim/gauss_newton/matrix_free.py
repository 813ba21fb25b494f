"""Levenberg-Marquardt without a matrix: conjugate gradients on products with J and J^T."""

import math
from collections.abc import Generator
from typing import Any, ClassVar

import torch
from torch import Tensor

from pinnsig.errors import SettingsError
from pinnsig.optim.base import (
    LIMIT,
    Gradient,
    Layout,
    Loss,
    Measured,
    Optimizer,
    Pullback,
    Request,
    Residuals,
    Step,
    Steps,
)
from pinnsig.optim.gauss_newton.damping import Damping
from pinnsig.optim.gauss_newton.levenberg_marquardt import FIRST_DAMPING, NO_STEP
from pinnsig.optim.gauss_newton.nystrom import Nystrom
from pinnsig.optim.quasi_newton import CONVERGED_CHANGE, CONVERGED_GRADIENT

Product = Generator[Request, Any, Tensor | None]


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

    name: ClassVar[str] = "gncg"
    precise: ClassVar[bool] = True

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
        return (
            f"{self.name}: no matrix for {layout.rows:,} residuals and {layout.parameters:,} "
            f"parameters, {8e-9 * cells:.2g} GB"
        )

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
        if not 2 * float(slope.abs().max()) > self.gradient_tolerance:
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
        rounding = torch.finfo(theta.dtype).eps
        while True:
            found = yield from self._solve(theta, slope)
            if found is None:
                return Step(loss, LIMIT, terms)
            d, predicted = found
            if not predicted > rounding * loss:
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

    def _product(self, theta: Tensor, v: Tensor) -> Product:
        """J^T J v at theta; None at a limit."""
        pushed = yield from _push(theta, v)
        if pushed is None:
            return None
        pulled: Tensor | None = yield Pullback(pushed)
        return None if pulled is None else pulled.clone()

    def _largest(self, theta: Tensor, slope: Tensor) -> Generator[Request, Any, float | None]:
        """About the largest eigenvalue of J^T J; None at a limit."""
        if self.preconditioner is not None:
            return float(self.preconditioner.values[0])
        v = slope / torch.linalg.vector_norm(slope)
        product = yield from self._product(theta, v)
        return None if product is None else float(v @ product)

    def _sketch(self, theta: Tensor) -> Generator[Request, Any, bool]:
        """Make the preconditioner; return whether no limit forbade it."""
        generator = torch.Generator().manual_seed(self.seed + self.steps)
        shape = len(theta), min(self.rank, len(theta))
        drawn = torch.randn(shape, generator=generator, dtype=theta.dtype).to(theta.device)
        test = torch.linalg.qr(drawn).Q
        columns = []
        for column in test.T:
            product = yield from self._product(theta, column.contiguous())
            if product is None:
                return False
            columns.append(product)
        self.preconditioner = Nystrom.from_sketch(test, torch.stack(columns, 1))
        return True

    def _solve(
        self, theta: Tensor, slope: Tensor
    ) -> Generator[Request, Any, tuple[Tensor, float] | None]:
        """A step and the decrease of the loss that it predicts; None at a limit."""
        damping, known = self.damping.value, self.preconditioner
        d, residual = torch.zeros_like(slope), -slope
        z = residual if known is None else known.solve(residual, damping)
        direction, rz = z.clone(), float(residual @ z)
        goal = self.tolerance * float(torch.linalg.vector_norm(slope))
        for _ in range(self.products):
            product = yield from self._product(theta, direction)
            if product is None:
                return None
            product.add_(direction, alpha=damping)
            curvature = float(direction @ product)
            if not curvature > 0:  # differences have rounded it away
                break
            length = rz / curvature
            d.add_(direction, alpha=length)
            residual = residual - length * product
            if float(torch.linalg.vector_norm(residual)) <= goal:
                break
            z = residual if known is None else known.solve(residual, damping)
            before, rz = rz, float(residual @ z)
            direction = z + (rz / before) * direction
        # |r|^2 - |r + J d|^2, with J^T J d from the linear residual
        return d, float(d @ residual - d @ slope + damping * (d @ d))

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


def _push(theta: Tensor, v: Tensor) -> Product:
    """J v by a central difference of the residuals; theta comes back as it was."""
    length = float(torch.linalg.vector_norm(v))
    if not length > 0:
        length = 1.0
    size = max(1.0, float(torch.linalg.vector_norm(theta)))
    h = torch.finfo(theta.dtype).eps ** (1 / 3) * size / length
    origin, ends = theta.clone(), []
    for side in (h, -h):
        theta.copy_(origin).add_(v, alpha=side)
        moved: Tensor | None = yield Residuals()
        if moved is None:
            theta.copy_(origin)
            return None
        ends.append(moved.clone())
    theta.copy_(origin)
    return (ends[0] - ends[1]) / (2 * h)
