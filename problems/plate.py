"""A square plate that bends under a uniform load."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Problem

TERMS = 200
"""How many terms of the series are kept; the m-th is at most 4 / (pi m)⁵, m = 1, 3, 5, ..."""


class Plate(Problem):
    """Kirchhoff's plate w_xxxx + 2 w_xxyy + w_yyyy = q on the unit square, simply supported.

    On all edges w = 0 and there is no bending moment: w_xx = 0 where x is held, w_yy = 0 where y
    is. w is the deflection and q the load over the bending stiffness. The reference is Lévy's
    series, off by 1e-13 q at most. Source: Timoshenko and Woinowsky-Krieger (1959), Theory of
    Plates and Shells, section 30.
    """

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))
    fields = ("w",)
    q = Coefficient(100.0)

    def residual(self, w):
        """The biharmonic operator of w, less q."""
        return w.xxxx + 2 * w.xxyy + w.yyyy - self.q

    def conditions(self):
        """No deflection and no moment on all edges."""
        yield Dirichlet(on=("x", "y"), name="deflection", w=0.0)
        yield Dirichlet(on="x", name="moment_x", w_xx=0.0)
        yield Dirichlet(on="y", name="moment_y", w_yy=0.0)

    def solution(self, x: Tensor, y: Tensor) -> Tensor:
        """The deflection, shape (N,).

        A beam's, q x (1 - 2 x² + x³) / 24, less what keeps the edges y = 0 and y = 1 down: the
        sum over odd m of 4 q / (pi m)⁵ sin(m pi x) b((m pi) (y - 1 / 2), m pi / 2), where
        b(s, e) = ((2 + e tanh e) cosh s - s sinh s) / (2 cosh e).
        """
        k = math.pi * torch.arange(1, 2 * TERMS, 2, dtype=x.dtype)
        e, s = k / 2, k * (y[:, None] - 0.5)
        # cosh s / cosh e and sinh s / cosh e, of numbers that do not overflow
        up, down = torch.exp(s - e), torch.exp(-s - e)
        whole = 1 + torch.exp(-2 * e)
        held = ((2 + e * torch.tanh(e)) * (up + down) - s * (up - down)) / (2 * whole)
        beam = x * (1 - 2 * x**2 + x**3) / 24
        return self.q * (beam - 4 * (held * torch.sin(k * x[:, None]) / k**5).sum(1))
