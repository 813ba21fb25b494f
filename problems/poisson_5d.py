"""Poisson's equation on the unit cube of five dimensions."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Dirichlet, Problem


class Poisson5D(Problem):
    """-(u_aa + u_bb + u_cc + u_dd + u_ee) = pi² u* on the unit cube, u = u* on its ten faces.

    The solution is a sum, u* = cos(pi a) + cos(pi b) + ... + cos(pi e), in closed form. Source:
    Müller and Zeinhofer (2023), Achieving High Accuracy with PINNs via Energy Natural Gradient
    Descent, section 4.
    """

    domain = Box(a=(0.0, 1.0), b=(0.0, 1.0), c=(0.0, 1.0), d=(0.0, 1.0), e=(0.0, 1.0))

    def residual(self, u, a, b, c, d, e):
        """The Laplacian of u, plus pi² u*."""
        return u.aa + u.bb + u.cc + u.dd + u.ee + math.pi**2 * self.solution(a, b, c, d, e)

    def conditions(self):
        """The solution's values on all faces."""
        yield Dirichlet(on=self.domain.names, u=self.solution)

    def solution(self, a: Tensor, b: Tensor, c: Tensor, d: Tensor, e: Tensor) -> Tensor:
        """The sum of the five cosines, shape (N,)."""
        cosines = [torch.cos(math.pi * x) for x in (a, b, c, d, e)]
        return sum(cosines[1:], cosines[0])
