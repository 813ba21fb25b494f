"""A reaction without diffusion: the logistic equation at every place."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, Problem


class Reaction(Problem):
    """u_t = rho u (1 - u) on 0 <= x <= 2 pi, from u(x, 0) = exp(-8 (x / pi - 1)²).

    Everything is dimensionless; rho is the rate. No derivative in x appears, and no condition at
    its ends is needed. Source: Krishnapriyan, Gholami, Zhe, Kirby and Mahoney (2021),
    Characterizing possible failure modes in physics-informed neural networks, with rho = 5. The
    solution is a closed form.
    """

    domain = Box(x=(0.0, 2 * math.pi), t=(0.0, 1.0))
    rho = Coefficient(5.0, above=0.0)

    def residual(self, u):
        """u_t - rho u (1 - u)."""
        return u.t - self.rho * u * (1 - u)

    def conditions(self):
        """A bell to start from."""
        yield Initial(u=bell)

    def hard_ansatz(self, n, x, t):
        """The bell plus t n."""
        return bell(x) + t * n

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """h / (h + (1 - h) exp(-rho t)) with the start h, shape (N,)."""
        start = bell(x)
        return start / (start + (1 - start) * torch.exp(-self.rho * t))


def bell(x: Tensor) -> Tensor:
    """exp(-8 (x / pi - 1)²): a width of pi / 4 about the middle, shape (N,)."""
    return torch.exp(-8 * (x / math.pi - 1) ** 2)
