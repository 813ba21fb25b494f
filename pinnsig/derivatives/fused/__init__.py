"""The `fused` engine: a whole network in one GPU kernel forward and one backward."""

from pinnsig.derivatives.fused import formulas as formulas  # registers the library's forms
from pinnsig.derivatives.fused.engine import FusedEngine
from pinnsig.derivatives.fused.forms import FORMS, register_form
from pinnsig.derivatives.fused.operation import PRECISIONS, Tuning

__all__ = ["FORMS", "PRECISIONS", "FusedEngine", "Tuning", "register_form"]
