"""Optimisers that act on one flat vector of parameters."""

from pinnsig.optim.base import LIMIT, Measured, Optimizer, Step
from pinnsig.optim.first_order import Adam, AdamW, FirstOrder, RAdam
from pinnsig.optim.lbfgs import LBFGS
from pinnsig.optim.line_search import StrongWolfe
from pinnsig.optim.schedules import SCHEDULES, Schedule

OPTIMIZERS: dict[str, type[Optimizer]] = {kind.name: kind for kind in (Adam, AdamW, RAdam, LBFGS)}
"""What a phase can name."""

__all__ = [
    "LBFGS",
    "LIMIT",
    "OPTIMIZERS",
    "SCHEDULES",
    "Adam",
    "AdamW",
    "FirstOrder",
    "Measured",
    "Optimizer",
    "RAdam",
    "Schedule",
    "Step",
    "StrongWolfe",
]
