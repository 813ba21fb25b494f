"""The exponential Runge-Kutta method of order 4, for stiff equations of many modes."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

NODES = 64
"""Of the means over a circle by which the method's coefficients are worked out."""


def march(
    start: Tensor,
    L: Tensor,
    rate: Callable[[Tensor, float], Tensor],
    h: float,
    steps: int,
    every: int = 1,
) -> Tensor:
    """Return modes at equal steps of time of c' = L c + rate(c, t), from time 0 on.

    Source: Cox and Matthews (2002), with the coefficients of Kassam and Trefethen (2005).

    Args:
        start: modes at time 0, of any shape (...).
        L: the linear part's diagonal, of the same shape, or one that broadcasts to it.
        rate: the rest, a function of modes and time.
        h: the step.
        steps: how many, a multiple of `every`.
        every: how many steps lie between two that are kept.

    Returns:
        The modes, shape (steps / every + 1, ...).
    """
    # the coefficients are entire functions of h L, and means over a circle about it
    turns = (torch.arange(1, NODES + 1, dtype=torch.float64) - 0.5) / NODES
    z = (h * L)[..., None] + torch.exp(2j * math.pi * turns)
    e = torch.exp(z)
    half, whole = torch.exp(h * L / 2), torch.exp(h * L)
    q = h * ((torch.exp(z / 2) - 1) / z).mean(-1)
    a = h * ((-4 - z + e * (4 - 3 * z + z**2)) / z**3).mean(-1)
    b = h * ((4 + 2 * z + e * (2 * z - 4)) / z**3).mean(-1)  # twice the method's own
    c = h * ((-4 - 3 * z - z**2 + e * (4 - z)) / z**3).mean(-1)
    u, found = start, [start]
    for n in range(steps):
        t = n * h
        first = rate(u, t)
        moved = half * u
        middle = moved + q * first
        second = rate(middle, t + h / 2)
        third = rate(moved + q * second, t + h / 2)
        fourth = rate(half * middle + q * (2 * third - first), t + h)
        u = whole * u + a * first + b * (second + third) + c * fourth
        if (n + 1) % every == 0:
            found.append(u)
    return torch.stack(found)
