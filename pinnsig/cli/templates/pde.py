"""An equation in space and time, with a start, two ends and a coefficient."""

import math

import torch

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class Template(Problem):
    """Heat equation u_t = k u_xx on a rod whose ends are kept cold."""

    # Where the equation holds. Names are yours; the coordinate that Initial means is called t.
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))

    # Settable by `--set k=0.2`. Learned with `learn=True`, from data that conditions() yields.
    k = Coefficient(0.1, above=0.0)

    # What has to be zero inside. u.t, u.xx, u.xt: partials, up to order four.
    def residual(self, u):
        """u_t - k u_xx."""
        return u.t - self.k * u.xx

    # What holds at the start and on the boundary. "x" means both ends, "x-" or "x+" one of them.
    # Others: Neumann, Robin, Periodic, Integral, PointData, and On("x+", any residual).
    def conditions(self):
        """A sine to start from, and zero at both ends."""
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)

    # Optional: a known solution. With it the error is measured, without it it is estimated.
    def solution(self, x, t):
        """exp(-k pi² t) sin(pi x)."""
        return torch.exp(-self.k * math.pi**2 * t) * torch.sin(math.pi * x)
