"""Linear elasticity of a square plate in plane strain."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Neumann, Problem


class Elasticity(Problem):
    """Navier's equations for the displacement (ux, uy) of the unit square, in plane strain.

    (lam + 2 mu) ux_xx + mu ux_yy + (lam + mu) uy_xy + fx = 0 and
    (lam + 2 mu) uy_yy + mu uy_xx + (lam + mu) ux_xy + fy = 0, where lam and mu are Lamé's
    coefficients. The sides slide along y without normal stress, the lower edge is fixed, the
    upper edge is pulled along y. The body force (fx, fy) is manufactured: such that
    ux = cos(2 pi x) sin(pi y), uy = Q sin(pi x) y⁴ / 4. Source: Haghighat, Raissi, Moure, Gomez
    and Juanes (2021), A physics-informed deep learning framework for inversion and surrogate
    modeling in solid mechanics, section 4, with lam = 1, mu = 1/2, Q = 4.
    """

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))
    fields = ("ux", "uy")
    lam = Coefficient(1.0, minimum=0.0)
    mu = Coefficient(0.5, above=0.0)
    Q = Coefficient(4.0)

    def residual(self, ux, uy, x, y):
        """The balances of force along x and y."""
        lam, mu, Q, pi = self.lam, self.mu, self.Q, math.pi
        fx = pi**2 * (4 * lam + 9 * mu) * torch.cos(2 * pi * x) * torch.sin(pi * y)
        fx = fx - pi * (lam + mu) * Q * torch.cos(pi * x) * y**3
        fy = Q * torch.sin(pi * x) * (mu * pi**2 * y**4 / 4 - 3 * (lam + 2 * mu) * y**2)
        fy = fy + 2 * pi**2 * (lam + mu) * torch.sin(2 * pi * x) * torch.cos(pi * y)
        return {
            "force_x": (lam + 2 * mu) * ux.xx + mu * ux.yy + (lam + mu) * uy.xy + fx,
            "force_y": (lam + 2 * mu) * uy.yy + mu * uy.xx + (lam + mu) * ux.xy + fy,
        }

    def conditions(self):
        """Displacements and normal strains; no strain along an edge makes the stress of them."""
        yield Dirichlet(on="x", name="sides", uy=0.0)
        yield Neumann(on="x", name="sides_strain", ux=0.0)
        yield Dirichlet(on="y-", name="bottom", ux=0.0, uy=0.0)
        yield Dirichlet(on="y+", name="top", ux=0.0)
        yield Neumann(on="y+", name="top_strain", uy=lambda x: self.Q * torch.sin(math.pi * x))

    def solution(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """ux and uy, each of shape (N,)."""
        ux = torch.cos(2 * math.pi * x) * torch.sin(math.pi * y)
        return ux, self.Q * torch.sin(math.pi * x) * y**4 / 4
