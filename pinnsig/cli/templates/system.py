"""Several fields that depend on each other."""

import math

import torch

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class Template(Problem):
    """Acoustics in a closed tube: p_t + c u_x = 0 and u_t + c p_x = 0."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    fields = ("p", "u")  # pressure and velocity

    c = Coefficient(1.0, above=0.0)  # speed of sound

    # one residual for each equation, under the name that the loss's term gets
    def residual(self, p, u):
        """Conservation of mass and of momentum."""
        return {"mass": p.t + self.c * u.x, "momentum": u.t + self.c * p.x}

    def conditions(self):
        """A standing wave's pressure at rest; no flow through the ends."""
        yield Initial(p=lambda x: torch.cos(math.pi * x), u=0.0)
        yield Dirichlet(on="x", u=0.0)

    def solution(self, x, t):
        """p = cos(pi x) cos(pi c t), u = sin(pi x) sin(pi c t)."""
        phase = math.pi * self.c * t
        return {
            "p": torch.cos(math.pi * x) * torch.cos(phase),
            "u": torch.sin(math.pi * x) * torch.sin(phase),
        }
