"""The derivative engine: which partials are needed, and how they pass through a network."""

from pinnsig.jets.engine import (
    ENGINES,
    Carried,
    Engine,
    Features,
    choose_engine,
    column_jets,
    coordinate_jets,
    input_partials,
    output_jets,
    register_engine,
    symbol_jets,
)
from pinnsig.jets.fields import (
    features_of,
    fields_at,
    fields_from,
    fields_of,
    input_count,
    network_inputs,
    record,
)
from pinnsig.jets.jet import Jet
from pinnsig.jets.plan import Plan, parse_partial, partial_name
from pinnsig.jets.symbols import Listing, Symbol

# engines register themselves, in order of preference
from pinnsig.jets.fused import FusedEngine  # isort: skip
from pinnsig.jets.taylor import JetsEngine  # isort: skip
from pinnsig.jets.nested import NestedEngine  # isort: skip

__all__ = [
    "ENGINES",
    "Carried",
    "Engine",
    "Features",
    "FusedEngine",
    "Jet",
    "JetsEngine",
    "Listing",
    "NestedEngine",
    "Plan",
    "Symbol",
    "choose_engine",
    "column_jets",
    "coordinate_jets",
    "features_of",
    "fields_at",
    "fields_from",
    "fields_of",
    "input_count",
    "input_partials",
    "network_inputs",
    "output_jets",
    "parse_partial",
    "partial_name",
    "record",
    "register_engine",
    "symbol_jets",
]
