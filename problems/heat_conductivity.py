"""Heat conduction in a rod whose conductivity changes along it."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class HeatConductivity(Problem):
    """u_t = (k(x) u_x)_x + q on 0 <= x <= 1, with k(x) = k0 (1 + a x) and u = 0 at both ends.

    The source q(x, t) is manufactured: such that u = exp(-t) sin(pi x), whatever k0 and a are.
    Everything is dimensionless; the conductivity has to be positive, so that a > -1.
    """

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k0 = Coefficient(0.1, above=0.0)
    a = Coefficient(1.0, above=-1.0)

    def residual(self, u, x, t):
        """u_t - (k u_x)_x - q."""
        k, k_x, pi = self.k0 * (1 + self.a * x), self.k0 * self.a, math.pi
        sine, cosine = torch.sin(pi * x), torch.cos(pi * x)
        q = torch.exp(-t) * ((k * pi**2 - 1) * sine - k_x * pi * cosine)
        return u.t - k * u.xx - k_x * u.x - q

    def conditions(self):
        """Half a sine wave to start from, held at zero on both sides."""
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)

    def hard_ansatz(self, n, x, t):
        """sin(pi x) + t x (1 - x) n."""
        return t * x * (1 - x) * n + torch.sin(math.pi * x)

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """exp(-t) sin(pi x), shape (N,)."""
        return torch.exp(-t) * torch.sin(math.pi * x)
