"""Expectations over a standard normal variable."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_hermitenorm, roots_legendre

from pinnsig.core.errors import CalibrationError

Array = NDArray[np.float64]

MOST_NODES = 100_000
_REACH = 12.0  # the normal density beyond is below 1e-31
_PANELS = 64  # halvings towards 0: the innermost panel is 1e-18 wide
_SPLITS = (1, 4, 16, 64)  # of each panel, until two orders agree


def normal_expectation(g: Callable[[Array], Array], nodes: int | None = None) -> Array:
    """E[g(z)] for z ~ N(0, 1).

    Args:
        g: maps nodes of shape (n,) to values of shape (..., n). Rows share one unit: an error of
            1e-15 of the largest row passes in every row.
        nodes: order of the Gauss-Hermite rule; None for a rule of Gauss-Legendre panels graded
            towards z = 0, refined until 12 digits stand. That rule resolves functions with sharp
            steps or a kink at 0, which Gauss-Hermite nodes miss.

    Returns:
        Array of shape (...).

    Raises:
        CalibrationError: `nodes` < 1, or the graded rule does not settle.
    """
    if nodes is not None:
        return _apply(g, gauss_hermite(nodes))
    off = np.inf
    for splits in _SPLITS:
        rough, fine = (_apply(g, _graded_normal(order, splits)) for order in (16, 24))
        error, size = np.abs(fine - rough), np.abs(fine)
        if np.all(error <= 1e-12 * size + 1e-15 * np.max(size)):
            return fine
        off = np.max(error)
    raise CalibrationError(
        f"the expectation did not settle (off by {off:.1e}); "
        "is the function smooth away from 0, and finite? An explicit `nodes` skips this check"
    )


@cache
def gauss_hermite(n: int) -> tuple[Array, Array]:
    """Nodes and weights, each of shape (n,), with sum(w g(x)) = E[g(z)], z ~ N(0, 1).

    Exact for polynomials of degree below 2n, at any order; far nodes of a high order have weights
    below the smallest double, which are 0.

    Raises:
        CalibrationError: n is not an integer >= 1, or too large.

    Source: Townsend, Trogdon, Olver, IMA J. Numer. Anal. 36 (2016), as in SciPy; numpy's
    `hermgauss` has no finite weights above order 370.
    """
    if n != int(n) or n < 1:
        raise CalibrationError(f"a Gauss-Hermite rule needs a whole number of nodes >= 1, not {n}")
    if n > MOST_NODES:
        raise CalibrationError(
            f"a Gauss-Hermite rule of {int(n):,} nodes cannot be: at most {MOST_NODES:,}, of which "
            "all but some hundreds have no weight in double precision"
        )
    x, w = roots_hermitenorm(int(n))
    return _frozen(x), _frozen(w / np.sum(w))


def _apply(g: Callable[[Array], Array], rule: tuple[Array, Array]) -> Array:
    x, w = rule
    return np.sum(g(x) * w, axis=-1)


@cache
def graded_legendre(order: int, splits: int = 1) -> tuple[Array, Array]:
    """Nodes and weights for the integral over [0, 1]: Gauss-Legendre panels that halve towards 0.

    Accurate for functions that are smooth on the scale of their distance from 0.
    """
    edges = np.concatenate([[0.0], 0.5 ** np.arange(_PANELS, -1, -1.0)])
    width = np.repeat(np.diff(edges) / splits, splits)
    left = np.repeat(edges[:-1], splits) + width * np.tile(np.arange(splits), _PANELS + 1)
    t, v = roots_legendre(order)
    x = left[:, None] + width[:, None] * (1 + t) / 2
    return _frozen(x.ravel()), _frozen((width[:, None] * v / 2).ravel())


@cache
def _graded_normal(order: int, splits: int) -> tuple[Array, Array]:
    """Graded rule for the normal density on [-reach, reach]."""
    u, w = graded_legendre(order, splits)
    x = _REACH * u
    w = w * np.exp(-(x**2) / 2)
    w = np.concatenate([w[::-1], w])
    return _frozen(np.concatenate([-x[::-1], x])), _frozen(w / np.sum(w))


def _frozen(a: Array) -> Array:
    a.setflags(write=False)  # cached arrays are shared
    return a
