"""Burgers' equation, whose smooth start steepens into a thin shock at x = 0."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class Burgers(Problem):
    """Viscous Burgers equation u_t + u u_x = nu u_xx, with u(x, 0) = -sin(pi x), u(±1, t) = 0.

    Everything is dimensionless; nu is the viscosity.
    """

    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))
    nu = Coefficient(0.01 / math.pi, above=0.0)

    def residual(self, u):
        """u_t + u u_x - nu u_xx."""
        return u.t + u * u.x - self.nu * u.xx

    def conditions(self):
        """A sine wave to start from, held at zero on both sides."""
        yield Initial(u=lambda x: -torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)

    def hard_ansatz(self, n, x, t):
        """-sin(pi x) + t (1 - x²) n."""
        return t * (1 - x**2) * n - torch.sin(math.pi * x)

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """The exact solution, by the transform of Cole (1951) and Hopf (1950).

        u = -∫ sin(pi y) w ds / ∫ w ds with y = x - sqrt(4 nu t) s and
        w = exp(-s² - cos(pi y) / (2 pi nu)), over all real s.

        Args:
            x: positions, shape (N,), float64.
            t: times from 0 to 1, shape (N,).

        Returns:
            u, shape (N,). Its absolute error is below 1e-12 for 1e-4 <= nu <= 10; below that
            range rounding grows as 1e-16 / nu.
        """
        nu = float(self.values()["nu"])  # a plain number even where nu is learned
        # Points with s² > 1 / (pi nu) + 40 weigh less than e^-40 of the heaviest. The integrands
        # are entire, so that equal steps converge geometrically: this step leaves rounding only.
        reach = math.sqrt(1.0 / (math.pi * nu) + 40.0)
        nodes = 1 + 2 * math.ceil(reach * 10.0 * max(1.0, math.sqrt(nu)))
        s = torch.linspace(-reach, reach, nodes, dtype=x.dtype, device=x.device)
        chunk = max(1, 2**20 // nodes)  # points at a time, to bound the memory
        parts = zip(x.split(chunk), t.split(chunk), strict=True)
        return torch.cat([_cole_hopf(part_x, part_t, s, nu) for part_x, part_t in parts])


class BurgersMild(Burgers):
    """`Burgers` with nu = 0.01, 3.1 times the usual viscosity: the shock is thicker and weaker.

    An easier problem, whose errors are often quoted beside those of nu = 0.01 / pi. The two are not
    to be compared.
    """

    nu = Coefficient(0.01, above=0.0)


def _cole_hopf(x: Tensor, t: Tensor, s: Tensor, nu: float) -> Tensor:
    # the derivative of sqrt(t) is not finite at 0, and near it loses digits to cancellation: u is
    # then its own first-order expansion, with an error of order t²
    later = t > 1e-12
    root = torch.sqrt(4.0 * nu * torch.where(later, t, 1.0))
    phase = math.pi * (x[:, None] - root[:, None] * s)
    weights = torch.softmax(-s * s - torch.cos(phase) / (2.0 * math.pi * nu), dim=1)
    start, slope = -torch.sin(math.pi * x), -math.pi * torch.cos(math.pi * x)
    rate = -nu * math.pi**2 * start - start * slope  # u_t = nu u_xx - u u_x
    return torch.where(later, -(weights * torch.sin(phase)).sum(dim=1), start + rate * t)
