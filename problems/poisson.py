"""Poisson's equation on the unit square."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Dirichlet, Problem


class Poisson(Problem):
    """-(u_xx + u_yy) = 2 pi² sin(pi x) sin(pi y) on the unit square, with u = 0 all around.

    The solution is a closed form. Source: Müller and Zeinhofer (2023), Achieving High Accuracy
    with PINNs via Energy Natural Gradient Descent, section 4.
    """

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))

    def residual(self, u, x, y):
        """u_xx + u_yy + 2 pi² sin(pi x) sin(pi y)."""
        return u.xx + u.yy + 2 * math.pi**2 * torch.sin(math.pi * x) * torch.sin(math.pi * y)

    def conditions(self):
        """Zero all around."""
        yield Dirichlet(on=("x", "y"), u=0.0)

    def hard_ansatz(self, n, x, y):
        """x (1 - x) y (1 - y) n."""
        return x * (1 - x) * y * (1 - y) * n

    def solution(self, x: Tensor, y: Tensor) -> Tensor:
        """sin(pi x) sin(pi y), shape (N,)."""
        return torch.sin(math.pi * x) * torch.sin(math.pi * y)
