"""The model in ONNX, made by torch's exporter and tried with onnxruntime."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pinnsig.core.errors import ExportError, one_line
from pinnsig.core.extras import require_extra
from pinnsig.run.export.formats import Files, register_format
from pinnsig.run.export.program import Check, Program, trace
from pinnsig.run.export.source import Source

PACKAGES = ("onnx", "onnxscript", "onnxruntime")
TYPES: dict[int, type[np.generic]] = {1: np.float32, 7: np.int64, 9: np.bool_, 11: np.float64}
"""By ONNX's numbers of types."""


@register_format("onnx", "the model in ONNX", is_model=True)
def write_onnx(source: Source, path: Path) -> Files:
    """The graph, once onnxruntime reads it back and gives the run's values."""
    for package in PACKAGES:
        require_extra(package, "onnx", "ONNX", ExportError)
    data = _translated(trace(source))
    check = Check(source)
    check.require(_run(source, data, check), "the ONNX graph")
    yield path.name, data


def _translated(program: Program) -> bytes:
    source = program.source
    try:
        with _quiet():
            made: Any = torch.onnx.export(
                program.exported,
                program.example,
                dynamo=True,
                verbose=False,
                input_names=list(source.problem.domain.names),
                output_names=list(source.quantities),
                custom_translation_table=_exact_numbers(),
            )
        proto = made.model_proto
    except Exception as error:  # torch's exporter has many of its own
        raise ExportError(f"ONNX cannot say what the model does: {_reason(error)}") from error
    for key, value in program.metadata.items():
        proto.metadata_props.add(key=key, value=value)
    return proto.SerializeToString()


def _run(source: Source, data: bytes, check: Check) -> dict[str, Any]:
    """What onnxruntime makes of a graph."""
    runtime = require_extra("onnxruntime", "onnx", "ONNX", ExportError)
    names = source.problem.domain.names
    given = {n: c.numpy() for n, c in zip(names, check.columns, strict=True)}
    wanted = list(source.quantities)
    try:
        session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
        return dict(zip(wanted, session.run(wanted, given), strict=True))
    except Exception as error:  # of its own types, such as a function that it lacks in float64
        raise ExportError(
            f"onnxruntime cannot run the graph: {_reason(error)}; export to pt2, or solve with "
            "dtype float32"
        ) from error


def _exact_numbers() -> dict[Any, Any]:
    """Translations of numbers, which torch's own would round to float32."""
    script = require_extra("onnxscript", "onnx", "ONNX", ExportError)
    op = script.opset18

    def constant(value: float, kind: type[np.generic]) -> Any:
        return op.Constant(value=script.ir.tensor(np.array(value, kind)))

    def scalar_tensor(
        s: float, dtype: int = 1, layout: str = "", device: str = "", pin_memory: bool = False
    ) -> Any:
        del layout, device, pin_memory
        return constant(s, TYPES[dtype])

    def power_of_number(self: float, exponent: Any) -> Any:
        return op.Pow(op.CastLike(constant(self, np.float64), exponent), exponent)

    aten = torch.ops.aten
    return {aten.scalar_tensor.default: scalar_tensor, aten.pow.Scalar: power_of_number}


def _reason(error: Exception) -> str:
    """The last line of what goes wrong deep inside, shortened."""
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    return one_line(cause)[:300]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's warnings of its own to itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
