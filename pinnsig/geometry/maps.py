"""Maps of the unit cube onto round things that keep areas, so that well spread points stay so."""

import math

import numpy as np
from scipy.special import betaincinv

from pinnsig.core.types import PointArray, UnitArray


def to_disc(unit: UnitArray) -> PointArray:
    """Return points of the unit disc; squares about the centre become circles.

    Source: Shirley and Chiu, J. Graphics Tools 2 (1997), 45-52.
    """
    a, b = (2.0 * unit - 1.0).T
    wide = np.abs(a) > np.abs(b)
    radius = np.where(wide, a, b)
    safe = np.where(radius == 0.0, 1.0, radius)
    angle = np.where(wide, math.pi / 4 * b / safe, math.pi / 2 - math.pi / 4 * a / safe)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def to_sphere(unit: UnitArray) -> PointArray:
    """Return points of the unit sphere in n dimensions from n - 1 numbers each, n > 1.

    Coordinates are drawn one after the other, given those before: (x + 1) / 2 of a sphere in n
    dimensions has the Beta distribution with both parameters (n - 1) / 2, and what is left is a
    sphere of one dimension less (Archimedes' theorem where n = 3).
    """
    count, free = unit.shape
    points = np.empty((count, free + 1))
    left = np.ones(count)
    for i in range(free - 1):
        points[:, i] = left * _symmetric_beta((free - i) / 2, unit[:, i])
        left = np.sqrt(np.maximum(left**2 - points[:, i] ** 2, 0.0))
    angle = 2.0 * math.pi * unit[:, -1]
    points[:, -2], points[:, -1] = left * np.cos(angle), left * np.sin(angle)
    return points


def to_ball(unit: UnitArray) -> PointArray:
    """Return points of the unit ball in n dimensions from n numbers each.

    As `to_sphere`: the parameters are (n + 1) / 2, and what is left is a ball.
    """
    count, dimensions = unit.shape
    if dimensions == 2:
        return to_disc(unit)
    points = np.empty((count, dimensions))
    left = np.ones(count)
    for i in range(dimensions - 2):
        points[:, i] = left * _symmetric_beta((dimensions - i + 1) / 2, unit[:, i])
        left = np.sqrt(np.maximum(left**2 - points[:, i] ** 2, 0.0))
    points[:, -2:] = left[:, None] * to_disc(unit[:, -2:])
    return points


def _symmetric_beta(parameter: float, u: np.ndarray) -> np.ndarray:
    """The quantile of 2 X - 1, where X has the Beta distribution with both parameters equal."""
    return 2.0 * u - 1.0 if parameter == 1.0 else 2.0 * betaincinv(parameter, parameter, u) - 1.0


def ball_volume(dimensions: int) -> float:
    """Return the volume of the unit ball; that of its sphere is `dimensions` times as much."""
    half = dimensions / 2
    return math.exp(half * math.log(math.pi) - math.lgamma(half + 1.0))
