"""VTK image data: fields on a regular grid."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import ExportError
from pinnsig.run.export.formats import Files, register_format
from pinnsig.run.export.sample import Sample
from pinnsig.run.export.source import Source
from pinnsig.run.export.vtk_xml import (
    MASK,
    MOST_AXES,
    Text,
    axes_shown,
    document,
    element,
    field_data,
    point_data,
    series,
)

EVEN = 1e-6  # of a step: by how much it may differ from another


@register_format("vti", "regular grid, for ParaView and VTK")
def write_vti(source: Source, path: Path) -> Files:
    """One file, or one for each time and a .pvd file."""
    sample, time = source.sample(), source.problem.domain.time
    if sample.axes is None:
        raise ExportError("vti holds a regular grid: give one, or take vtu for other points")
    shown, by_time = axes_shown(sample, time, "vti")
    for name in shown:
        steps = np.diff(sample.axes[name])
        if len(steps) and np.ptp(steps) > EVEN * steps.mean():
            raise ExportError(f"vti needs evenly spaced values, and those of {name} are not: vtu")

    def write(part: Sample, moment: float | None = None) -> bytes:
        return document("ImageData", _image(source, part, shown, moment))

    yield from series(sample, by_time, path, write)


def _image(source: Source, sample: Sample, shown: list[str], moment: float | None) -> Text:
    assert sample.axes is not None
    axes = [sample.axes[name] for name in shown]
    more = MOST_AXES - len(axes)
    extent = " ".join(f"0 {len(axis) - 1}" for axis in axes) + " 0 0" * more
    steps = [(a[-1] - a[0]) / (len(a) - 1) if len(a) > 1 else 1.0 for a in axes]
    place = {
        "WholeExtent": extent,
        "Origin": " ".join(repr(float(v)) for v in [*(a[0] for a in axes), *[0.0] * more]),
        "Spacing": " ".join(repr(float(v)) for v in [*steps, *[1.0] * more]),
    }
    fixed = {n: float(v[0]) for n, v in sample.axes.items() if n not in shown}
    if moment is not None:
        fixed["TimeValue"] = moment
    yield from element("ImageData", place, _inside(source, sample, extent, fixed))


def _inside(source: Source, sample: Sample, extent: str, fixed: dict[str, float]) -> Text:
    arrays: dict[str, NDArray[np.generic]] = dict(sample.values)
    if sample.inside is not None:
        arrays[MASK] = sample.inside.astype(np.uint8)
    # VTK has the first coordinate change fastest
    turned = {n: v.reshape(sample.shape).ravel(order="F") for n, v in arrays.items()}
    yield from field_data({**source.about, **fixed})
    yield from element("Piece", {"Extent": extent}, point_data(turned))
