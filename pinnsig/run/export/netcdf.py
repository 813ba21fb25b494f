"""netCDF files, by xarray and h5netcdf."""

from pathlib import Path
from typing import Any

from pinnsig.core.errors import ExportError
from pinnsig.core.extras import require_extra
from pinnsig.run.export.formats import Files, register_format
from pinnsig.run.export.source import REFERENCE, Source

CONVENTIONS = "CF-1.11"


@register_format("netcdf", "arrays with named coordinates, for xarray", ".nc")
def write_netcdf(source: Source, path: Path) -> Files:
    """A variable for each quantity, over the coordinates of the grid, or over `point`."""
    xarray = require_extra("xarray", "export", "netCDF", ExportError)
    require_extra("h5netcdf", "export", "netCDF", ExportError)
    sample = source.sample()
    dimensions = ("point",) if sample.axes is None else tuple(sample.axes)
    coordinates: dict[str, Any] = {
        name: (name if sample.axes else "point", values, _about_coordinate(source, name))
        for name, values in (sample.axes or sample.points).items()
    }
    variables = {
        name: (dimensions, values.reshape(sample.shape), {"long_name": _in_words(name)})
        for name, values in sample.values.items()
    }
    data = xarray.Dataset(
        variables, coordinates, {"Conventions": CONVENTIONS, **_attributes(source)}
    )
    yield path.name, bytes(data.to_netcdf(engine="h5netcdf"))


def _about_coordinate(source: Source, name: str) -> dict[str, str]:
    is_time = name == source.problem.domain.time
    return {"long_name": name, **({"axis": "T"} if is_time else {})}


def _in_words(name: str) -> str:
    if name.endswith(REFERENCE):
        return f"{name.removesuffix(REFERENCE)}, reference solution"
    return f"{name}, predicted"


def _attributes(source: Source) -> dict[str, str | float]:
    """What is known of the run, under names that netCDF knows."""
    return {name.replace(" ", "_"): value for name, value in source.about.items()}
