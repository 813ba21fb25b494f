"""The heat equation on a square plate whose sides are kept cold."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class Heat2D(Problem):
    """Heat equation u_t = k (u_xx + u_yy) on the unit square, zero on its sides, from two modes.

    u(x, y, 0) = sin(pi x) sin(pi y) + sin(2 pi x) sin(3 pi y) / 2. Everything is dimensionless; k
    is the diffusivity. The solution is a closed form (Fourier 1822).
    """

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.05, above=0.0)

    def residual(self, u):
        """u_t - k (u_xx + u_yy)."""
        return u.t - self.k * (u.xx + u.yy)

    def conditions(self):
        """Two modes to start from, held at zero on all sides."""
        yield Initial(u=lambda x, y: mode(x, y, 1, 1) + mode(x, y, 2, 3) / 2)
        yield Dirichlet(on=("x", "y"), u=0.0)

    def hard_ansatz(self, n, x, y, t):
        """The start plus t x (1 - x) y (1 - y) n."""
        bubble = x * (1 - x) * y * (1 - y)
        return mode(x, y, 1, 1) + mode(x, y, 2, 3) / 2 + t * bubble * n

    def solution(self, x: Tensor, y: Tensor, t: Tensor) -> Tensor:
        """The sum of both modes, which decay as exp(-k pi² (m² + n²) t), shape (N,)."""
        first, second = (torch.exp(-self.k * math.pi**2 * m * t) for m in (2, 13))
        return first * mode(x, y, 1, 1) + second * mode(x, y, 2, 3) / 2


def mode(x: Tensor, y: Tensor, m: int, n: int) -> Tensor:
    """sin(m pi x) sin(n pi y), shape (N,)."""
    return torch.sin(m * math.pi * x) * torch.sin(n * math.pi * y)
