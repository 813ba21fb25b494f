"""Training: phases of optimisers on an objective, with all that is kept, watched and resumed."""

from pinnsig.training.answers import Asked, evaluate_alone
from pinnsig.training.phase import Phase
from pinnsig.training.points import Draw, Fresh, NewPoints, ResidualBased
from pinnsig.training.records import (
    ERROR_REACHED,
    EVALUATION_LIMIT,
    FINISHED,
    INTERRUPTED,
    LOSS_REACHED,
    NON_FINITE,
    TIME_LIMIT,
    Outcome,
    PhaseReport,
    Record,
    Watcher,
)
from pinnsig.training.trainer import Limits, Trainer

__all__ = [
    "ERROR_REACHED",
    "EVALUATION_LIMIT",
    "FINISHED",
    "INTERRUPTED",
    "LOSS_REACHED",
    "NON_FINITE",
    "TIME_LIMIT",
    "Asked",
    "Draw",
    "Fresh",
    "Limits",
    "NewPoints",
    "Outcome",
    "Phase",
    "PhaseReport",
    "Record",
    "ResidualBased",
    "Trainer",
    "Watcher",
    "evaluate_alone",
]
