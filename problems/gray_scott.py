"""The Gray-Scott equations of two chemicals that react and form patterns."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, PeriodicReference, Problem


class GrayScott(Problem):
    """u_t = T (d (u_xx + u_yy) + b (1 - u) - c u v²), v_t = T (d / 2 (v_xx + v_yy) - e v + c u v²).

    Periodic on -1 <= x, y <= 1; t is time over T, and everything is dimensionless. The start is
    u = 1 - g(x + 0.05, y + 0.02) and v = g(x - 0.05, y - 0.02) with the bump
    g = exp(-10 (x² + y²)), and what the same bumps of the neighbouring periods add, 1.2e-4 at the
    sides, by which there is no jump. Source: Wang, Li, Chen and Perdikaris (2024), PirateNets, with
    d = 0.2, b = 40, c = 1000 and e = 100, there without those neighbours and up to T = 2. Here
    T = 0.02 unless it is set, in which u is used up where v is, and v spreads. The network sees a
    point of the torus, so that all is periodic exactly. The error of `solution` is below 2e-7.
    """

    domain = Box(x=(-1.0, 1.0), y=(-1.0, 1.0), t=(0.0, 1.0))
    fields = ("u", "v")
    T = Coefficient(0.02, above=0.0, maximum=0.2)
    d = Coefficient(0.2, minimum=0.1)
    b = Coefficient(40.0, minimum=0.0)
    c = Coefficient(1000.0, minimum=0.0)
    e = Coefficient(100.0, minimum=0.0)

    def residual(self, u, v):
        """Both rates less what diffusion and reaction say, over T."""
        made = self.c * u * v**2
        feed = self.d * (u.xx + u.yy) + self.b * (1 - u) - made
        kill = self.d / 2 * (v.xx + v.yy) - self.e * v + made
        return {"u": u.t - self.T * feed, "v": v.t - self.T * kill}

    def conditions(self):
        """A bump of v where u is used up."""
        yield Initial(u=lambda x, y: start(x, y)[0], v=lambda x, y: start(x, y)[1])

    def features(self, x, y, t):
        """A point of the torus, and the time."""
        a, b = math.pi * x, math.pi * y
        return torch.sin(a), torch.cos(a), torch.sin(b), torch.cos(b), t

    def hard_ansatz(self, m, n, x, y, t):
        """The start plus t times an output, for each."""
        u, v = start(x, y)
        return u + t * m, v + t * n

    def solution(self, x: Tensor, y: Tensor, t: Tensor) -> tuple[Tensor, ...]:
        """u and v by Fourier modes, each of shape (N,)."""
        settings = {name: float(value) for name, value in self.values().items()}
        return reference(**settings)(x, y, t).unbind(0)


def start(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """u and v at time 0, each of shape (N,)."""
    return 1 - bump(x + 0.05) * bump(y + 0.02), bump(x - 0.05) * bump(y - 0.02)


def bump(x: Tensor) -> Tensor:
    """exp(-10 x²), and what its two next neighbours add, shape (N,)."""
    parts = [torch.exp(-10 * (x + period) ** 2) for period in (-2.0, 0.0, 2.0)]
    return parts[0] + parts[1] + parts[2]


@lru_cache(maxsize=4)
def reference(
    T: float, d: float, b: float, c: float, e: float, points: int = 160, rate: int = 10_000
) -> PeriodicReference:
    """The numerical solution, with `rate` steps in a unit of the time that is not scaled.

    It takes two seconds for T = 0.02, and ten times as long for T = 0.2.
    """
    every = math.ceil(rate * T / 400)  # of memory for 400 of them
    steps = every * max(200, math.ceil(rate * T / every))

    def source(fields: Tensor, *_: Tensor) -> Tensor:
        u, v = fields
        made = c * u * v**2
        return T * torch.stack([b * (1 - u) - made, made - e * v])

    return PeriodicReference(
        start=lambda x, y: torch.stack(start(x, y)),
        linear=lambda k, m: T * torch.stack([-d * (k**2 + m**2), -d / 2 * (k**2 + m**2)]),
        source=source,
        interval=(-1.0, 1.0),
        until=1.0,
        points=points,
        steps=steps,
        every=every,
        dimensions=2,
    )
