"""Runs in formats of other programs: fields at points, or the model itself.

A format is a function under `register_format` that gives the bytes of its files; an import here
makes it known.
"""

from pinnsig.run.export import netcdf, onnx_file, tables, torch_file, vti, vtu
from pinnsig.run.export.formats import (
    FORMATS,
    Files,
    Format,
    choose_format,
    register_format,
    write_export,
)
from pinnsig.run.export.source import Source, about_run
from pinnsig.run.export.tables import check_table, write_table

__all__ = [
    "FORMATS",
    "Files",
    "Format",
    "Source",
    "about_run",
    "check_table",
    "choose_format",
    "netcdf",
    "onnx_file",
    "register_format",
    "tables",
    "torch_file",
    "vti",
    "vtu",
    "write_export",
    "write_table",
]
