"""The Korteweg-de Vries equation, whose wave breaks up into solitons."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, PeriodicReference, Problem


class KdV(Problem):
    """u_t + u u_x + mu² u_xxx = 0, periodic on -1 <= x <= 1, with u(x, 0) = cos(pi x).

    Everything is dimensionless; mu² is the dispersion. Source: Zabusky and Kruskal (1965), with
    mu = 0.022, up to t = 1. The network sees x as sin(pi x) and cos(pi x), so that it is periodic
    exactly and no condition has to say so. The error of `solution` is below 4e-9.
    """

    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))
    mu = Coefficient(0.022, minimum=0.01)

    def residual(self, u):
        """u_t + u u_x + mu² u_xxx."""
        return u.t + u * u.x + self.mu**2 * u.xxx

    def conditions(self):
        """A cosine wave to start from."""
        yield Initial(u=lambda x: torch.cos(math.pi * x))

    def features(self, x, t):
        """A point of the circle, and the time."""
        return torch.sin(math.pi * x), torch.cos(math.pi * x), t

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """By Fourier modes, shape (N,)."""
        return reference(float(self.values()["mu"]))(x, t)


@lru_cache(maxsize=8)
def reference(mu: float, points: int = 512, steps: int = 8000) -> PeriodicReference:
    """The numerical solution, off by 4e-9 at most, by 5e-10 in the relative 2-norm."""
    return PeriodicReference(
        start=lambda x: torch.cos(math.pi * x),
        linear=lambda k: 1j * mu**2 * k**3,
        source=lambda u, *_: u**2,
        outer=lambda k: -0.5j * k,
        interval=(-1.0, 1.0),
        until=1.0,
        points=points,
        steps=steps,
    )
