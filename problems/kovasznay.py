"""Kovasznay's flow: the steady laminar flow behind a grid."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Problem


class Kovasznay(Problem):
    """Steady incompressible Navier-Stokes equations in the plane, for velocity (u, v), pressure p.

    u u_x + v u_y + p_x = (u_xx + u_yy) / Re, u v_x + v v_y + p_y = (v_xx + v_yy) / Re and
    u_x + v_y = 0, on -0.5 <= x <= 1, -0.5 <= y <= 1.5. The velocity is given all around, the
    pressure at the outflow. Everything is dimensionless; Re is the Reynolds number, 40 as in Jin,
    Cai, Li and Karniadakis (2021), NSFnets. The solution is the closed form of Kovasznay (1948).
    """

    domain = Box(x=(-0.5, 1.0), y=(-0.5, 1.5))
    fields = ("u", "v", "p")
    Re = Coefficient(40.0, above=0.0)

    def residual(self, u, v, p):
        """The balances of momentum along x and y, and of mass."""
        return {
            "momentum_x": u * u.x + v * u.y + p.x - (u.xx + u.yy) / self.Re,
            "momentum_y": u * v.x + v * v.y + p.y - (v.xx + v.yy) / self.Re,
            "mass": u.x + v.y,
        }

    def conditions(self):
        """The velocity all around, the pressure where the flow leaves."""
        u, v, p = (lambda x, y, i=i: self.solution(x, y)[i] for i in range(3))
        yield Dirichlet(on=("x", "y"), name="velocity", u=u, v=v)
        yield Dirichlet(on="x+", name="outflow", p=p)

    def solution(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """u, v and p, each of shape (N,).

        u = 1 - exp(s x) cos(2 pi y), v = s / (2 pi) exp(s x) sin(2 pi y),
        p = (1 - exp(2 s x)) / 2, with s = Re / 2 - sqrt(Re² / 4 + 4 pi²).
        """
        # the same s as a quotient, which loses no digits to cancellation where Re is large
        s = -4 * math.pi**2 / (self.Re / 2 + (self.Re**2 / 4 + 4 * math.pi**2) ** 0.5)
        decay, turn = torch.exp(s * x), 2 * math.pi * y
        u = 1 - decay * torch.cos(turn)
        v = s / (2 * math.pi) * decay * torch.sin(turn)
        return u, v, (1 - decay**2) / 2
