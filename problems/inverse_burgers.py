"""Burgers' equation with two unknown coefficients, found from measurements all over the domain."""

import math

import torch
from pinnsig.problems.burgers import Burgers  # pyright: ignore[reportMissingImports]
from torch import Tensor

from pinnsig.problem import Box, Coefficient, PointData, Problem


class InverseBurgers(Problem):
    """u_t + lambda_1 u u_x - lambda_2 u_xx = 0 on -1 <= x <= 1, 0 <= t <= 1, lambdas to be found.

    All that is known of u is `points` measured values at random places; neither its start nor its
    ends are. They come from lambda_1 = 1 and lambda_2 = nu, and from a start of -sin(pi x) with
    u(±1, t) = 0; with noise of the standard deviation `noise`. Everything is dimensionless. Source:
    Raissi, Perdikaris and Karniadakis (2019), with 2000 points and nu = 0.01 / pi. The error of
    `solution` is that of burgers, below 1e-12.
    """

    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))
    lambda_1 = Coefficient(0.0, learn=True, true=1.0)
    lambda_2 = Coefficient(0.01, above=0.0, learn=True, true="nu")
    nu = Coefficient(0.01 / math.pi, above=0.0)
    points = Coefficient(2000, minimum=10)
    noise = Coefficient(0.0, minimum=0.0)

    def residual(self, u):
        """u_t + lambda_1 u u_x - lambda_2 u_xx."""
        return u.t + self.lambda_1 * u * u.x - self.lambda_2 * u.xx

    def conditions(self):
        """The measurements."""
        random, count = torch.Generator().manual_seed(0), int(self.points)
        place = torch.rand(2, count, generator=random, dtype=torch.float64)
        error = torch.randn(count, generator=random, dtype=torch.float64)
        x, t = 2 * place[0] - 1, place[1]
        yield PointData(x=x, t=t, u=self.solution(x, t) + self.noise * error)

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """The exact solution at the true coefficients, shape (N,)."""
        return Burgers(nu=self.nu).solution(x, t)
