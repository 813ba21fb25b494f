"""The oscillator of van der Pol: slow drifts between sudden jumps."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, ODEReference, Problem


class VanDerPol(Problem):
    """u'' = mu T (1 - u²) u' - T² u for 0 <= t <= 1, from rest at u = 2.

    t is time over T, and everything is dimensionless. The larger mu, the stiffer it is: u drifts
    for a time of about mu / 1.2 from 2 to 1, and jumps to -2 within about 1 / mu. Source: van der
    Pol (1926). The error of `solution` is below 1e-9.
    """

    domain = Box(t=(0.0, 1.0))
    mu = Coefficient(5.0, minimum=0.0, maximum=10.0)
    T = Coefficient(10.0, minimum=0.1, maximum=50.0)

    def residual(self, u):
        """u'' / T² - mu (1 - u²) u' / T + u."""
        return u.tt / self.T**2 - self.mu * (1 - u**2) * u.t / self.T + u

    def conditions(self):
        """At rest."""
        yield Initial(u=2.0, u_t=0.0)

    def ansatz(self, n, t):
        """2 + w² n, where w rises from 0 to 1 as fast as the motion begins."""
        return 2 + (1 - torch.exp(-self.T * t)) ** 2 * n

    def solution(self, t: Tensor) -> Tensor:
        """By a Runge-Kutta method, shape (N,)."""
        return reference(**{name: float(value) for name, value in self.values().items()})(t)[0]


@lru_cache(maxsize=8)
def reference(mu: float, T: float, finer: int = 1) -> ODEReference:
    """The numerical solution (u, u'), with `finer` times as many steps; see `ODEReference`."""
    return ODEReference(
        lambda _, y: (y[1], mu * T * (1 - y[0] ** 2) * y[1] - T**2 * y[0]),
        (2.0, 0.0),
        until=1.0,
        samples=finer * math.ceil(30 * T * max(mu, 1.0)),
    )
