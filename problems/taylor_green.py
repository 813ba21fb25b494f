"""Taylor and Green's decaying vortices, a flow of the plane that changes in time."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class TaylorGreen(Problem):
    """Incompressible Navier-Stokes equations for velocity (u, v) and pressure p, periodic in x, y.

    u_t + u u_x + v u_y + p_x = nu (u_xx + u_yy), v_t + u v_x + v v_y + p_y = nu (v_xx + v_yy) and
    u_x + v_y = 0 on 0 <= x, y <= 2 pi, 0 <= t <= 2, from four vortices at rest in their places.
    Everything is dimensionless; 1 / nu is the Reynolds number. Source: Taylor and Green (1937),
    Mechanism of the production of small eddies from large ones; the solution in the plane is the
    closed form of Taylor (1923). The network sees x and y as points of circles, so that everything
    is periodic exactly; the pressure's level is held at x = 0.
    """

    domain = Box(x=(0.0, 2 * math.pi), y=(0.0, 2 * math.pi), t=(0.0, 2.0))
    fields = ("u", "v", "p")
    nu = Coefficient(0.01, minimum=0.0)

    def residual(self, u, v, p):
        """The balances of momentum along x and y, and of mass."""
        return {
            "momentum_x": u.t + u * u.x + v * u.y + p.x - self.nu * (u.xx + u.yy),
            "momentum_y": v.t + u * v.x + v * v.y + p.y - self.nu * (v.xx + v.yy),
            "mass": u.x + v.y,
        }

    def conditions(self):
        """The velocity at the start, the pressure on one line."""
        u, v, p = (lambda x, y, t, i=i: self.solution(x, y, t)[i] for i in range(3))
        yield Initial(u=u, v=v)
        yield Dirichlet(on="x-", name="level", p=p)

    def features(self, x, y, t):
        """A point of each of two circles, and the time."""
        return torch.sin(x), torch.cos(x), torch.sin(y), torch.cos(y), t

    def solution(self, x: Tensor, y: Tensor, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """u, v and p, each of shape (N,).

        u = -cos(x) sin(y) d, v = sin(x) cos(y) d, p = -(cos(2 x) + cos(2 y)) d² / 4, with
        d = exp(-2 nu t).
        """
        decay = torch.exp(-2 * self.nu * t)
        u = -torch.cos(x) * torch.sin(y) * decay
        v = torch.sin(x) * torch.cos(y) * decay
        return u, v, -(torch.cos(2 * x) + torch.cos(2 * y)) * decay**2 / 4
