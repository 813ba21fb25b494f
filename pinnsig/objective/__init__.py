"""The loss and its gradient, from a problem's terms at given points."""

from pinnsig.objective.blocks import Block, expressions, make_blocks
from pinnsig.objective.loss import Delegate, Evaluation, Objective

__all__ = ["Block", "Delegate", "Evaluation", "Objective", "expressions", "make_blocks"]
