"""An inverse problem: a coefficient is learned from noisy measurements."""

import math

import numpy as np
import torch

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, PointData, Problem

NOISE = 1e-3  # standard deviation of a measurement


class Template(Problem):
    """Heat equation u_t = k u_xx whose conductivity is found from 40 measured temperatures."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))

    # It starts at 0.1 and stays positive; `true` is only for the error, leave it out if unknown.
    k = Coefficient(0.1, above=0.0, learn=True, true=0.2)

    def residual(self, u):
        """u_t - k u_xx."""
        return u.t - self.k * u.xx

    def conditions(self):
        """A sine to start from, zero at both ends, and what was measured."""
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)
        yield measurements()

    def solution(self, x, t):
        """exp(-k pi² t) sin(pi x) with the true k."""
        return torch.exp(-self.k * math.pi**2 * t) * torch.sin(math.pi * x)


# Yours would be: yield PointData("measured.csv") with a column for each coordinate and field.
def measurements() -> PointData:
    """Made-up measurements: the solution for k = 0.2, with noise of a fixed seed."""
    rng = np.random.default_rng(0)
    x, t = rng.uniform(0.1, 0.9, 40), rng.uniform(0.0, 1.0, 40)
    u = np.exp(-0.2 * math.pi**2 * t) * np.sin(math.pi * x)
    return PointData(x=x, t=t, u=u + NOISE * rng.standard_normal(40), noise=NOISE)
