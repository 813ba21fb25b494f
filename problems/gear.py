"""Diffusion and reaction in a gear-like polygon, with a flux through its teeth."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Coefficient, Dirichlet, Disc, Neumann, Polygon, Problem

TEETH = 12


def outline() -> list[tuple[float, float]]:
    """Return the corners of a wheel with teeth between the radii 0.8 and 1."""
    step = 2 * math.pi / TEETH
    places = [(0.0, 0.8), (0.15, 1.0), (0.5, 1.0), (0.65, 0.8)]
    turned = [((tooth + share) * step, r) for tooth in range(TEETH) for share, r in places]
    return [(r * math.cos(angle), r * math.sin(angle)) for angle, r in turned]


class Gear(Problem):
    """-(u_xx + u_yy) + k² u = f in a wheel of 12 teeth with a round bore, k = 2.

    The flux through the teeth, du/dn, and the value in the bore are given. The source f is
    manufactured: such that u = cos(2 x) cosh(y), whatever k is. Everything is dimensionless.
    """

    domain = Polygon(outline(), name="teeth") - Disc(radius=0.3, name="bore")
    k = Coefficient(2.0)

    def residual(self, u, x, y):
        """-(u_xx + u_yy) + k² u - f."""
        f = (3 + self.k**2) * torch.cos(2 * x) * torch.cosh(y)
        return self.k**2 * u - u.xx - u.yy - f

    def conditions(self):
        """The flux through the teeth, the value in the bore."""
        yield Neumann(on="teeth", u=self.flux)
        yield Dirichlet(on="bore", u=self.solution)

    def flux(self, x: Tensor, y: Tensor, normal_x: Tensor, normal_y: Tensor) -> Tensor:
        """du/dn of the solution, shape (N,)."""
        along_x = -2 * torch.sin(2 * x) * torch.cosh(y)
        return normal_x * along_x + normal_y * torch.cos(2 * x) * torch.sinh(y)

    def solution(self, x: Tensor, y: Tensor) -> Tensor:
        """cos(2 x) cosh(y), shape (N,)."""
        return torch.cos(2 * x) * torch.cosh(y)
