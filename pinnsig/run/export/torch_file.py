"""The model as a program of torch.export, in a .pt2 file."""

import io
import json
from pathlib import Path

import torch

from pinnsig.run.export.formats import Files, register_format
from pinnsig.run.export.program import Check, trace
from pinnsig.run.export.source import Source

METADATA = "metadata.json"
"""The name of what is told of the run, among a file's extra files."""


@register_format("pt2", "the model as a program of torch.export", is_model=True)
def write_pt2(source: Source, path: Path) -> Files:
    """The program, once what was written reads back and gives the run's values."""
    program = trace(source)
    stream = io.BytesIO()
    extra = {METADATA: json.dumps(program.metadata)}
    torch.export.save(program.exported, stream, extra_files=extra)
    check = Check(source)
    back = torch.export.load(io.BytesIO(stream.getvalue())).module()
    with torch.no_grad():
        found = back(*check.columns)
    check.require({name: values.numpy() for name, values in found.items()}, "the pt2 program")
    yield path.name, stream.getvalue()
