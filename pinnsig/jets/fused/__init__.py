"""The `fused` engine: a whole network in one GPU kernel forward and one backward."""

from pinnsig.jets.fused import formulas as formulas  # registers the library's forms
from pinnsig.jets.fused.engine import FusedEngine
from pinnsig.jets.fused.forms import FORMS, register_form
from pinnsig.jets.fused.operation import PRECISIONS, Tuning

__all__ = ["FORMS", "PRECISIONS", "FusedEngine", "Tuning", "register_form"]
