"""Domains whose boundary is known at points only, with normals there."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.checks import checked_names, checked_part, checked_points
from pinnsig.geometry.domain import PlacedOn
from pinnsig.geometry.maps import ball_volume
from pinnsig.geometry.parts import NamedPart, Part
from pinnsig.geometry.scanned import Scanned
from pinnsig.geometry.scattering import pick

NEIGHBOURS = 12  # by which the share of a point in the boundary is estimated
PAIRS = 2**21


class PointCloud(Scanned):
    """What a boundary of points encloses: `PointCloud(points, normals)`.

    A point is inside where the generalised winding number of the boundary about it is above 1/2
    (Barill, Dickson, Schmidt, Levin and Jacobson, ACM Trans. Graph. 37 (2018) 43). Conditions on
    the boundary take its points themselves, by their weights. The distance is that to the nearest
    of them, so that it is right to their spacing.

    Args:
        points: of the boundary, shape (N, 2) or (N, 3), at least 16.
        normals: there, outwards, of any length, as many.
        weights: the length or area that each point stands for; by default an estimate from its
            neighbours, made consistent with a closed boundary.
        names: of the coordinates.
        name: of its boundary, by which a condition can tell it from others.

    Raises:
        ProblemError: arrays that do not fit, or a boundary that encloses nothing.
    """

    def __init__(
        self,
        points: Any,
        normals: Any,
        *,
        weights: Any = None,
        names: Sequence[str] | None = None,
        name: str = "",
    ) -> None:
        on = checked_points(points, "PointCloud: points")
        if on.shape[1] not in (2, 3) or len(on) < 16:
            raise ProblemError(
                f"PointCloud: points of shape {on.shape} cannot be: give 16 or more in 2 or 3 "
                "dimensions"
            )
        outward = checked_points(normals, "PointCloud: normals", on.shape[1])
        if len(outward) != len(on):
            raise ProblemError(f"PointCloud: {len(on)} points have {len(outward)} normals")
        lengths = np.linalg.norm(outward, axis=1)
        if not lengths.all():
            raise ProblemError(f"PointCloud: normal {int(lengths.argmin())} is 0")
        self.names = checked_names(names, on.shape[1], "PointCloud")
        self.part = NamedPart(checked_part(name, "PointCloud"))
        own = None if weights is None else _checked_weights(weights, len(on))
        order = KDTree(on).indices  # neighbours next to each other, so that samplers spread well
        self.on, self.outward = on[order], (outward / lengths[:, None])[order]
        self.tree = KDTree(self.on)
        self.areas = self._estimated() if own is None else own[order]
        self.lower, self.upper = on.min(axis=0), on.max(axis=0)
        if self.measure <= 0.0:
            raise ProblemError("PointCloud: it encloses nothing: its normals must point outwards")

    def __repr__(self) -> str:
        return f"PointCloud({len(self.on)} points)"

    def inside(self, points: PointArray) -> MaskArray:
        """Return which of the points the boundary winds around."""
        return self._winding(points, self.areas) > 0.5

    def to_boundary(self, points: PointArray) -> ColumnArray:
        """Return the distance to the nearest boundary point."""
        return np.asarray(self.tree.query(points)[0])

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Choose boundary points by their weights."""
        del part
        chosen, _ = pick(unit[:, 0], self.areas)
        return self.on[chosen], self.outward[chosen], np.ones(len(unit), dtype=bool)

    @property
    def measure(self) -> float:
        """Its area or volume, by the divergence theorem."""
        flux = np.einsum("ij,ij->i", self.on - self.on.mean(axis=0), self.outward)
        return float(self.areas @ flux) / self.dimensions

    def named_measure(self, part: Part) -> float:
        """The length or area that its points stand for."""
        del part
        return float(self.areas.sum())

    def _winding(self, points: PointArray, areas: ColumnArray) -> ColumnArray:
        """The sum of a (p - q) . n / (|S| |p - q|^d): 1 inside of a closed boundary, 0 outside."""
        d = self.dimensions
        weighted = self.outward * areas[:, None]
        size = max(PAIRS // len(self.on), 1)
        found = np.empty(len(points))
        own = np.einsum("ij,ij->i", self.on, weighted)
        squares = np.einsum("ij,ij->i", self.on, self.on)
        for start in range(0, len(points), size):
            q = points[start : start + size]
            flux = own - q @ weighted.T
            apart = squares + np.einsum("ij,ij->i", q, q)[:, None] - 2.0 * q @ self.on.T
            apart = np.maximum(apart, 1e-12 * self._spacing**2)
            found[start : start + size] = (flux * apart ** (-d / 2)).sum(axis=1)
        return found / (d * ball_volume(d))

    @property
    def _spacing(self) -> float:
        return float(np.ptp(self.on, axis=0).max()) / len(self.on) ** (1 / (self.dimensions - 1))

    def _estimated(self) -> ColumnArray:
        """What each point stands for, from how far its neighbours are.

        k neighbours fill a length 2 r or an area pi r^2; the factor that is common to all follows
        from the winding number, which is 1 inside.
        """
        free = self.dimensions - 1
        count = min(NEIGHBOURS, len(self.on) // 8 + 2)
        radius = np.asarray(self.tree.query(self.on, k=count + 1)[0])[:, -1]
        areas = ball_volume(free) * radius**free / count
        deep = self.on - 2.0 * radius[:, None] * self.outward
        whole = float(np.median(self._winding(deep, areas)))
        if not math.isfinite(whole) or whole <= 0.1:
            raise ProblemError("PointCloud: it encloses nothing: its normals must point outwards")
        return areas / whole


def _checked_weights(weights: Any, count: int) -> ColumnArray:
    found = checked_points(np.asarray(weights)[:, None], "PointCloud: weights", 1)[:, 0]
    if len(found) != count or (found <= 0.0).any():
        raise ProblemError(f"PointCloud: weights must be {count} numbers above 0")
    return found
