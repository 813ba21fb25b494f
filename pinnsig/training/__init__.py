"""Training: phases of optimisers on an objective, with all that is kept, watched and resumed."""

from pinnsig.training.answers import EvaluationRequest, evaluate_alone
from pinnsig.training.limits import Clock, Limits
from pinnsig.training.mini_batches import MiniBatches
from pinnsig.training.phase import Phase
from pinnsig.training.points import Draw, DrawInside, Fresh, NewPoints, ResidualBased
from pinnsig.training.records import (
    ERROR_REACHED,
    EVALUATION_LIMIT,
    FAILED,
    FINISHED,
    INTERRUPTED,
    LOSS_REACHED,
    NON_FINITE,
    TIME_LIMIT,
    Outcome,
    PhaseReport,
    Record,
    StopTraining,
    Watcher,
)
from pinnsig.training.trainer import Trainer

__all__ = [
    "ERROR_REACHED",
    "EVALUATION_LIMIT",
    "FAILED",
    "FINISHED",
    "INTERRUPTED",
    "LOSS_REACHED",
    "NON_FINITE",
    "TIME_LIMIT",
    "Clock",
    "Draw",
    "DrawInside",
    "EvaluationRequest",
    "Fresh",
    "Limits",
    "MiniBatches",
    "NewPoints",
    "Outcome",
    "Phase",
    "PhaseReport",
    "Record",
    "ResidualBased",
    "StopTraining",
    "Trainer",
    "Watcher",
    "evaluate_alone",
]
