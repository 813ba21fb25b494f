"""Poisson's equation on an L-shaped domain, whose inner corner makes the solution singular."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import (
    Dirichlet,
    HarmonicReference,
    Polygon,
    Problem,
    corner,
    corner_logarithm,
    edges,
    powers,
)

VERTICES = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (0.0, -1.0))
OPENING = 1.5 * math.pi  # of the inner corner, at the origin


class PoissonL(Problem):
    """-(u_xx + u_yy) = 1 on the square [-1, 1]² without its quarter x > 0 > y, u = 0 around it.

    At the inner corner, r = 0, u behaves as r^(2/3) sin(2 theta / 3), so that its slope has no
    bound. The network sees the real and the imaginary part of z^(2/3) beside x and y, of which the
    solution is a smooth function. Everything is dimensionless. The error of `solution` is below
    1e-10: by the maximum principle, it is nowhere larger than on the boundary.
    """

    domain = Polygon(VERTICES)

    def residual(self, u):
        """The Laplacian of u, plus 1."""
        return u.xx + u.yy + 1.0

    def conditions(self):
        """Zero all around."""
        yield Dirichlet(on="boundary", u=0.0)

    def features(self, x, y):
        """The point, and z^(2/3) with its cut in the quarter that is left out."""
        radius = (x**2 + y**2 + 1e-12) ** (1 / 3)
        angle = 2 / 3 * torch.atan2(x + y, y - x)
        return x, y, radius * torch.cos(angle), radius * torch.sin(angle)

    def solution(self, x: Tensor, y: Tensor) -> Tensor:
        """By powers of z^(2/3), shape (N,)."""
        z = torch.complex(x, y)
        return reference()(z) + particular(z)


def particular(z: Tensor) -> Tensor:
    """-|z|²/4 with the logarithms that it brings about in the corners, shape (N,)."""
    total = -(z.abs() ** 2) / 4
    for vertex, first, opening in _corners():
        total = total - corner_logarithm(z, vertex, first, opening) / (2 * opening)
    return total


@lru_cache(maxsize=2)
def reference(count: int = 45) -> HarmonicReference:
    """The harmonic rest of the solution."""
    boundary = edges([complex(*vertex) for vertex in VERTICES], 200)
    functions = [corner(count, 0j, 0.0, OPENING), powers(20)]
    return HarmonicReference(functions, boundary, -particular(boundary))


def _corners() -> list[tuple[complex, float, float]]:
    """Vertex, direction of its first edge, and angle inside, of every corner."""
    directions = (0.0, 0.5, 1.0, -0.5, 0.0, 0.5)
    return [
        (complex(*vertex), first * math.pi, OPENING if vertex == (0.0, 0.0) else math.pi / 2)
        for vertex, first in zip(VERTICES, directions, strict=True)
    ]
