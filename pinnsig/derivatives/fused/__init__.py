"""The `fused` engine: a whole network in one GPU kernel forward and one backward."""

from pinnsig.derivatives.fused.engine import FusedEngine
from pinnsig.derivatives.fused.operation import PRECISIONS, Tuning

__all__ = ["PRECISIONS", "FusedEngine", "Tuning"]
