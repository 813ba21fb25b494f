"""Ethier and Steinman's flow, an exact unsteady solution of Navier-Stokes in three dimensions."""

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, PointData, Problem


class Beltrami(Problem):
    """Incompressible Navier-Stokes equations in space, for velocity (u, v, w) and pressure p.

    u_t + u u_x + v u_y + w u_z + p_x = nu (u_xx + u_yy + u_zz), the same for v and w with p_y and
    p_z, and u_x + v_y + w_z = 0, on -1 <= x, y, z <= 1, 0 <= t <= 1. The vorticity is everywhere
    along the velocity, which is given at the start and on all faces; the pressure is given in the
    middle, at 41 times. Everything is dimensionless. Source: Ethier and Steinman (1994), Exact
    fully 3D Navier-Stokes solutions for benchmarking, with a = d = 1 and nu = 1 as in Jin, Cai, Li
    and Karniadakis (2021), NSFnets. The solution is their closed form.
    """

    domain = Box(x=(-1.0, 1.0), y=(-1.0, 1.0), z=(-1.0, 1.0), t=(0.0, 1.0))
    fields = ("u", "v", "w", "p")
    nu = Coefficient(1.0, minimum=0.0)
    a = Coefficient(1.0, above=0.0)
    d = Coefficient(1.0, above=0.0)

    def residual(self, u, v, w, p):
        """The balances of momentum along x, y and z, and of mass."""

        def material(f):
            """The rate of change of what moves with the flow, less its diffusion."""
            return f.t + u * f.x + v * f.y + w * f.z - self.nu * (f.xx + f.yy + f.zz)

        return {
            "momentum_x": material(u) + p.x,
            "momentum_y": material(v) + p.y,
            "momentum_z": material(w) + p.z,
            "mass": u.x + v.y + w.z,
        }

    def conditions(self):
        """The velocity at the start and on all faces, the pressure's level at one place."""
        u, v, w = (lambda x, y, z, t, i=i: self.solution(x, y, z, t)[i] for i in range(3))
        yield Initial(u=u, v=v, w=w)
        yield Dirichlet(on=("x", "y", "z"), name="velocity", u=u, v=v, w=w)
        middle, t = torch.zeros(41, dtype=torch.float64), torch.linspace(0, 1, 41).double()
        p = self.solution(middle, middle, middle, t)[3]
        yield PointData(name="level", x=middle, y=middle, z=middle, t=t, p=p)

    def solution(self, x: Tensor, y: Tensor, z: Tensor, t: Tensor) -> tuple[Tensor, ...]:
        """u, v, w and p, each of shape (N,).

        u = -a (exp(a x) sin(a y + d z) + exp(a z) cos(a x + d y)) exp(-nu d² t), v and w the same
        with x, y, z in turn; p = -(u² + v² + w²) / 2.
        """
        a, d = self.a, self.d
        decay = torch.exp(-self.nu * d**2 * t)

        def along(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
            turning = torch.exp(a * x) * torch.sin(a * y + d * z)
            return -a * decay * (turning + torch.exp(a * z) * torch.cos(a * x + d * y))

        u, v, w = along(x, y, z), along(y, z, x), along(z, x, y)
        return u, v, w, -(u**2 + v**2 + w**2) / 2
