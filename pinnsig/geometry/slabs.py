"""Points uniform in a polygon, by the slabs between the heights of its vertices."""

import numpy as np

from pinnsig.core.types import PointArray, UnitArray


class Slabs:
    """A polygon cut at the heights of all its vertices; of an edge each slab has all or nothing.

    The height of a point is drawn by the area below it, which is quadratic in each slab, then its
    place across by the widths inside at that height. This map keeps areas and neighbours, so that
    well spread points of the unit square stay so (Knothe 1957, Rosenblatt 1952).

    Args:
        starts, ends: of the edges, shape (E, 2).

    Attributes:
        area: of the polygon.
    """

    def __init__(self, starts: PointArray, ends: PointArray) -> None:
        self.heights = np.unique(np.concatenate([starts[:, 1], ends[:, 1]]))
        low, high = self.heights[:-1], self.heights[1:]
        below, above = np.minimum(starts[:, 1], ends[:, 1]), np.maximum(starts[:, 1], ends[:, 1])
        middle = 0.5 * (low + high)
        crossed = [np.flatnonzero((below < m) & (m < above)) for m in middle]
        most = max(len(edges) for edges in crossed)
        # where each slab's edges cross its lower and upper end, from left to right
        self.lower, self.upper = (np.zeros((len(low), most)) for _ in range(2))
        for i, edges in enumerate(crossed):
            (x0, y0), (x1, y1) = starts[edges].T, ends[edges].T
            at = [x0 + (x1 - x0) * ((y - y0) / (y1 - y0)) for y in (low[i], middle[i], high[i])]
            order = np.argsort(at[1], kind="stable")
            self.lower[i, : len(edges)], self.upper[i, : len(edges)] = at[0][order], at[2][order]
            # what is over is at the right end, and has no width
            self.lower[i, len(edges) :] = self.lower[i, len(edges) - 1]
            self.upper[i, len(edges) :] = self.upper[i, len(edges) - 1]
        self.widths = [_widths(x).sum(axis=1) for x in (self.lower, self.upper)]
        areas = 0.5 * (self.widths[0] + self.widths[1]) * (high - low)
        self.area = float(areas.sum())
        self.below = np.cumsum(areas) / self.area
        self.shares = areas / self.area

    def place(self, unit: UnitArray) -> PointArray:
        """Map points of the unit square into the polygon, uniformly."""
        u, v = unit.T
        slab = np.minimum(np.searchsorted(self.below, u, side="right"), len(self.below) - 1)
        before = self.below[slab] - self.shares[slab]
        part = np.clip((u - before) / np.maximum(self.shares[slab], 1e-300), 0.0, 1.0)
        a, b = (width[slab] for width in self.widths)
        # a s + (b - a) s^2 / 2 = part (a + b) / 2, solved so that no digits are lost
        root = np.sqrt(np.maximum(a * a + (b * b - a * a) * part, 0.0))
        s = np.clip((a + b) * part / np.maximum(a + root, 1e-300), 0.0, 1.0)[:, None]
        x = (1.0 - s) * self.lower[slab] + s * self.upper[slab]
        ends = np.cumsum(_widths(x), axis=1)
        wanted = v * ends[:, -1]
        gap = np.minimum((ends < wanted[:, None]).sum(axis=1), ends.shape[1] - 1)
        rows = np.arange(len(unit))
        across = x[rows, 2 * gap + 1] - (ends[rows, gap] - wanted)
        low, high = self.heights[slab], self.heights[slab + 1]
        return np.column_stack([across, low + s[:, 0] * (high - low)])


def _widths(x: PointArray) -> PointArray:
    """Widths inside, between the first and second crossing, the third and fourth, ..."""
    return x[:, 1::2] - x[:, ::2]
