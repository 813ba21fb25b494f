"""VTK unstructured grids: the cells of a grid inside a domain, or points as they are."""

import itertools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.types import PointArray
from pinnsig.run.export.formats import Files, register_format
from pinnsig.run.export.sample import Sample
from pinnsig.run.export.source import Source
from pinnsig.run.export.vtk_xml import (
    MOST_AXES,
    Text,
    array,
    axes_shown,
    document,
    element,
    field_data,
    point_data,
    series,
)

VERTEX = 1
CELLS = {1: 3, 2: 8, 3: 11}
"""VTK's numbers of a line, a pixel and a voxel, by dimension."""

Cells = NDArray[np.int64]
"""The points of each cell, shape (cells, points of a cell)."""


@register_format("vtu", "cells inside any domain, or given points, for ParaView and VTK")
def write_vtu(source: Source, path: Path) -> Files:
    """One file, or one for each time and a .pvd file."""
    sample, time = source.sample(), source.problem.domain.time
    if sample.axes is None:
        several = [n for n, column in sample.points.items() if np.ptp(column) > 0]
        space = [n for n in several if n != time or len(several) < MOST_AXES]
        shown = space[:MOST_AXES] or list(sample.points)[:1]
        cells = np.arange(sample.shape[0]).reshape(-1, 1)
        yield path.name, document("UnstructuredGrid", _grid(source, sample, shown, cells, {}))
        return
    axes = sample.axes
    shown, by_time = axes_shown(sample, time, "vtu")

    def write(part: Sample, moment: float | None = None) -> bytes:
        fixed = {n: float(v[0]) for n, v in axes.items() if n not in shown and n != by_time}
        if by_time is not None and moment is not None:
            fixed |= {by_time: moment, "TimeValue": moment}
        shape = [len(axes[name]) for name in shown]
        return document("UnstructuredGrid", _grid(source, part, shown, _cells(shape), fixed))

    yield from series(sample, by_time, path, write)


def _cells(shape: list[int]) -> Cells:
    """The cells of a grid, their first coordinate changing fastest, as VTK has it."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    corners = []
    for upper in itertools.product((0, 1), repeat=len(shape)):  # the last changes fastest
        steps = zip(upper[::-1], shape, strict=True)
        corners.append(numbers[tuple(slice(u, n - 1 + u) for u, n in steps)].ravel())
    return np.stack(corners, axis=1)


def _grid(
    source: Source, sample: Sample, shown: list[str], cells: Cells, fixed: dict[str, float]
) -> Text:
    columns = sample.columns()
    if sample.inside is not None:  # points outside are left out, with every cell that has one
        numbers = np.cumsum(sample.inside) - 1
        cells = numbers[cells[sample.inside[cells].all(axis=1)]]
    places = np.zeros((len(next(iter(columns.values()))), MOST_AXES))
    for axis, name in enumerate(shown):
        places[:, axis] = columns[name]
    kind = VERTEX if cells.shape[1] == 1 else CELLS[len(shown)]
    yield from element("UnstructuredGrid", {}, _inside(source, places, cells, kind, columns, fixed))


def _inside(
    source: Source,
    places: PointArray,
    cells: Cells,
    kind: int,
    columns: dict[str, NDArray[np.float64]],
    fixed: dict[str, float],
) -> Text:
    corners = cells.shape[1]
    described = (
        *array("connectivity", cells.ravel().astype(np.int64)),
        *array("offsets", np.arange(1, len(cells) + 1, dtype=np.int64) * corners),
        *array("types", np.full(len(cells), kind, dtype=np.uint8)),
    )
    inside = (
        *element("Points", {}, array("Points", places, MOST_AXES)),
        *element("Cells", {}, described),
        *point_data({n: v for n, v in columns.items() if n not in fixed}),
    )
    size = {"NumberOfPoints": len(places), "NumberOfCells": len(cells)}
    yield from field_data({**source.about, **fixed})
    yield from element("Piece", size, inside)
