"""Closed surfaces of triangles: the nearest point, and what lies inside."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from pinnsig.core.types import ColumnArray, MaskArray, PointArray

PAIRS = 2**20  # of points and triangles that are held at once
TILT = (0.5377, 0.2113, 0.3491)  # radians: so that hardly any edge is along a ray


class Triangles:
    """A closed surface of triangles.

    Args:
        corners: shape (T, 3, 3): of each triangle three points.

    Attributes:
        areas: of the triangles.
        normals: of length 1, by the order of the corners.
    """

    def __init__(self, corners: NDArray[np.float64]) -> None:
        self.corners = corners
        a, b, c = corners.transpose(1, 0, 2)
        cross = np.cross(b - a, c - a)
        twice = np.linalg.norm(cross, axis=1)
        self.areas, self.normals = 0.5 * twice, cross / twice[:, None]
        self.volume = float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6.0
        centers = corners.mean(axis=1)
        self.tree = KDTree(centers)
        self.reach = float(np.linalg.norm(corners - centers[:, None], axis=2).max())
        self._bins()

    def distance(self, points: PointArray, most: float = np.inf) -> ColumnArray:
        """Return the distance to the nearest triangle; inf where it is surely above `most`."""
        upper, _ = self.tree.query(points)
        found = np.full(len(points), np.inf)
        rows = np.flatnonzero(upper - self.reach <= most)
        # the nearest triangle's centre is no further than its reach beyond the nearest centre
        radius = np.minimum(upper[rows], most) + self.reach
        counts = self.tree.query_ball_point(points[rows], radius, return_length=True)
        for part in _batches(counts):
            at = rows[part]
            near = self.tree.query_ball_point(points[at], radius[part])
            owner = np.repeat(np.arange(len(at)), [len(n) for n in near])
            which = np.concatenate([np.asarray(n, dtype=np.intp) for n in near])
            away = _to_triangles(points[at][owner], self.corners[which])
            best = np.full(len(at), np.inf)
            np.minimum.at(best, owner, away)
            found[at] = best
        return found

    def inside(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside: a ray crosses the surface an odd time."""
        turned = points @ self.turn
        cell = np.floor((turned[:, 1:] - self.low) / self.step).astype(int)
        within = ((cell >= 0) & (cell < self.side)).all(axis=1)
        rows = np.flatnonzero(within)
        bins = cell[rows, 0] * self.side + cell[rows, 1]
        counts = self.ends[bins] - self.starts[bins]
        odd = np.zeros(len(points), dtype=bool)
        for part in _batches(counts):
            at, own, start = rows[part], counts[part], self.starts[bins[part]]
            owner = np.repeat(np.arange(len(at)), own)
            offset = np.arange(own.sum()) - np.repeat(np.cumsum(own) - own, own)
            which = self.members[start[owner] + offset]
            hits = _crossed(turned[at][owner], self.turned[which])
            odd[at] = np.bincount(owner[hits], minlength=len(at)) % 2 == 1
        return odd

    def _bins(self) -> None:
        """Which triangles each cell of a grid across the rays meets."""
        (cx, cy, cz), (sx, sy, sz) = np.cos(TILT), np.sin(TILT)
        about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
        about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
        about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
        self.turn = about_x @ about_y @ about_z
        self.turned = self.corners @ self.turn
        plane = self.turned[:, :, 1:]
        self.side = int(np.clip(np.sqrt(len(plane)), 1, 512))
        self.low = plane.min(axis=(0, 1))
        self.step = (plane.max(axis=(0, 1)) - self.low) / self.side * (1 + 1e-12)
        first, last = (
            np.clip(np.floor((f(plane, axis=1) - self.low) / self.step), 0, self.side - 1).astype(
                int
            )
            for f in (np.min, np.max)
        )
        high, wide = (last - first + 1).T
        count = high * wide
        member = np.repeat(np.arange(len(plane)), count)
        offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        row, column = (
            first[member, 0] + offset // wide[member],
            first[member, 1] + offset % wide[member],
        )
        cells = row * self.side + column
        order = np.argsort(cells, kind="stable")
        self.members = member[order]
        every = np.arange(self.side**2)
        self.starts = np.searchsorted(cells[order], every, side="left")
        self.ends = np.searchsorted(cells[order], every, side="right")


def _batches(counts: NDArray[np.intp]) -> list[slice]:
    """Rows in slices that have about `PAIRS` pairs each."""
    group = np.cumsum(counts) // PAIRS
    ends = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(counts)]
    return [slice(a, b) for a, b in pairwise(ends) if b > a]


def _crossed(points: PointArray, triangles: NDArray[np.float64]) -> MaskArray:
    """Whether the ray from each point along the first axis crosses its triangle."""
    flat = triangles[:, :, 1:] - points[:, None, 1:]
    sides = [
        flat[:, i, 0] * flat[:, i - 2, 1] - flat[:, i, 1] * flat[:, i - 2, 0] for i in range(3)
    ]
    whole = sum(sides)
    same = ((sides[0] > 0) == (sides[1] > 0)) & ((sides[1] > 0) == (sides[2] > 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # side i is opposite to corner i + 2
        at = sum(sides[i] * triangles[:, i - 1, 0] for i in range(3)) / whole
    return same & (at > points[:, 0])


def _to_triangles(points: PointArray, triangles: NDArray[np.float64]) -> ColumnArray:
    """The distance of each point to its triangle: to the plane above it, else to an edge."""
    a, b, c = triangles.transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    height = np.einsum("ij,ij->i", points - a, normal)
    over = np.ones(len(points), dtype=bool)
    edges = np.full(len(points), np.inf)
    for p, q in ((a, b), (b, c), (c, a)):
        along, offset = q - p, points - p
        over &= np.einsum("ij,ij->i", np.cross(along, offset), normal) >= 0.0
        share = np.einsum("ij,ij->i", offset, along) / np.einsum("ij,ij->i", along, along)
        away = offset - np.clip(share, 0.0, 1.0)[:, None] * along
        edges = np.minimum(edges, np.linalg.norm(away, axis=1))
    return np.where(over, np.abs(height), edges)
