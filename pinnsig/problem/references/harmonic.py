"""Harmonic functions in the plane from their values on a boundary, by least squares.

The real and imaginary parts of analytic functions are harmonic. Enough of them (powers, poles in
holes, the singular powers of corners) fit smooth boundary values to many digits, and by the
maximum principle the error is nowhere larger than the misfit on the boundary. Sources: Betcke and
Trefethen (2005), Reviving the method of particular solutions, for corners; Gopal and Trefethen
(2019), Solving Laplace problems with corner singularities via rational functions.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

Analytic = Callable[[Tensor], Tensor]
"""From complex points of shape (N,) to values of analytic functions, shape (N, K)."""


def powers(count: int, centre: complex = 0j, radius: float = 1.0) -> Analytic:
    """Return ((z - centre) / radius)^k for k from 0 to `count` - 1."""
    # by products: a complex 0 to the power of 0 is no number for torch
    return lambda z: torch.linalg.vander((z - centre) / radius, N=count)


def poles(count: int, centre: complex, radius: float) -> Analytic:
    """Return the logarithm and (radius / (z - centre))^k for k from 1 on, `count` functions."""

    def functions(z: Tensor) -> Tensor:
        w = (z - centre) / radius
        far = torch.stack([torch.log(w.abs()) + 0j, *((1 / w) ** k for k in range(1, count))])
        return far.T

    return functions


def corner(count: int, vertex: complex, first: float, opening: float) -> Analytic:
    """Return the singular powers of a corner, w^(k pi / opening) for k from 1 on.

    Args:
        count: how many.
        vertex: of the corner.
        first: direction of the edge from which angles are counted inwards.
        opening: the angle inside.
    """
    order = torch.arange(1, count + 1, dtype=torch.float64) * (math.pi / opening)
    return lambda z: torch.exp(_logarithm(z, vertex, first, opening)[:, None] * order)


def corner_logarithm(z: Tensor, vertex: complex, first: float, opening: float) -> Tensor:
    """Return Im(w² log w), what a constant source leaves at corners of which 2 is a power."""
    log = _logarithm(z, vertex, first, opening)
    return (torch.exp(2 * log) * log).imag


def _logarithm(z: Tensor, vertex: complex, first: float, opening: float) -> Tensor:
    """log(w) of points as a corner sees them, angles from its first edge, the cut outside."""
    middle = first + opening / 2
    turned = (z - vertex) * complex(math.cos(middle), -math.sin(middle))
    safe = torch.where(turned.abs() > 0, turned, torch.full_like(turned, 1e-300))
    return torch.log(safe) + 0.5j * opening


class HarmonicReference:
    """The harmonic function that has given values on a boundary.

    Args:
        functions: whose real and imaginary parts are combined.
        boundary: points of all parts of it, close together where it has corners, shape (N,).
        values: there, shape (N,).
    """

    def __init__(self, functions: Sequence[Analytic], boundary: Tensor, values: Tensor) -> None:
        self.functions = functions
        columns = self._columns(boundary)
        self.size = columns.norm(dim=0).clamp_min(1e-300)
        matrix = (columns / self.size).numpy()
        found = np.linalg.lstsq(matrix, values.numpy(), rcond=1e-15)[0]
        self.coefficients = torch.from_numpy(found)

    def __call__(self, z: Tensor) -> Tensor:
        """Values at complex points of shape (N,), shape (N,)."""
        return self._columns(z) / self.size @ self.coefficients

    def _columns(self, z: Tensor) -> Tensor:
        found = torch.cat([function(z) for function in self.functions], dim=1)
        return torch.cat([found.real, found.imag], dim=1)


def edges(vertices: Sequence[complex], count: int) -> Tensor:
    """Return points on the edges of a polygon, crowded at its corners, shape (M,).

    Args:
        vertices: in order.
        count: on each edge.
    """
    angle = math.pi / count * (torch.arange(count, dtype=torch.float64) + 0.5)
    share = 0.5 - 0.5 * torch.cos(angle)
    ends = zip(vertices, [*vertices[1:], vertices[0]], strict=True)
    return torch.cat([a + (b - a) * share for a, b in ends])
