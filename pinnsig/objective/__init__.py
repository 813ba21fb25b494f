"""The loss and its gradient, from a problem's terms at given points."""

from pinnsig.objective.blocks import Block, expressions, make_blocks
from pinnsig.objective.loss import Evaluation, Evaluator, Objective

__all__ = ["Block", "Evaluation", "Evaluator", "Objective", "expressions", "make_blocks"]
