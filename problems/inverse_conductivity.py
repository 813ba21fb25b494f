"""Steady conduction of heat, whose conductivity is found from measured temperatures."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Function, PointData, Problem


class InverseConductivity(Problem):
    """-(k u')' = f on 0 <= x <= 1 with u(0) = u(1) = 0, where the function k(x) is to be found.

    In truth k = 1 + contrast sin(2 pi x), and f is what u = sin(pi x) asks for. u is measured at 49
    positions, with noise of the standard deviation `noise`. No value of k has to be known: at the
    middle, where u' = 0, the equation gives k alone. Everything is dimensionless.
    """

    domain = Box(x=(0.0, 1.0))
    k = Function("k", of="x", above=0.0, true="conductivity")
    contrast = Coefficient(0.5, minimum=0.0, maximum=0.9)
    noise = Coefficient(0.0, minimum=0.0)

    def residual(self, u, k, x):
        """(k u')' + f, in units of pi²."""
        s, c = torch.sin(math.pi * x), torch.cos(math.pi * x)
        f = self.conductivity(x) * s - 2 * self.contrast * torch.cos(2 * math.pi * x) * c
        return (k * u.xx + k.x * u.x) / math.pi**2 + f

    def conditions(self):
        """Both ends, and the measurements."""
        yield Dirichlet(on="x", u=0.0)
        x = torch.arange(1, 50, dtype=torch.float64) / 50
        error = torch.randn(49, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        yield PointData(x=x, u=self.solution(x) + self.noise * error)

    def conductivity(self, x: Tensor) -> Tensor:
        """The true k, shape (N,)."""
        return 1 + self.contrast * torch.sin(2 * math.pi * x)

    def solution(self, x: Tensor) -> Tensor:
        """sin(pi x), shape (N,)."""
        return torch.sin(math.pi * x)
