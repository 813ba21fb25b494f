"""The loss and its gradient, from a problem's terms at given points."""

from pinnsig.objective.blocks import Block, BoundTerms, expressions, make_blocks
from pinnsig.objective.dependence import check_learned
from pinnsig.objective.evaluation import Evaluation
from pinnsig.objective.loss import Objective
from pinnsig.objective.weights import Weights

__all__ = [
    "Block",
    "BoundTerms",
    "Evaluation",
    "Objective",
    "Weights",
    "check_learned",
    "expressions",
    "make_blocks",
]
