"""The Helmholtz equation on a square, with more waves in one direction than in the other."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Problem


class Helmholtz(Problem):
    """u_xx + u_yy + k² u = q on -1 <= x, y <= 1, with q such that u = sin(m pi x) sin(n pi y).

    The solution's own values are held all around: zero for whole m and n. Source: Wang, Teng and
    Perdikaris (2021), Understanding and mitigating gradient flow pathologies in physics-informed
    neural networks, with k = 1, m = 1, n = 4. The solution is a closed form.
    """

    domain = Box(x=(-1.0, 1.0), y=(-1.0, 1.0))
    k = Coefficient(1.0, minimum=0.0)
    m = Coefficient(1.0, above=0.0)
    n = Coefficient(4.0, above=0.0)

    def residual(self, u, x, y):
        """u_xx + u_yy + k² u - q."""
        factor = self.k**2 - math.pi**2 * (self.m**2 + self.n**2)
        return u.xx + u.yy + self.k**2 * u - factor * self.solution(x, y)

    def conditions(self):
        """The solution's values all around."""
        yield Dirichlet(on=("x", "y"), u=self.solution)

    def hard_ansatz(self, n, x, y):
        """(1 - x²) (1 - y²) n, and what blends the values of all four sides."""
        right, top = math.sin(math.pi * self.m), math.sin(math.pi * self.n)
        across, up = torch.sin(math.pi * self.m * x), torch.sin(math.pi * self.n * y)
        sides = right * x * up + top * y * across - right * top * x * y
        return (1 - x**2) * (1 - y**2) * n + sides

    def solution(self, x: Tensor, y: Tensor) -> Tensor:
        """sin(m pi x) sin(n pi y), shape (N,)."""
        return torch.sin(self.m * math.pi * x) * torch.sin(self.n * math.pi * y)
