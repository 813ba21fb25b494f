"""Geodesic acceleration: a step bent along the residuals' second derivative."""

from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor

from pinnsig.optim.base import Request, Residuals
from pinnsig.optim.gauss_newton.damped import DampedSolver
from pinnsig.optim.gauss_newton.linearization import Linearization

# of the second difference of r, relative to the step: rounding against truncation
DIFFERENCE = {torch.float64: 0.1}
DIFFERENCE_NARROW = 0.3


def accelerate(
    theta: Tensor, model: Linearization, solver: DampedSolver, d: Tensor, most: float
) -> Generator[Request, Any, Tensor | None]:
    """Add to a step half the acceleration of the geodesic that it starts.

    The acceleration is the step for the residuals' second derivative along d, which two evaluations
    give: Transtrum, Sethna, Improvements to the Levenberg-Marquardt algorithm, arXiv:1201.5885,
    equation 9.

    Args:
        theta: where the step starts, shape (P,); moved, and put back.
        model, solver: of the residuals there.
        d: the step, shape (P,).
        most: the largest acceleration, relative to the step, that is used.

    Returns:
        The bent step, or the step itself; None at a limit.
    """
    if not most:
        return d
    difference = DIFFERENCE.get(theta.dtype, DIFFERENCE_NARROW)
    origin, second = theta.clone(), -2 * model.residual
    for side in (difference, -difference):
        theta.copy_(origin).add_(d, alpha=side)
        moved: Tensor | None = yield Residuals()
        if moved is None:
            break
        second += moved
    theta.copy_(origin)
    if moved is None:
        return None
    half = second.mul_(0.5 / difference**2)
    bend = solver.solve(half, model.pullback(half))
    ratio = 2 * torch.linalg.vector_norm(bend) / torch.linalg.vector_norm(d)
    return d + bend if float(ratio) <= most else d
