"""A reaction with diffusion around a circle: the equation of Fisher and Kolmogorov."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, PeriodicReference, Problem


class ReactionDiffusion(Problem):
    """u_t = nu u_xx + rho u (1 - u), periodic on 0 <= x <= 2 pi, from a bell about x = pi.

    The bell is exp(-8 (x / pi - 1)²), and what the same bells of the neighbouring periods add,
    3.4e-4 at the ends, by which it has no kink there. Everything is dimensionless; nu is the
    diffusivity and rho the rate. Source: Krishnapriyan, Gholami, Zhe, Kirby and Mahoney (2021),
    Characterizing possible failure modes in physics-informed neural networks, with nu = 5 and
    rho = 5, but without those neighbours. The network sees x as sin(x) and cos(x), so that it is
    periodic exactly. The error of `solution` is below 1e-11.
    """

    domain = Box(x=(0.0, 2 * math.pi), t=(0.0, 1.0))
    nu = Coefficient(5.0, minimum=0.01, maximum=10.0)
    rho = Coefficient(5.0, minimum=0.0, maximum=10.0)

    def residual(self, u):
        """u_t - nu u_xx - rho u (1 - u)."""
        return u.t - self.nu * u.xx - self.rho * u * (1 - u)

    def conditions(self):
        """The bell to start from."""
        yield Initial(u=bells)

    def features(self, x, t):
        """A point of the circle, and the time."""
        return torch.sin(x), torch.cos(x), t

    def hard_ansatz(self, n, x, t):
        """The bell plus t n."""
        return bells(x) + t * n

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """By Fourier modes, shape (N,)."""
        values = self.values()
        return reference(float(values["nu"]), float(values["rho"]))(x, t)


def bells(x: Tensor) -> Tensor:
    """The bell and its two next neighbours, shape (N,)."""
    parts = [torch.exp(-8 * (x / math.pi - middle) ** 2) for middle in (-1.0, 1.0, 3.0)]
    return parts[0] + parts[1] + parts[2]


@lru_cache(maxsize=8)
def reference(nu: float, rho: float, points: int = 128, steps: int = 2000) -> PeriodicReference:
    """The numerical solution, off by 1e-11 at most as the coefficients stand."""
    return PeriodicReference(
        start=bells,
        linear=lambda k: rho - nu * k**2,
        source=lambda u, *_: -rho * u**2,
        interval=(0.0, 2 * math.pi),
        until=1.0,
        points=points,
        steps=steps,
    )
