"""Activations: odd-sigmoid ones (paper, section 4.1, appendix B.1) and other smooth functions."""

from pinnsig.activations.algebra import Scaled, Stretched, Sum
from pinnsig.activations.base import MAX_ORDER, Activation, OddSigmoid
from pinnsig.activations.expressions import build_activation, parse_activation, parse_function
from pinnsig.activations.joined import join, structure
from pinnsig.activations.library import (
    Arctan,
    Erf,
    Gudermannian,
    Tanh,
    arctan,
    arctan_normalised,
    erf,
    gd,
    tanh,
)
from pinnsig.activations.membership import Condition, Membership, check_membership
from pinnsig.activations.registry import (
    ACTIVATIONS,
    FACTORIES,
    find_activation,
    register_activation,
)
from pinnsig.activations.smooth import Sin, sin
from pinnsig.activations.softsigns import Softsign, softsign, softsign1, softsign2, softsign3

__all__ = [
    "ACTIVATIONS",
    "FACTORIES",
    "MAX_ORDER",
    "Activation",
    "Arctan",
    "Condition",
    "Erf",
    "Gudermannian",
    "Membership",
    "OddSigmoid",
    "Scaled",
    "Sin",
    "Softsign",
    "Stretched",
    "Sum",
    "Tanh",
    "arctan",
    "arctan_normalised",
    "build_activation",
    "check_membership",
    "erf",
    "find_activation",
    "gd",
    "join",
    "parse_activation",
    "parse_function",
    "register_activation",
    "sin",
    "softsign",
    "softsign1",
    "softsign2",
    "softsign3",
    "structure",
    "tanh",
]
