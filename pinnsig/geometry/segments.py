"""Straight edges in the plane: the nearest of many, and how often rays cross them."""

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.types import ColumnArray, PointArray

CELLS = 2**20  # of a table of points and edges that is held at once


def nearest(
    points: PointArray, starts: PointArray, ends: PointArray
) -> tuple[ColumnArray, NDArray[np.intp]]:
    """Return the distance to the nearest edge, and which it is, in any number of dimensions."""
    along = ends - starts
    squares = np.einsum("ij,ij->i", along, along)
    distances, which = np.empty(len(points)), np.empty(len(points), dtype=np.intp)
    for rows in _chunks(len(points), len(starts)):
        offset = points[rows, None] - starts
        place = np.clip(np.einsum("nej,ej->ne", offset, along) / squares, 0.0, 1.0)
        away = np.linalg.norm(offset - place[..., None] * along, axis=2)
        which[rows] = away.argmin(axis=1)
        distances[rows] = away.min(axis=1)
    return distances, which


def crossings(points: PointArray, starts: PointArray, ends: PointArray) -> NDArray[np.intp]:
    """Return how many edges the ray from each point to the right crosses."""
    found = np.empty(len(points), dtype=np.intp)
    x0, y0 = starts.T
    slope = (ends[:, 0] - x0) / np.where(ends[:, 1] == y0, 1.0, ends[:, 1] - y0)
    for rows in _chunks(len(points), len(starts)):
        x, y = points[rows, 0, None], points[rows, 1, None]
        spans = (y0 <= y) != (ends[:, 1] <= y)  # a vertex counts as above or below, once
        found[rows] = (spans & (x < x0 + slope * (y - y0))).sum(axis=1)
    return found


def first_crossing(starts: PointArray, ends: PointArray) -> tuple[int, int] | None:
    """Return two edges that meet anywhere but at the vertex that they follow each other at.

    Two rings may touch at a vertex of both.
    """
    count = len(starts)
    for rows in _chunks(count, count):
        i = np.arange(count)[rows]
        a, b = starts[rows, None], ends[rows, None]
        c, d = _side(a, b, starts), _side(a, b, ends)
        e, f = _side(starts, ends, a), _side(starts, ends, b)
        cross = (c * d < 0) & (e * f < 0)
        # a vertex on an edge, or edges that lie on each other
        for value, point in ((c, starts[None]), (d, ends[None])):
            low, high = np.minimum(a, b), np.maximum(a, b)
            on = (value == 0) & np.all((point >= low) & (point <= high), axis=2)
            at_end = np.all(point == a, axis=2) | np.all(point == b, axis=2)
            cross |= on & ~at_end
        same = np.all(a == starts, axis=2) & np.all(b == ends, axis=2)
        back = np.all(a == ends, axis=2) & np.all(b == starts, axis=2)
        cross |= (same | back) & (i[:, None] != np.arange(count))
        cross[np.arange(len(i)), i] = False
        if cross.any():
            first, second = np.argwhere(cross)[0]
            return int(i[first]), int(second)
    return None


def _side(a: NDArray, b: NDArray, points: NDArray) -> NDArray[np.float64]:
    """Twice the area of the triangle a, b, point; its sign says on which side the point is."""
    u, v = b - a, points - a
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]


def _chunks(count: int, each: int) -> list[slice]:
    size = max(CELLS // max(each, 1), 1)
    return [slice(start, start + size) for start in range(0, count, size)]
