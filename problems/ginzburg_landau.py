"""The complex Ginzburg-Landau equation in the plane, in which a spiral wave spreads."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, PeriodicReference, Problem


class GinzburgLandau(Problem):
    """A_t = T (d (A_xx + A_yy) + mu A - (g + i h) |A|² A) for A = u + i v, periodic on a square.

    -1 <= x, y <= 1; t is time over T, and everything is dimensionless. The start is a vortex,
    A = 10 (y + i x) exp(-25 (x² + y²)). Source: Wang, Li, Chen and Perdikaris (2024), PirateNets,
    with d = 0.004, mu = 10, g = 10 and h = 15, there up to T = 1. Here T = 0.2 unless it is set.
    The network sees a point of the torus, so that all is periodic exactly, and the start, which is
    narrow enough to be lost between points, is met by the ansatz. The error of `solution` is below
    2e-7.
    """

    domain = Box(x=(-1.0, 1.0), y=(-1.0, 1.0), t=(0.0, 1.0))
    fields = ("u", "v")
    T = Coefficient(0.2, above=0.0, maximum=1.0)
    d = Coefficient(0.004, minimum=0.002)
    mu = Coefficient(10.0)
    g = Coefficient(10.0, minimum=0.0)
    h = Coefficient(15.0)

    def residual(self, u, v):
        """The real and the imaginary part."""
        size = u**2 + v**2
        real = self.d * (u.xx + u.yy) + self.mu * u - size * (self.g * u - self.h * v)
        imaginary = self.d * (v.xx + v.yy) + self.mu * v - size * (self.g * v + self.h * u)
        return {"real": u.t - self.T * real, "imaginary": v.t - self.T * imaginary}

    def conditions(self):
        """A vortex to start from."""
        yield Initial(u=lambda x, y: vortex(x, y)[0], v=lambda x, y: vortex(x, y)[1])

    def features(self, x, y, t):
        """A point of the torus, and the time."""
        a, b = math.pi * x, math.pi * y
        return torch.sin(a), torch.cos(a), torch.sin(b), torch.cos(b), t

    def ansatz(self, m, n, x, y, t):
        """The start plus t times an output, for each."""
        u, v = vortex(x, y)
        return u + t * m, v + t * n

    def solution(self, x: Tensor, y: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        """u and v by Fourier modes, each of shape (N,)."""
        settings = {name: float(value) for name, value in self.values().items()}
        A = reference(**settings)(x, y, t)
        return A.real, A.imag


def vortex(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The real and the imaginary part of the start, each of shape (N,)."""
    bump = 10 * torch.exp(-25 * (x**2 + y**2))
    return y * bump, x * bump


@lru_cache(maxsize=4)
def reference(
    T: float, d: float, mu: float, g: float, h: float, points: int = 192, rate: int = 500
) -> PeriodicReference:
    """The numerical solution, with `rate` steps in a unit of the time that is not scaled."""
    return PeriodicReference(
        start=lambda x, y: torch.complex(*vortex(x, y)),
        linear=lambda k, m: T * (mu - d * (k**2 + m**2)),
        source=lambda A, *_: -T * complex(g, h) * (A.real**2 + A.imag**2) * A,
        interval=(-1.0, 1.0),
        until=1.0,
        points=points,
        steps=max(100, math.ceil(rate * T)),
        dimensions=2,
    )
