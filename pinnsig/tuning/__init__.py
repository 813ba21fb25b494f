"""Hyperparameter search with Optuna: settings of `solve`, on the executors of sweeps."""

from pinnsig.tuning.objectives import OBJECTIVES
from pinnsig.tuning.planning import plan_tuning
from pinnsig.tuning.search import TuningWatcher
from pinnsig.tuning.space import Axis, read_space
from pinnsig.tuning.spec import PRUNERS, TuningSpec
from pinnsig.tuning.table import Trial, Tuned
from pinnsig.tuning.tuning import tune

__all__ = [
    "OBJECTIVES",
    "PRUNERS",
    "Axis",
    "Trial",
    "Tuned",
    "TuningSpec",
    "TuningWatcher",
    "plan_tuning",
    "read_space",
    "tune",
]
