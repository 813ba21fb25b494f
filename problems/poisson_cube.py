"""Poisson's equation on cubes of many dimensions."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from pinnsig.problem import Box, Dirichlet, Problem


def cube(dimensions: int) -> Box:
    """The unit cube, with the coordinates x1, x2, ..."""
    return Box(**{f"x{i}": (0.0, 1.0) for i in range(1, dimensions + 1)})


def laplacian(u, x):
    """The sum of u's second derivatives along the coordinates x, by name, shape (N,)."""
    return sum(getattr(u, f"{name}_{name}") for name in x)


class PoissonCube(Problem):
    """What the equation on every cube has: the solution's values on all faces."""

    solution: Callable[..., Tensor]

    def conditions(self):
        """The solution's values on all faces."""
        yield Dirichlet(on=self.domain.names, u=self.solution)


class Poisson5D(PoissonCube):
    """Poisson's equation in five dimensions: the Laplacian of u is -pi² u*, all faces have u = u*.

    Source: Müller and Zeinhofer (2023), Achieving High Accuracy with PINNs via Energy Natural
    Gradient Descent, section 4. The solution is u* = cos(pi x1) + cos(pi x2) + ... + cos(pi x5).
    """

    domain = cube(5)

    def residual(self, u, **x):
        """The Laplacian of u, plus pi² times the solution."""
        return laplacian(u, x) + math.pi**2 * self.solution(**x)

    def solution(self, **x: Tensor) -> Tensor:
        """The sum of the cosines, shape (N,)."""
        return torch.stack([torch.cos(math.pi * xi) for xi in x.values()]).sum(0)


class Poisson10D(PoissonCube):
    """Laplace's equation in ten dimensions: the Laplacian of u is 0, all faces have u = u*.

    Source: E and Yu (2018), The Deep Ritz Method. The solution is the polynomial
    u* = x1 x2 + x3 x4 + ... + x9 x10.
    """

    domain = cube(10)

    def residual(self, u, **x):
        """The Laplacian of u."""
        return laplacian(u, x)

    def solution(self, **x: Tensor) -> Tensor:
        """The sum of the products, shape (N,)."""
        columns = list(x.values())
        return torch.stack([a * b for a, b in zip(columns[::2], columns[1::2], strict=True)]).sum(0)


class Poisson100D(PoissonCube):
    """Poisson's equation in a hundred dimensions: the Laplacian of u is 200, all faces have u = u*.

    Source: Dangel, Müller and Zeinhofer (2024), Kronecker-factored approximate curvature for
    physics-informed neural networks. The solution is u* = x1² + x2² + ... + x100². A layer of
    n < 100 units sees n directions, which leaves an error of 2.2e-2 sqrt(1 - n / 100) at least.
    """

    domain = cube(100)

    def residual(self, u, **x):
        """The Laplacian of u, less twice the number of dimensions."""
        return laplacian(u, x) - 2 * len(x)

    def solution(self, **x: Tensor) -> Tensor:
        """The squared distance from the corner, shape (N,)."""
        return torch.stack([xi**2 for xi in x.values()]).sum(0)
