"""Networks: weights and forward pass, and the operations that a forward pass is made of."""

from pinnsig.networks.composition import Composition, compose
from pinnsig.networks.ffnn import FFNN, Stack, stack_key
from pinnsig.networks.operations import Structure
from pinnsig.networks.stand_ins import CompositionError

__all__ = ["FFNN", "Composition", "CompositionError", "Stack", "Structure", "compose", "stack_key"]
