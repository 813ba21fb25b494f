"""The Allen-Cahn equation, in which two phases part."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, PeriodicReference, Problem


class AllenCahn(Problem):
    """u_t = d u_xx + c (u - u³), periodic on -1 <= x <= 1, with u(x, 0) = x² cos(pi x).

    Everything is dimensionless; d is the diffusivity and c the rate of the reaction. Source:
    Raissi, Perdikaris and Karniadakis (2019), Physics-informed neural networks, section 3.2.1,
    with d = 1e-4 and c = 5. The network sees x as sin(pi x) and cos(pi x), so that it is periodic
    exactly and no condition has to say so. The start has a kink at x = ±1, where its slope jumps
    by 4; from then on the solution is smooth. The error of `solution` is below 1e-8.
    """

    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))
    d = Coefficient(1e-4, minimum=5e-5, maximum=0.02)
    c = Coefficient(5.0, minimum=0.0, maximum=10.0)

    def residual(self, u):
        """u_t - d u_xx - c (u - u³)."""
        return u.t - self.d * u.xx - self.c * (u - u**3)

    def conditions(self):
        """The start."""
        yield Initial(u=lambda x: x**2 * torch.cos(math.pi * x))

    def features(self, x, t):
        """A point of the circle, and the time."""
        return torch.sin(math.pi * x), torch.cos(math.pi * x), t

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """By Fourier modes and the kink's own diffusion, shape (N,)."""
        values = self.values()
        d, c = float(values["d"]), float(values["c"])
        return kink(x, t, d, c) + reference(d, c)(x, t)


def kink(x: Tensor, t: Tensor, d: float, c: float) -> Tensor:
    """What becomes of the start's kink where the equation is linear, shape (N,).

    4 / pi cos(pi x / 2) has the same kink as the start. It spreads as heat does, by
    2 sqrt(4 d t) ierfc(y / sqrt(4 d t)) at a distance y from either end, and decays as
    exp(-2 c t), for the start is -1 there. Images of the ends have no weight for d <= 0.02.
    """
    root = torch.sqrt(4 * d * t + 1e-30)  # its derivative is finite at 0
    total = 4 / math.pi * torch.cos(math.pi * x / 2)
    for y in (1 - x, 1 + x):
        z = y / root
        total = total + 2 * root * (torch.exp(-(z**2)) / math.pi**0.5 - z * torch.special.erfc(z))
    return torch.exp(-2 * c * t) * total


@lru_cache(maxsize=8)
def reference(d: float, c: float, finer: int = 1) -> PeriodicReference:
    """The numerical solution, less the kink, on `finer` times as many points and steps.

    As the coefficients stand, it is off by 5e-9 at most on the evaluation grid, by 1e-8 in the
    layer at x = ±1 just after the start, and by 1e-9 in the relative 2-norm; for other
    coefficients by 1e-7 at most.
    """

    def source(rest: Tensor, x: Tensor, t: Tensor) -> Tensor:
        lifted = kink(x, t, d, c)
        u = lifted + rest
        forcing = 2 * c * lifted - math.pi * d * torch.exp(-2 * c * t) * torch.cos(math.pi * x / 2)
        return c * (u - u**3) + forcing

    sharpness = (c / d) ** 0.5  # the width of a front is its reciprocal
    return PeriodicReference(
        start=lambda x: x**2 * torch.cos(math.pi * x) - kink(x, torch.zeros_like(x), d, c),
        linear=lambda k: -d * k**2,
        source=source,
        interval=(-1.0, 1.0),
        until=1.0,
        points=finer * 2 ** math.ceil(math.log2(max(9 * sharpness, 1024))),
        steps=finer * math.ceil(max(200 * c, 1000)),
    )
