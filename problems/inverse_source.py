"""The heat equation, whose source is found from temperatures measured at two times."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Function, Initial, PointData, Problem


class InverseSource(Problem):
    """u_t = u_xx / pi² + f(x) on 0 <= x <= 1, 0 <= t <= 1, where the function f is to be found.

    u starts at 0 and is 0 at both ends. In truth f = sin(pi x) + second sin(2 pi x). u is measured
    at 19 positions at t = 1/2 and t = 1, with noise of the standard deviation `noise`. Everything
    is dimensionless.
    """

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    f = Function("f", of="x", true="source")
    second = Coefficient(0.5)
    noise = Coefficient(0.0, minimum=0.0)

    def residual(self, u, f):
        """u_t - u_xx / pi² - f."""
        return u.t - u.xx / math.pi**2 - f

    def conditions(self):
        """The start, both ends, and the measurements."""
        yield Initial(u=0.0)
        yield Dirichlet(on="x", u=0.0)
        place = torch.arange(1, 20, dtype=torch.float64) / 20
        x, t = torch.cartesian_prod(place, torch.tensor([0.5, 1.0], dtype=torch.float64)).unbind(1)
        error = torch.randn(38, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        yield PointData(x=x, t=t, u=self.solution(x, t) + self.noise * error)

    def source(self, x: Tensor) -> Tensor:
        """The true f, shape (N,)."""
        return torch.sin(math.pi * x) + self.second * torch.sin(2 * math.pi * x)

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """(1 - e^-t) sin(pi x) + second (1 - e^-4t) sin(2 pi x) / 4, shape (N,)."""
        second = self.second * (1 - torch.exp(-4 * t)) / 4
        first = 1 - torch.exp(-t)
        return first * torch.sin(math.pi * x) + second * torch.sin(2 * math.pi * x)
