"""Poisson's equation on a disc with three holes."""

from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Dirichlet, Disc, HarmonicReference, Problem, poles, powers

HOLES = ((-0.4, 0.3, 0.2), (0.35, 0.35, 0.25), (0.1, -0.45, 0.3))
"""Centre and radius of each."""


class PoissonHoles(Problem):
    """-(u_xx + u_yy) = 1 on the unit disc with three round holes, u = 0 outside, u = 1 on holes.

    Everything is dimensionless: the steady temperature of a heated plate, cold around and hot in
    its bores. The error of `solution` is below 1e-10: by the maximum principle, it is nowhere
    larger than on the boundary.
    """

    domain = (
        Disc(name="rim")
        - Disc(HOLES[0][:2], HOLES[0][2], name="bore")
        - Disc(HOLES[1][:2], HOLES[1][2], name="bore")
        - Disc(HOLES[2][:2], HOLES[2][2], name="bore")
    )

    def residual(self, u):
        """The Laplacian of u, plus 1."""
        return u.xx + u.yy + 1.0

    def conditions(self):
        """Cold around, hot in the bores."""
        yield Dirichlet(on="rim", u=0.0)
        yield Dirichlet(on="bore", u=1.0)

    def solution(self, x: Tensor, y: Tensor) -> Tensor:
        """By powers, and by poles in the holes, shape (N,)."""
        z = torch.complex(x, y)
        return reference()(z) - z.abs() ** 2 / 4


@lru_cache(maxsize=2)
def reference(count: int = 40) -> HarmonicReference:
    """The harmonic rest of the solution."""
    turn = torch.arange(6 * count, dtype=torch.float64) * (2 * torch.pi / (6 * count))
    circle = torch.polar(torch.ones_like(turn), turn)
    rings = [circle, *(complex(a, b) + r * circle for a, b, r in HOLES)]
    values = [0.0 * turn, *(1.0 + 0.0 * turn for _ in HOLES)]
    boundary = torch.cat(rings)
    functions = [powers(count), *(poles(count, complex(a, b), r) for a, b, r in HOLES)]
    return HarmonicReference(functions, boundary, torch.cat(values) + boundary.abs() ** 2 / 4)
