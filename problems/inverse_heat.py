"""The heat equation with an unknown diffusivity, found from measured temperatures."""

import math
from typing import Any

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, PointData, Problem


class InverseHeat(Problem):
    """Heat equation u_t = k u_xx on 0 <= x <= 1, where k is to be found.

    u(x, 0) = sin(pi x) and u(0, t) = u(1, t) = 0; u is measured without noise at 9 positions and
    10 times, and the measurements come from the diffusivity k_true. They tell k: u decays as
    exp(-k pi² t). Everything is dimensionless.
    """

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.1, above=0.0, learn=True, true="k_true")
    k_true = Coefficient(0.2, above=0.0)

    def residual(self, u):
        """u_t - k u_xx."""
        return u.t - self.k * u.xx

    def conditions(self):
        """The start, both ends, and the measurements."""
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)
        tenths = torch.arange(1, 11, dtype=torch.float64) / 10
        x, t = torch.cartesian_prod(tenths[:-1], tenths).unbind(1)
        yield PointData(x=x, t=t, u=heat(x, t, self.k_true))

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """exp(-k pi² t) sin(pi x), shape (N,)."""
        return heat(x, t, self.k)


def heat(x: Tensor, t: Tensor, k: Any) -> Tensor:
    """Return exp(-k pi² t) sin(pi x), shape (N,)."""
    return torch.exp(-k * math.pi**2 * t) * torch.sin(math.pi * x)
