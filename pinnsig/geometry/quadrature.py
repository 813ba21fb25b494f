"""Quadrature on the unit cube: products of Gauss-Legendre panels, Sobol points beyond four axes."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import roots_legendre
from scipy.stats import qmc

from pinnsig.core.types import ColumnArray, UnitArray

PANEL = 8  # nodes: smooth functions have its accuracy, steep ones that of short panels
USUAL = {0: 1, 1: 32, 2: 32, 3: 16, 4: 8}
"""Nodes along each axis, by the number of axes."""
SCATTERED = 2**12
"""Nodes in all, of more axes than `USUAL` knows."""


def panel_rule(nodes: int) -> tuple[ColumnArray, ColumnArray]:
    """Return nodes and weights on (0, 1): Gauss-Legendre on equal panels of about 8 nodes.

    Exact for polynomials up to degree 2 m - 1, where m is the least number of nodes of a panel.
    """
    panels = math.ceil(nodes / PANEL)
    points, weights = [], []
    for panel in range(panels):
        x, w = roots_legendre(nodes // panels + (panel < nodes % panels))
        points.append((panel + 0.5 * (1.0 + x)) / panels)
        weights.append(0.5 * w / panels)
    return np.concatenate(points), np.concatenate(weights)


def cube_rule(nodes: Sequence[int]) -> tuple[UnitArray, ColumnArray]:
    """Return the product of rules with so many nodes along each axis; weights sum to 1.

    Without an axis there is one node, of weight 1.
    """
    rules = [panel_rule(n) for n in nodes]
    each = list(itertools.product(*(x for x, _ in rules)))
    points = np.array(each, np.float64).reshape(len(each), len(rules))
    weights = np.ones(1)
    for _, w in rules:
        weights = np.outer(weights, w).ravel()
    return points, weights


def scattered_rule(nodes: int, axes: int, seed: int = 0) -> tuple[UnitArray, ColumnArray]:
    """Return scrambled Sobol points (Owen 1998), the same for a seed, of equal weights."""
    # `seed` is called `rng` since scipy 1.15, which still takes the old name
    sequence = qmc.Sobol(axes, seed=seed)  # pyright: ignore[reportCallIssue]
    points = sequence.random_base2(max(nodes - 1, 0).bit_length())[:nodes]
    return points, np.full(nodes, 1.0 / nodes)
