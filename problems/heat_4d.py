"""The heat equation in four dimensions of space."""

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class Heat4D(Problem):
    """Heat equation u_t = k (u_aa + u_bb + u_cc + u_dd) on the unit cube of four dimensions.

    It starts from the sum of sin(2 a), sin(2 b), sin(2 c) and sin(2 d), and has the solution's
    values on all faces. Everything is dimensionless; k is the diffusivity, 1 / 4. The solution is a
    closed form. Source: Dangel, Müller and Zeinhofer (2024), Kronecker-Factored Approximate
    Curvature for Physics-Informed Neural Networks; also of Guzmán-Cordero, Dangel, Goldshlager and
    Zeinhofer (2025), who call it heat in 4 + 1 dimensions.
    """

    domain = Box(a=(0.0, 1.0), b=(0.0, 1.0), c=(0.0, 1.0), d=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.25, above=0.0)

    def residual(self, u):
        """u_t less k times the Laplacian."""
        return u.t - self.k * (u.aa + u.bb + u.cc + u.dd)

    def conditions(self):
        """The start, and the solution's values on all faces."""
        yield Initial(u=sines)
        yield Dirichlet(on=("a", "b", "c", "d"), u=self.solution)

    def solution(self, a: Tensor, b: Tensor, c: Tensor, d: Tensor, t: Tensor) -> Tensor:
        """exp(-4 k t) times the sum of the four sines, shape (N,)."""
        return torch.exp(-4 * self.k * t) * sines(a, b, c, d)


def sines(a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """sin(2 a) + sin(2 b) + sin(2 c) + sin(2 d), shape (N,)."""
    return torch.sin(2 * a) + torch.sin(2 * b) + torch.sin(2 * c) + torch.sin(2 * d)
