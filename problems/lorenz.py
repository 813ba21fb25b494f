"""The equations of Lorenz: convection in three numbers."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, ODEReference, Problem


class Lorenz(Problem):
    """x' = T sigma (y - x), y' = T (x (rho - z) - y), z' = T (x y - beta z), for 0 <= t <= 1.

    t is time over T. Everything is dimensionless. Source: Lorenz (1963); the start (-8, 7, 27),
    T = 3, sigma = 10, rho = 15 and beta = 8/3 are those of the examples of Lu, Meng, Mao and
    Karniadakis (2021), DeepXDE. For rho = 28 the motion is chaotic: errors grow as exp(0.9 T t).
    The error of `solution` is below 1e-9.
    """

    domain = Box(t=(0.0, 1.0))
    fields = ("x", "y", "z")
    T = Coefficient(3.0, minimum=0.1, maximum=10.0)
    sigma = Coefficient(10.0)
    rho = Coefficient(15.0)
    beta = Coefficient(8 / 3)

    def residual(self, x, y, z):
        """The rates of change less what they should be."""
        return {
            "x": x.t - self.T * self.sigma * (y - x),
            "y": y.t - self.T * (x * (self.rho - z) - y),
            "z": z.t - self.T * (x * y - self.beta * z),
        }

    def conditions(self):
        """Where the motion starts."""
        yield Initial(x=-8.0, y=7.0, z=27.0)

    def ansatz(self, first, second, third, t):
        """The start plus outputs in units of 10, let in as fast as the motion begins."""
        share = 10 * (1 - torch.exp(-10 * self.T * t))
        return -8 + share * first, 7 + share * second, 27 + share * third

    def solution(self, t: Tensor) -> tuple[Tensor, ...]:
        """x, y and z by a Runge-Kutta method, each of shape (N,)."""
        return reference(**{name: float(value) for name, value in self.values().items()})(t)


@lru_cache(maxsize=8)
def reference(T: float, sigma: float, rho: float, beta: float, finer: int = 1) -> ODEReference:
    """The numerical solution, with `finer` times as many steps; see `ODEReference`."""
    return ODEReference(
        lambda _, u: (
            T * sigma * (u[1] - u[0]),
            T * (u[0] * (rho - u[2]) - u[1]),
            T * (u[0] * u[1] - beta * u[2]),
        ),
        (-8.0, 7.0, 27.0),
        until=1.0,
        samples=finer * math.ceil(400 * max(T, 1.0)),
    )
