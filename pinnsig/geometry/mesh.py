"""Solids bounded by surface meshes, from STL or OBJ files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.checks import checked_names, checked_number, checked_part
from pinnsig.geometry.domain import PlacedOn
from pinnsig.geometry.outside import ROUNDING
from pinnsig.geometry.parts import NamedPart, Part
from pinnsig.geometry.scanned import Scanned
from pinnsig.geometry.scattering import pick
from pinnsig.geometry.triangles import Triangles


class Mesh(Scanned):
    """What a closed surface of triangles holds: `Mesh("part.stl")`.

    It needs trimesh, as `pip install pinnsig[geometry]` brings.

    Args:
        source: a file that trimesh reads (STL, OBJ, PLY), or trimesh's own mesh.
        scale: by which all lengths are multiplied, for files in other units.
        names: of the three coordinates.
        name: of its boundary, by which a condition can tell it from others.

    Raises:
        ProblemError: a file that is not there or no mesh, or a surface that is not closed.
    """

    def __init__(
        self,
        source: Any,
        *,
        scale: float = 1.0,
        names: Sequence[str] | None = None,
        name: str = "",
    ) -> None:
        self.names = checked_names(names, 3, "Mesh")
        self.part = NamedPart(checked_part(name, "Mesh"))
        factor = checked_number(scale, "Mesh: scale", above=0.0)
        self.title = str(source) if isinstance(source, str | Path) else "..."
        mesh = _loaded(source)
        if not mesh.is_watertight:
            raise ProblemError(
                f"Mesh({self.title}): its surface is not closed (watertight), so that nothing is "
                "inside: mend it, for example by trimesh.repair.fill_holes"
            )
        if not mesh.is_winding_consistent:
            raise ProblemError(
                f"Mesh({self.title}): its triangles do not agree on what is outside: mend it, for "
                "example by trimesh.repair.fix_normals"
            )
        corners = factor * np.asarray(mesh.triangles, dtype=np.float64)
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        area = np.linalg.norm(cross, axis=1)
        corners = corners[area > 1e-15 * area.max()]  # what has no area has no normal
        self.triangles = Triangles(corners)
        if self.triangles.volume < 0.0:  # all of it is inside out
            self.triangles = Triangles(corners[:, ::-1].copy())
        self.lower, self.upper = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))

    def __repr__(self) -> str:
        return f"Mesh({self.title}, {len(self.triangles.areas)} triangles)"

    def to_boundary(self, points: PointArray) -> ColumnArray:
        """Return the distance to the nearest triangle."""
        return self.triangles.distance(points)

    def inside(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside."""
        return self.triangles.inside(points)

    def contains(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside or on the boundary, within rounding."""
        room = ROUNDING * self.size
        found = self.inside(points)
        found[~found] = self.triangles.distance(points[~found], room) <= room
        return found

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Place all points on the triangles, by their areas."""
        del part
        chosen, u = pick(unit[:, 0], self.triangles.areas)
        a, b, c = self.triangles.corners[chosen].transpose(1, 0, 2)
        root, v = np.sqrt(u)[:, None], unit[:, 1:2]
        points = (1.0 - root) * a + root * (1.0 - v) * b + root * v * c
        return points, self.triangles.normals[chosen], np.ones(len(unit), dtype=bool)

    @property
    def measure(self) -> float:
        """Its volume."""
        return self.triangles.volume

    def named_measure(self, part: Part) -> float:
        """The area of its surface."""
        del part
        return float(self.triangles.areas.sum())


def _loaded(source: Any) -> Any:
    """trimesh's mesh of a file, or the one that was given."""
    try:
        import trimesh
    except ImportError:
        raise ProblemError("Mesh needs trimesh: pip install 'pinnsig[geometry]'") from None
    if isinstance(source, trimesh.Trimesh):
        return source
    if not isinstance(source, str | Path):
        raise ProblemError(f"Mesh: {source!r:.60} is no file, such as 'part.stl'")
    if not Path(source).is_file():
        raise ProblemError(f"Mesh: there is no file {source}")
    try:
        mesh = trimesh.load_mesh(str(source))
    except Exception as error:
        raise ProblemError(f"Mesh: {source} cannot be read: {error}".partition("\n")[0]) from error
    if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
        raise ProblemError(f"Mesh: {source} holds no triangles")
    return mesh
