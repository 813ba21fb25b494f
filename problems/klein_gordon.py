"""The nonlinear Klein-Gordon equation with a forcing."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class KleinGordon(Problem):
    """u_tt - u_xx + beta u + gamma u³ = f on 0 <= x <= 1, with f such that u is a closed form.

    u = x cos(5 pi t) + (x t)³; its start, with u_t = 0, and its values at both ends are given.
    Everything is dimensionless. Source: Wang, Teng and Perdikaris (2021), Understanding and
    mitigating gradient flow pathologies in physics-informed neural networks, section 4.2, with
    beta = 0 and gamma = 1.
    """

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    beta = Coefficient(0.0, minimum=0.0)
    gamma = Coefficient(1.0, minimum=0.0)

    def residual(self, u, x, t):
        """u_tt - u_xx + beta u + gamma u³ - f."""
        forced = 6 * x * t * (x**2 - t**2) - (5 * math.pi) ** 2 * x * torch.cos(5 * math.pi * t)
        exact = self.solution(x, t)
        restoring = self.beta * (u - exact) + self.gamma * (u**3 - exact**3)
        return u.tt - u.xx + restoring - forced

    def conditions(self):
        """The start, and the values at both ends."""
        yield Initial(u=lambda x: x, u_t=0.0)
        yield Dirichlet(on="x", u=self.solution)

    def hard_ansatz(self, n, x, t):
        """x times what the right end does, plus t² x (1 - x) n."""
        return x * (torch.cos(5 * math.pi * t) + t**3) + t**2 * x * (1 - x) * n

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """x cos(5 pi t) + (x t)³, shape (N,)."""
        return x * torch.cos(5 * math.pi * t) + (x * t) ** 3
