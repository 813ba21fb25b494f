"""The wave equation on a string with fixed ends."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class Wave(Problem):
    """Wave equation u_tt = c² u_xx on 0 <= x <= 1, starting at rest from two of its modes.

    u(x, 0) = sin(pi x) + sin(4 pi x) / 2, u_t(x, 0) = 0, u(0, t) = u(1, t) = 0. Everything is
    dimensionless; c is the speed. Source: Wang, Yu and Perdikaris (2022), When and why PINNs fail
    to train: a neural tangent kernel perspective, with c = 2. The solution is a closed form.
    """

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    c = Coefficient(2.0, above=0.0)

    def residual(self, u):
        """u_tt - c² u_xx."""
        return u.tt - self.c**2 * u.xx

    def conditions(self):
        """Two modes at rest, held at zero on both sides."""
        yield Initial(u=lambda x: torch.sin(math.pi * x) + torch.sin(4 * math.pi * x) / 2, u_t=0.0)
        yield Dirichlet(on="x", u=0.0)

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """sin(pi x) cos(c pi t) + sin(4 pi x) cos(4 c pi t) / 2, shape (N,)."""
        first = torch.sin(math.pi * x) * torch.cos(self.c * math.pi * t)
        return first + torch.sin(4 * math.pi * x) * torch.cos(4 * self.c * math.pi * t) / 2
