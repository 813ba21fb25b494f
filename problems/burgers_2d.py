"""Burgers' equations in the plane: a coupled system with a slanted front."""

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class Burgers2D(Problem):
    """u_t + u u_x + v u_y = (u_xx + u_yy) / Re, and the same of v, on the unit square.

    The start and the values on all sides are the solution's: a front of width 8 / Re that moves
    along y = x + t / 4. Everything is dimensionless; Re is the Reynolds number. Source: the closed
    form of Fletcher (1983), Generating exact solutions of the two-dimensional Burgers' equations,
    with Re = 100 as it is mostly used.
    """

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 1.0))
    fields = ("u", "v")
    Re = Coefficient(100.0, above=0.0, maximum=1000.0)

    def residual(self, u, v):
        """The balances of momentum along x and y."""
        return {
            "momentum_x": u.t + u * u.x + v * u.y - (u.xx + u.yy) / self.Re,
            "momentum_y": v.t + u * v.x + v * v.y - (v.xx + v.yy) / self.Re,
        }

    def conditions(self):
        """The solution's start and its values on all sides."""
        u, v = (lambda x, y, t, i=i: self.solution(x, y, t)[i] for i in range(2))
        yield Initial(u=u, v=v)
        yield Dirichlet(on=("x", "y"), u=u, v=v)

    def solution(self, x: Tensor, y: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        """u and v, each of shape (N,).

        u = 3/4 - w and v = 3/4 + w, with w = 1 / (4 (1 + exp(Re (4 y - 4 x - t) / 32))).
        """
        w = torch.sigmoid(self.Re * (t + 4 * x - 4 * y) / 32) / 4
        return 0.75 - w, 0.75 + w
