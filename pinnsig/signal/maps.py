"""The scalar map x -> f(a x): its iterates under given or random gains, and its fixed points."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from pinnsig.activations import Activation
from pinnsig.calibration import fixed_point
from pinnsig.calibration.quadrature import Array
from pinnsig.core.errors import SignalError


def iterate(activation: Activation, gains: Tensor, x_0: Tensor) -> Tensor:
    """The iterates x_{n+1} = f(a_{n+1} x_n).

    Args:
        activation: f.
        gains: a_1 to a_n, shape (n,), or (n, ...) with a tail that broadcasts against x_0.
        x_0: starting values, of any shape, float32 or float64.

    Returns:
        x_0 to x_n, shape (n + 1, *x_0.shape).

    Source: paper, theorem 1 (equal gains), proposition 4 and corollary 5 (varying gains).
    """
    x = [x_0]
    for a in gains.to(x_0):
        x.append(activation.derivatives(a * x[-1], 0)[0])
    return torch.stack(x)


def constant_gains(a: float, steps: int) -> Tensor:
    """The same gain at every step, shape (steps,)."""
    return torch.full((steps,), a, dtype=torch.float64)


def uniform_gains(
    delta: float, shape: tuple[int, ...], generator: torch.Generator, centre: float = 1.0
) -> Tensor:
    """Gains U[centre - delta, centre + delta], negative ones included.

    Raises:
        SignalError: delta is negative.
    """
    if not delta >= 0:
        raise SignalError(f"the half-width delta of the gains must be >= 0, not {delta}")
    return centre + delta * (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1)


def normal_gains(
    omega: float, sigma: float, shape: tuple[int, ...], generator: torch.Generator
) -> Tensor:
    """Gains N(omega, sigma^2), those of the scalar surrogate.

    Raises:
        SignalError: sigma is negative.
    """
    if not sigma >= 0:
        raise SignalError(f"the standard deviation sigma of gains must be >= 0, not {sigma}")
    return omega + sigma * torch.randn(shape, generator=generator, dtype=torch.float64)


def bifurcation(activation: Activation, gains: Iterable[float]) -> Array:
    """The fixed point xi_a >= 0 of x -> f(a x) for each gain: 0 up to omega, then rising.

    Each is accurate to 1e-14; -xi_a and 0 are the other fixed points.

    Source: paper, proposition 1.
    """
    return np.array([fixed_point(activation, float(a)) for a in gains])
