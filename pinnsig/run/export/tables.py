"""Tables: a row for each point, a column for each coordinate and quantity."""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import ExportError
from pinnsig.core.extras import require_extra
from pinnsig.core.files import write_reported
from pinnsig.core.paths import plain
from pinnsig.run.export.formats import Files, register_format
from pinnsig.run.export.source import Source
from pinnsig.run.point_tables import FILES


@register_format("csv", "table as text, a row for each point")
def write_csv(source: Source, path: Path) -> Files:
    """A line of names, then numbers that read back to the same bit."""
    yield path.name, csv_bytes(source.sample().columns())


@register_format("parquet", "table in columns, a row for each point", ".parquet", ".pq")
def write_parquet(source: Source, path: Path) -> Files:
    """What is known of the run stands in the metadata of the schema."""
    yield path.name, parquet_bytes(source.sample().columns(), source.about)


def check_table(path: Path) -> None:
    """Refuse a path whose name is that of no table.

    Raises:
        ExportError: it ends otherwise.
    """
    if path.suffix.lower() not in FILES:
        raise ExportError(f"{plain(str(path))} must end with {' or '.join(FILES)}")


def write_table(columns: Mapping[str, NDArray[np.float64]], path: Path) -> Path:
    """Write columns to a CSV or Parquet file, by its name, whole or not at all.

    Raises:
        ExportError: another name, no pyarrow, or a file that cannot be written.
    """
    check_table(path)
    is_text = path.suffix.lower() == ".csv"
    data = csv_bytes(columns) if is_text else parquet_bytes(columns, {})
    return write_reported(path, data, ExportError)


def csv_bytes(columns: Mapping[str, NDArray[np.float64]]) -> bytes:
    """Return columns as a CSV file."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return stream.getvalue().encode()


def parquet_bytes(
    columns: Mapping[str, NDArray[np.float64]], about: Mapping[str, str | float]
) -> bytes:
    """Return columns as a Parquet file.

    Raises:
        ExportError: pyarrow is not installed.
    """
    arrow = require_extra("pyarrow", "parquet", "Parquet", ExportError)
    parquet = require_extra("pyarrow.parquet", "parquet", "Parquet", ExportError)
    table = arrow.table(dict(columns)).replace_schema_metadata({"pinnsig": json.dumps(dict(about))})
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()
