"""The Cahn-Hilliard equation, in which a mixture parts and keeps its mass."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, PeriodicReference, Problem


class CahnHilliard(Problem):
    """u_t = (c (u³ - u) - d u_xx)_xx, periodic on -1 <= x <= 1, with u(x, 0) = -cos(2 pi x).

    Everything is dimensionless; c is the mobility times the depth of the well and sqrt(d / c) the
    width of a front. Source: Cahn and Hilliard (1958); start and c = 0.01 as in Mattey and Ghosh
    (2022), A novel sequential method to train physics informed neural networks for Allen Cahn and
    Cahn Hilliard equations, whose fronts are narrower by far: d = 1e-6, here 2e-5 unless it is set.
    The network sees x as sin(2 pi x) and cos(2 pi x): the start has the period 1, and so has the
    solution. The error of `solution` is below 1e-8.
    """

    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))
    c = Coefficient(0.01, minimum=0.0, maximum=0.1)
    d = Coefficient(2e-5, minimum=1e-6, maximum=1e-3)

    def residual(self, u):
        """u_t - (c (u³ - u) - d u_xx)_xx."""
        well = (3 * u**2 - 1) * u.xx + 6 * u * u.x**2
        return u.t - self.c * well + self.d * u.xxxx

    def conditions(self):
        """A cosine wave to start from."""
        yield Initial(u=lambda x: -torch.cos(2 * math.pi * x))

    def features(self, x, t):
        """A point of the circle, and the time."""
        return torch.sin(2 * math.pi * x), torch.cos(2 * math.pi * x), t

    def hard_ansatz(self, n, x, t):
        """The start plus t n."""
        return t * n - torch.cos(2 * math.pi * x)

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """By Fourier modes, shape (N,)."""
        values = self.values()
        return reference(float(values["c"]), float(values["d"]))(x, t)


@lru_cache(maxsize=8)
def reference(c: float, d: float, points: int = 512, steps: int = 4000) -> PeriodicReference:
    """The numerical solution, over one of its periods."""
    return PeriodicReference(
        start=lambda x: -torch.cos(2 * math.pi * x),
        linear=lambda k: c * k**2 - d * k**4,
        source=lambda u, *_: u**3,
        outer=lambda k: -c * k**2 + 0j,
        interval=(0.0, 1.0),
        until=1.0,
        points=points,
        steps=steps,
    )
