"""Optimisers that act on one flat vector of parameters."""

from pinnsig.optim.adam import Adam
from pinnsig.optim.base import Optimizer, Step
from pinnsig.optim.lbfgs import LBFGS
from pinnsig.optim.line_search import StrongWolfe

__all__ = ["LBFGS", "Adam", "Optimizer", "Step", "StrongWolfe"]
