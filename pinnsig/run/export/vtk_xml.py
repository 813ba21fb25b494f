"""VTK's XML files, written as they are: arrays inline in base64.

Source: The VTK User's Guide (Kitware), "VTK File Formats", XML formats.
"""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import ExportError
from pinnsig.run.export.sample import Sample

MASK = "vtkValidPointMask"
"""The array that says which points count, by VTK's own name."""
MOST_AXES = 3
TYPES = {"f8": "Float64", "i8": "Int64", "u1": "UInt8"}

Text = Iterable[str]


def element(tag: str, attributes: Mapping[str, object], inside: Text = ()) -> Text:
    """Give the text of an XML element."""
    yield f"<{tag}{''.join(f' {k}={quoteattr(str(v))}' for k, v in attributes.items())}>\n"
    yield from inside
    yield f"</{tag}>\n"


def array(name: str, values: NDArray[np.generic], components: int = 1) -> Text:
    """Give an array, whose first dimension counts tuples."""
    packed = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    size = np.array([packed.nbytes], dtype="<u8").tobytes()
    about = {
        "type": TYPES[values.dtype.str[1:]],
        "Name": name,
        "NumberOfComponents": components,
        "format": "binary",
    }
    text = base64.b64encode(size + packed.tobytes()).decode()
    return element("DataArray", about, [text, "\n"])


def field_data(about: Mapping[str, str | float]) -> Text:
    """Give what is known of a file as a whole: texts and numbers."""

    def arrays() -> Text:
        for name, value in about.items():
            if isinstance(value, str):
                codes = " ".join(map(str, [*value.encode(), 0]))
                head = {"type": "String", "Name": name, "NumberOfTuples": 1, "format": "ascii"}
                yield from element("Array", head, [codes, "\n"])
            else:
                head = {"type": "Float64", "Name": name, "NumberOfTuples": 1, "format": "ascii"}
                yield from element("DataArray", head, [repr(float(value)), "\n"])

    return element("FieldData", {}, arrays())


def document(kind: str, inside: Text) -> bytes:
    """Return a whole file of a kind, such as ImageData."""
    about = {"type": kind, "version": "1.0", "byte_order": "LittleEndian", "header_type": "UInt64"}
    return "".join(('<?xml version="1.0"?>\n', *element("VTKFile", about, inside))).encode()


def point_data(arrays: Mapping[str, NDArray[np.generic]]) -> Text:
    """Give named arrays of a number at each point."""
    texts = (line for name, values in arrays.items() for line in array(name, values))
    return element("PointData", {"Scalars": next(iter(arrays), "")}, texts)


def collection(files: Sequence[tuple[float, str]]) -> bytes:
    """Return a .pvd file: other files, each at a time."""
    sets = (
        line
        for time, name in files
        for line in element("DataSet", {"timestep": repr(time), "part": 0, "file": name})
    )
    return document("Collection", element("Collection", {}, sets))


def axes_shown(sample: Sample, time: str | None, what: str) -> tuple[list[str], str | None]:
    """Return which coordinates of a grid are axes in space, and which makes a series of files.

    Coordinates of one value are none; time is one where there is room on a plane.

    Raises:
        ExportError: there are too many.
    """
    assert sample.axes is not None
    several = [name for name, values in sample.axes.items() if len(values) > 1]
    series = time if time in several and len(several) > MOST_AXES - 1 else None
    shown = [name for name in several if name != series]
    if len(shown) > MOST_AXES:
        raise ExportError(
            f"{what} shows {MOST_AXES} coordinates, not {', '.join(shown)}: fix some of them, as "
            f"in grid {shown[-1]}={sample.axes[shown[-1]][0]:g}"
        )
    return shown or list(sample.axes)[:1], series


def series(
    sample: Sample, time: str | None, path: Path, write: Callable[..., bytes]
) -> Iterable[tuple[str, bytes]]:
    """Give a file for each time, and a .pvd file that names them; one file where time is None.

    Args:
        sample: on a grid.
        time: the coordinate that files are apart by.
        path: that was asked for.
        write: gives what the file of a sample holds, of one time if it is given that.
    """
    if time is None:
        yield path.name, write(sample)
        return
    assert sample.axes is not None
    files = []
    digits = max(len(str(len(sample.axes[time]) - 1)), 4)
    for place, moment in enumerate(sample.axes[time].tolist()):
        name = f"{path.stem}-{place:0{digits}}{path.suffix}"
        files.append((moment, name))
        yield name, write(sample.at(time, place), moment)
    yield f"{path.stem}.pvd", collection(files)
