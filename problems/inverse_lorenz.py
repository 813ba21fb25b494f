"""The equations of Lorenz with three unknown coefficients, found from an observed motion."""

from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, ODEReference, PointData, Problem


class InverseLorenz(Problem):
    """x' = T sigma (y - x), y' = T (x (rho - z) - y), z' = T (x y - beta z), all three to be found.

    t is time over T; the motion starts at (-8, 7, 27) and is observed at 25 times, with noise of
    the standard deviation `noise`. Everything is dimensionless. Source: the examples of Lu, Meng,
    Mao and Karniadakis (2021), DeepXDE: T = 3, and in truth sigma = 10, rho = 15, beta = 8/3. The
    error of `solution` is below 1e-11.
    """

    domain = Box(t=(0.0, 1.0))
    fields = ("x", "y", "z")
    sigma = Coefficient(1.0, above=0.0, learn=True, true="sigma_true")
    rho = Coefficient(1.0, above=0.0, learn=True, true="rho_true")
    beta = Coefficient(1.0, above=0.0, learn=True, true="beta_true")
    sigma_true = Coefficient(10.0, above=0.0)
    rho_true = Coefficient(15.0, above=0.0)
    beta_true = Coefficient(8 / 3, above=0.0)
    T = Coefficient(3.0, minimum=0.1, maximum=10.0)
    noise = Coefficient(0.0, minimum=0.0)

    def residual(self, x, y, z):
        """The rates of change less what they should be, in units of 10 T."""
        scale = 1 / (10 * self.T)
        return {
            "x": scale * x.t - 0.1 * self.sigma * (y - x),
            "y": scale * y.t - 0.1 * (x * (self.rho - z) - y),
            "z": scale * z.t - 0.1 * (x * y - self.beta * z),
        }

    def conditions(self):
        """The observations."""
        t = torch.arange(1, 26, dtype=torch.float64) / 25
        random = torch.Generator().manual_seed(0)
        error = self.noise * torch.randn(3, 25, generator=random, dtype=torch.float64)
        x, y, z = torch.stack(self.solution(t)) + error
        yield PointData(t=t, x=x, y=y, z=z)

    def ansatz(self, first, second, third, t):
        """The start plus t times an output, in units of 10."""
        return -8 + 10 * t * first, 7 + 10 * t * second, 27 + 10 * t * third

    def solution(self, t: Tensor) -> tuple[Tensor, ...]:
        """x, y and z at the true coefficients by a Runge-Kutta method, each of shape (N,)."""
        names = ("T", "sigma_true", "rho_true", "beta_true")
        return reference(*(float(self.values()[name]) for name in names))(t)


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
        samples=finer * max(400, int(400 * T)),
    )
