"""The heat equation on a rod whose ends are kept cold."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class Heat(Problem):
    """Heat equation u_t = k u_xx on 0 <= x <= 1, with u(x, 0) = sin(pi x), u(0, t) = u(1, t) = 0.

    Everything is dimensionless; k is the diffusivity. The solution is a closed form.
    """

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.1, above=0.0)

    def residual(self, u):
        """u_t - k u_xx."""
        return u.t - self.k * u.xx

    def conditions(self):
        """Half a sine wave to start from, held at zero on both sides."""
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)

    def hard_ansatz(self, n, x, t):
        """sin(pi x) + t x (1 - x) n."""
        return t * x * (1 - x) * n + torch.sin(math.pi * x)

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """exp(-k pi² t) sin(pi x), shape (N,)."""
        return torch.exp(-self.k * math.pi**2 * t) * torch.sin(math.pi * x)
