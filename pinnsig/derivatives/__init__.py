"""The derivative engine: which partials are needed, and how they pass through a network."""

from pinnsig.derivatives.engine import (
    ENGINES,
    Engine,
    ForwardPass,
    choose_engine,
    output_jets,
    register_engine,
    symbol_jets,
)
from pinnsig.derivatives.inputs import Features, column_jets, coordinate_jets, input_partials
from pinnsig.derivatives.jet import Jet
from pinnsig.derivatives.plan import Plan, parse_partial, partial_name
from pinnsig.derivatives.symbols import Symbol, Trace

# engines register themselves, in order of preference
from pinnsig.derivatives.fused import FusedEngine  # isort: skip
from pinnsig.derivatives.taylor import JetsEngine  # isort: skip
from pinnsig.derivatives.nested import NestedEngine  # isort: skip

__all__ = [
    "ENGINES",
    "Engine",
    "Features",
    "ForwardPass",
    "FusedEngine",
    "Jet",
    "JetsEngine",
    "NestedEngine",
    "Plan",
    "Symbol",
    "Trace",
    "choose_engine",
    "column_jets",
    "coordinate_jets",
    "input_partials",
    "output_jets",
    "parse_partial",
    "partial_name",
    "register_engine",
    "symbol_jets",
]
