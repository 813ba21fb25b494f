"""Points that fall where they should: rejection, choice between parts, fixed points."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.parts import Draw, Part

FEW, MANY = 2**12, 2**16  # points by which a share is estimated, roughly and well
BATCH = 2**20
RARE = 1e-5  # a smaller share is refused

Scatter = Callable[[UnitArray], tuple[NDArray[Any], ...]]
"""Columns for points of the unit cube, and last which of them count."""


class _Scatters(Protocol):
    def scatter_on(self, part: Part, unit: UnitArray) -> tuple[PointArray, PointArray, MaskArray]:
        """See `Domain.scatter_on`."""
        ...


def fill(
    count: int, axes: int, draw: Draw, scatter: Scatter, what: str
) -> tuple[NDArray[np.float64], ...]:
    """Return `count` points that count, as the columns that `scatter` gives; of a grid, fewer.

    Where all count, they are the first ones that are drawn. Else points are drawn anew, as many at
    once as are needed, so that they stay well spread.

    Raises:
        ProblemError: hardly any counts, of which `what` says where that is.
    """
    unit = draw(count, axes)
    *columns, kept = scatter(unit)
    if kept.all():
        return tuple(columns)
    if _is_grid(unit):
        return _finest_grid(count, axes, draw, scatter, what)
    found, tried = int(kept.sum()), len(unit)
    batches: list[list[NDArray[np.float64]]] = []
    have = 0
    while have < count:
        share = (found + 0.5) / (tried + 1.0)
        wanted = min(math.ceil(1.1 * (count - have) / share) + 16, BATCH)
        *columns, kept = scatter(draw(wanted, axes))
        batches.append([column[kept] for column in columns])
        have += int(kept.sum())
        found, tried = found + int(kept.sum()), tried + len(kept)
        if tried > 10 * BATCH / 16 and found < RARE * tried:
            raise ProblemError(f"{found} of {tried} points fall {what}: it is too thin to sample")
    return tuple(np.concatenate(c)[:count] for c in zip(*batches, strict=True))


def _finest_grid(
    count: int, axes: int, draw: Draw, scatter: Scatter, what: str
) -> tuple[NDArray[np.float64], ...]:
    """The finest of the grids of which at most `count` points count."""
    best: tuple[NDArray[np.float64], ...] | None = None
    wanted, seen = count, set[int]()
    for _ in range(16):
        unit = draw(wanted, axes)
        *columns, kept = scatter(unit)
        found = int(kept.sum())
        if 0 < found <= count and (best is None or found > len(best[0])):
            best = tuple(column[kept] for column in columns)
        if found == count or len(unit) in seen:
            break
        seen.add(len(unit))
        # a grid has no fewer points than asked by more than one a side
        wanted = min(math.ceil(len(unit) * count / max(found, 0.25)) + (found < count), BATCH)
    if best is None:
        raise ProblemError(f"no point of a grid of {count} falls {what}: take more points")
    return best


def _is_grid(unit: UnitArray) -> bool:
    """Whether points are a regular grid, as no points drawn at random are."""
    count, axes = unit.shape
    if count < 2 or not axes:
        return False
    if axes == 1:
        return bool(np.ptp(np.diff(unit[:, 0])) < 1e-9)
    side = len(np.unique(unit[:, 0]))
    return side > 1 and side**axes == count


def pick(
    u: ColumnArray, weights: Sequence[float] | NDArray[np.float64]
) -> tuple[NDArray[np.intp], ColumnArray]:
    """Choose between things in proportion to their weights by one uniform number at each point.

    Returns:
        What is chosen, and what is left of the number, which is uniform in [0, 1] again.
    """
    ends = np.cumsum(weights) / np.sum(weights)
    last = int(np.flatnonzero(np.asarray(weights))[-1])
    chosen = np.minimum(np.searchsorted(ends, u, side="right"), last)
    starts = np.concatenate([[0.0], ends[:-1]])
    size = np.maximum(ends - starts, np.finfo(float).tiny)
    return chosen, np.clip((u - starts[chosen]) / size[chosen], 0.0, 1.0)


def pick_part(
    sources: Sequence[tuple[_Scatters, Part]], weights: Sequence[float], unit: UnitArray
) -> tuple[PointArray, PointArray, MaskArray, NDArray[np.intp]]:
    """Place points on several parts, of one domain or several, in proportion to their weights.

    Returns:
        Points, normals, which count, and on which of the parts each one is.
    """
    if len(sources) == 1:
        (domain, part), chosen = sources[0], np.zeros(len(unit), dtype=np.intp)
        points, normals, kept = domain.scatter_on(part, unit)
        return points, normals, kept.copy(), chosen
    chosen, rest = pick(unit[:, 0], weights)
    unit = np.column_stack([rest, unit[:, 1:]])
    points, normals = (np.zeros((len(unit), unit.shape[1] + 1)) for _ in range(2))
    kept = np.zeros(len(unit), dtype=bool)
    for i, (domain, part) in enumerate(sources):
        mine = chosen == i
        if mine.any():
            points[mine], normals[mine], kept[mine] = domain.scatter_on(part, unit[mine])
    return points, normals, kept, chosen


@lru_cache
def quasi_random(dimensions: int, count: int = FEW) -> UnitArray:
    """Scrambled Sobol points (Owen 1998), always the same, for shares that have no formula."""
    # `seed` is called `rng` since scipy 1.15, which still takes the old name
    sequence = qmc.Sobol(dimensions, seed=0)  # pyright: ignore[reportCallIssue]
    points = sequence.random(count)
    points.flags.writeable = False
    return points
