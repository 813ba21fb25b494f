"""Polygons: one ring of edges or several, the inner ones around holes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.checks import checked_names, checked_part, checked_points
from pinnsig.geometry.domain import Domain, Placed, PlacedOn
from pinnsig.geometry.parts import NamedPart, Part
from pinnsig.geometry.scattering import pick
from pinnsig.geometry.segments import crossings, first_crossing, nearest
from pinnsig.geometry.slabs import Slabs

Edges = Sequence[str | None] | Mapping[int, str]


class Polygon(Domain):
    """A polygon: `Polygon([(0, 0), (2, 0), (1, 1)])`, whose edges do not cross each other.

    Args:
        vertices: in order, either way round; or shapely's Polygon or MultiPolygon, whose holes are
            holes of this one.
        holes: further rings of vertices, around holes.
        edges: names of edges, by which conditions can tell them: of edge i from vertex i to the
            next, as a list, or by i as {0: "inlet"}. Those of holes follow those of the outer ring.
        names: of the coordinates.
        name: of all edges that have none of their own.

    Raises:
        ProblemError: fewer than three vertices, edges that cross, or names that cannot be.
    """

    def __init__(
        self,
        vertices: Any,
        *,
        holes: Sequence[Any] = (),
        edges: Edges = (),
        names: Sequence[str] | None = None,
        name: str = "",
    ) -> None:
        self.names = checked_names(names, 2, "Polygon")
        rings = _shapely_rings(vertices)
        if rings is None:
            rings = [vertices, *holes]
        elif len(holes):
            raise ProblemError("Polygon: holes belong to shapely's own polygon")
        self.rings: tuple[PointArray, ...] = tuple(_checked_ring(ring) for ring in rings)
        self.starts = np.concatenate(self.rings)
        self.ends = np.concatenate([np.roll(ring, -1, axis=0) for ring in self.rings])
        pair = first_crossing(self.starts, self.ends)
        if pair is not None:
            places = " and ".join(
                f"{i} from ({a[0]:g}, {a[1]:g}) to ({b[0]:g}, {b[1]:g})"
                for i, a, b in ((i, self.starts[i], self.ends[i]) for i in pair)
            )
            raise ProblemError(f"Polygon: its edges {places} meet, as those of none may")
        self.lower, self.upper = self.starts.min(axis=0), self.starts.max(axis=0)
        self.slabs = Slabs(self.starts, self.ends)
        along = self.ends - self.starts
        self.lengths = np.linalg.norm(along, axis=1)
        self.normals = self._outward(along / self.lengths[:, None])
        self.edge_parts = _edge_parts(edges, checked_part(name, "Polygon"), len(self.starts))

    def __repr__(self) -> str:
        holes = f", {len(self.rings) - 1} more rings" if len(self.rings) > 1 else ""
        return f"Polygon({len(self.rings[0])} vertices{holes})"

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """Its edges by name, those without one together."""
        return tuple(dict.fromkeys(self.edge_parts))

    def inside(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside: a ray from them crosses the edges an odd time."""
        return crossings(points, self.starts, self.ends) % 2 == 1

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the nearest edge, negative inside."""
        found, _ = nearest(points, self.starts, self.ends)
        return np.where(self.inside(points), -found, found)

    def scatter(self, unit: UnitArray) -> Placed:
        """Place all points inside, the second coordinate first, then the first one given that."""
        return self.slabs.place(unit), np.ones(len(unit), dtype=bool)

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Place all points on the edges of a name, by their lengths."""
        which = self._edges(part)
        chosen, along = pick(unit[:, 0], list(self.lengths[which]))
        edge = which[chosen]
        points = self.starts[edge] * (1.0 - along[:, None]) + self.ends[edge] * along[:, None]
        return points, self.normals[edge], np.ones(len(unit), dtype=bool)

    @property
    def measure(self) -> float:
        """Its area."""
        return self.slabs.area

    def named_measure(self, part: Part) -> float:
        """The length of the edges of a name."""
        return float(self.lengths[self._edges(part)].sum())

    def _edges(self, part: Part) -> NDArray[np.intp]:
        return np.flatnonzero([own == part for own in self.edge_parts])

    def _outward(self, along: PointArray) -> PointArray:
        """Normals of the edges: that side of each which is not inside."""
        normals = np.column_stack([along[:, 1], -along[:, 0]])
        middle = 0.5 * (self.starts + self.ends)
        step = 1e-7 * self.lengths[:, None]
        return np.where(self.inside(middle + step * normals)[:, None], -normals, normals)


def _checked_ring(values: Any) -> PointArray:
    """The vertices of a ring, without a repeated first one at the end."""
    ring = checked_points(values, "Polygon: vertices", 2)
    if len(ring) > 1 and (ring[0] == ring[-1]).all():
        ring = ring[:-1]
    if len(ring) < 3:
        raise ProblemError(f"Polygon: {len(ring)} vertices make no polygon: give three or more")
    same = (ring == np.roll(ring, -1, axis=0)).all(axis=1)
    if same.any():
        x, y = ring[np.flatnonzero(same)[0]]
        raise ProblemError(f"Polygon: the vertex ({x:g}, {y:g}) stands twice in a row")
    return ring


def _edge_parts(edges: Edges, default: str, count: int) -> tuple[NamedPart, ...]:
    """The part of each edge."""
    if isinstance(edges, Mapping):
        wrong = [i for i in edges if not isinstance(i, int) or not 0 <= i < count]
        if wrong:
            raise ProblemError(f"Polygon: edges names edge {wrong[0]!r} of 0 to {count - 1}")
        named = [edges.get(i, None) for i in range(count)]
    else:
        named = list(edges) or [None] * count
    if isinstance(edges, str) or len(named) != count:
        raise ProblemError(f"Polygon: edges={edges!r:.60} must name all of its {count} edges")
    return tuple(NamedPart(checked_part(n or default, "Polygon")) for n in named)


def _shapely_rings(shape: Any) -> list[Any] | None:
    """The rings of shapely's Polygon or MultiPolygon; None for anything else."""
    kind = getattr(shape, "geom_type", None)
    if kind is None:
        return None
    if kind not in ("Polygon", "MultiPolygon") or shape.is_empty:
        raise ProblemError(f"Polygon: shapely's {kind} has no area: give a Polygon or MultiPolygon")
    single = shape.geoms if kind == "MultiPolygon" else [shape]
    return [list(ring.coords) for one in single for ring in (one.exterior, *one.interiors)]
