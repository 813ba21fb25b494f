"""A steady equation on a shape with a hole, with a normal derivative on part of the boundary."""

import torch

from pinnsig.problem import Box, Coefficient, Dirichlet, Disc, Neumann, Problem


class Template(Problem):
    """Laplace's equation, k (u_xx + u_yy) = 0, on a plate with a round hole."""

    # Box, Disc, Ellipse, Annulus, Polygon, Ball, Mesh ..., joined by |, cut by -, met by &.
    domain = Box(x=(-1.0, 1.0), y=(-1.0, 1.0)) - Disc(radius=0.5, name="hole")

    k = Coefficient(1.0, above=0.0)  # conductivity

    def residual(self, u):
        """k (u_xx + u_yy)."""
        return self.k * (u.xx + u.yy)

    # "x" and "y" are the sides of the box, "hole" is the disc's edge. The normal points outward.
    def conditions(self):
        """Values on the sides, a heat flux through the edge of the hole."""
        for side in ("x", "y"):
            yield Dirichlet(on=side, u=lambda x, y: x**2 - y**2)
        yield Neumann(on="hole", u=lambda x, y: -4.0 * (x**2 - y**2))

    def solution(self, x, y):
        """x² - y²."""
        return torch.square(x) - torch.square(y)
