"""Damped Gauss-Newton steps from products with J^T J alone, which residuals and pullbacks give."""

from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor

from pinnsig.optim.base import Pullback, Request, Residuals
from pinnsig.optim.gauss_newton.nystrom import Nystrom

Product = Generator[Request, Any, Tensor | None]


def push(theta: Tensor, v: Tensor) -> Product:
    """J v by a central difference of the residuals, theta put back; None at a limit."""
    length = float(torch.linalg.vector_norm(v)) or 1.0
    size = max(1.0, float(torch.linalg.vector_norm(theta)))
    h = torch.finfo(theta.dtype).eps ** (1 / 3) * size / length
    origin, ends = theta.clone(), []
    for side in (h, -h):
        theta.copy_(origin).add_(v, alpha=side)
        moved: Tensor | None = yield Residuals()
        if moved is None:
            break
        ends.append(moved.clone())
    theta.copy_(origin)
    return None if len(ends) < 2 else (ends[0] - ends[1]) / (2 * h)


def product(theta: Tensor, v: Tensor) -> Product:
    """J^T J v, shape (P,); None at a limit."""
    pushed = yield from push(theta, v)
    if pushed is None:
        return None
    pulled: Tensor | None = yield Pullback(pushed)
    return None if pulled is None else pulled.clone()


def sketch(theta: Tensor, test: Tensor) -> Product:
    """J^T J times some vectors, shape (P, rank); None at a limit.

    Args:
        theta: shape (P,).
        test: the vectors, shape (P, rank).
    """
    columns = []
    for column in test.T:
        found = yield from product(theta, column.contiguous())
        if found is None:
            return None
        columns.append(found)
    return torch.stack(columns, 1)


def solve(
    theta: Tensor,
    slope: Tensor,
    damping: float,
    known: Nystrom | None,
    tolerance: float,
    most: int,
) -> Generator[Request, Any, tuple[Tensor, float] | None]:
    """Solve (J^T J + lambda) d = -J^T r by preconditioned conjugate gradients.

    Args:
        theta: shape (P,).
        slope: J^T r, shape (P,).
        damping: lambda.
        known: the preconditioner.
        tolerance: the residual's norm at which it ends, relative to the slope's.
        most: products at most.

    Returns:
        d, and |r|^2 - |r + J d|^2, the decrease of the loss that it predicts; None at a limit.
    """
    d, residual = torch.zeros_like(slope), -slope
    z = residual if known is None else known.solve(residual, damping)
    direction, rz = z.clone(), float(residual @ z)
    goal = tolerance * float(torch.linalg.vector_norm(slope))
    for _ in range(most):
        found = yield from product(theta, direction)
        if found is None:
            return None
        found.add_(direction, alpha=damping)
        curvature = float(direction @ found)
        if not curvature > 0:  # differences have rounded it away
            break
        length = rz / curvature
        d.add_(direction, alpha=length)
        residual = residual - length * found
        if float(torch.linalg.vector_norm(residual)) <= goal:
            break
        z = residual if known is None else known.solve(residual, damping)
        before, rz = rz, float(residual @ z)
        direction = z + (rz / before) * direction
    # J^T J d is known from the linear residual
    return d, float(d @ residual - d @ slope + damping * (d @ d))
