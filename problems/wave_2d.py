"""The wave equation on a square drum."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class Wave2D(Problem):
    """Wave equation u_tt = c² (u_xx + u_yy) on the unit square, at rest at first, from two modes.

    u(x, y, 0) = sin(pi x) sin(pi y) + sin(2 pi x) sin(pi y) / 2, u_t(x, y, 0) = 0, u = 0 on all
    sides. Everything is dimensionless; c is the speed. The solution is a closed form (Rayleigh
    1877, The Theory of Sound, chapter 9).
    """

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 1.0))
    c = Coefficient(1.0, above=0.0)

    def residual(self, u):
        """u_tt - c² (u_xx + u_yy)."""
        return u.tt - self.c**2 * (u.xx + u.yy)

    def conditions(self):
        """Two modes at rest, held at zero on all sides."""
        yield Initial(u=start, u_t=0.0)
        yield Dirichlet(on=("x", "y"), u=0.0)

    def hard_ansatz(self, n, x, y, t):
        """The start plus t² x (1 - x) y (1 - y) n."""
        return start(x, y) + t**2 * x * (1 - x) * y * (1 - y) * n

    def solution(self, x: Tensor, y: Tensor, t: Tensor) -> Tensor:
        """The sum of both modes, which turn at c pi sqrt(2) and c pi sqrt(5), shape (N,)."""
        first, second = (torch.cos(math.sqrt(m) * math.pi * self.c * t) for m in (2, 5))
        sine = torch.sin(math.pi * y)
        return sine * (first * torch.sin(math.pi * x) + second * torch.sin(2 * math.pi * x) / 2)


def start(x: Tensor, y: Tensor) -> Tensor:
    """Both modes at time 0, shape (N,)."""
    return torch.sin(math.pi * y) * (torch.sin(math.pi * x) + torch.sin(2 * math.pi * x) / 2)
