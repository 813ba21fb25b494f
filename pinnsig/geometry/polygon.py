"""Polygons: one ring of edges or several, the inner ones around holes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.checks import checked_names, checked_part, checked_points
from pinnsig.geometry.domain import Domain, Placed, PlacedOn
from pinnsig.geometry.formulas import At, Formula, Piece, joined, trimmed
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
        self.rings = [_checked_ring(ring) for ring in rings]
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
        self._middles = 0.5 * (self.starts + self.ends)
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

    def signed_formula(self) -> Formula:
        """What vanishes on all edges, with the sign that a ray from each point gives."""
        pieces = [self._piece(i) for i in range(len(self.starts))]
        unsigned = joined([trimmed(piece, self.size) for piece in pieces], self.size)
        return lambda at: self._sign(at) * unsigned(at)

    def pieces(self, part: Part) -> list[Piece]:
        """Edges: the distance to each one's line, within the circle about it."""
        return [self._piece(i) for i in self._edges(part)]

    def inner_formulas(self, part: Part) -> list[Formula]:
        """The distances to the lines of edges; where a line enters the polygon, trimmed."""
        return [
            trimmed(Piece(zero) if self._is_outermost(i) else Piece(zero, room), self.size)
            for i, (zero, room) in ((i, self._piece(i)) for i in self._edges(part))
        ]

    def _piece(self, edge: int) -> Piece:
        (a, b), (nx, ny) = self.names, (-self.normals[edge]).tolist()
        (x0, y0), (mx, my) = self.starts[edge].tolist(), self._middles[edge].tolist()
        length = float(self.lengths[edge])
        return Piece(
            lambda at: (at[a] - x0) * nx + (at[b] - y0) * ny,
            lambda at: length / 4 - ((at[a] - mx) ** 2 + (at[b] - my) ** 2) / length,
        )

    def _is_outermost(self, edge: int) -> bool:
        """Whether the polygon is on one side of an edge's line, and meets it in the edge alone."""
        off = (self.starts - self.starts[edge]) @ self.normals[edge]
        room = 1e-9 * self.size
        on = np.abs(off) <= room
        return bool((off <= room).all() and on.sum() == 2)

    def _sign(self, at: At) -> Any:
        """1 inside and -1 outside."""
        x, y = (at[name] for name in self.names)
        nothing = 0.0 * y  # so that jets have their partials, which are 0
        sign = one = nothing + 1.0
        for (x0, y0), (x1, y1) in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            if y0 == y1:
                continue
            low, high = min(y0, y1), max(y0, y1)
            spans = torch.where(y < high, one, nothing) - torch.where(y < low, one, nothing)
            left = torch.where(x < x0 + (x1 - x0) / (y1 - y0) * (y - y0), one, nothing)
            sign = sign * (1.0 - 2.0 * spans * left)
        return -sign

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
        step = 1e-7 * self.lengths[:, None]
        return np.where(self.inside(self._middles + step * normals)[:, None], -normals, normals)


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
