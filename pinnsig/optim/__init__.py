"""Optimisers that act on one flat vector of parameters, and ask for what they need."""

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import Registry
from pinnsig.optim.base import (
    LIMIT,
    Gradient,
    Jacobian,
    Layout,
    Loss,
    Measured,
    Optimizer,
    Pullback,
    Request,
    Residuals,
    Rows,
    SharedRows,
    Step,
    Steps,
    drive,
)
from pinnsig.optim.broyden import BFGS, SSBFGS, SSBroyden
from pinnsig.optim.first_order import Adam, AdamW, FirstOrder, RAdam
from pinnsig.optim.gauss_newton import LM, GaussNewtonCG
from pinnsig.optim.lbfgs import LBFGS
from pinnsig.optim.line_search import StrongWolfe
from pinnsig.optim.muon import Muon
from pinnsig.optim.quasi_newton import (
    CONVERGED_CHANGE,
    CONVERGED_GRADIENT,
    LINE_SEARCH_FAILED,
    QuasiNewton,
)
from pinnsig.optim.schedules import SCHEDULES, Schedule
from pinnsig.optim.torch_optimizer import TORCH_OPTIMIZERS, Make, TorchOptimizer

OPTIMIZERS: Registry[type[Optimizer]] = Registry(
    "optimiser",
    SettingsError,
    {
        cls.name: cls
        for cls in (
            *(Adam, AdamW, RAdam, Muon, LBFGS),
            *(BFGS, SSBFGS, SSBroyden, LM, GaussNewtonCG),
        )
    },
)
"""What a phase can name."""

__all__ = [
    "BFGS",
    "CONVERGED_CHANGE",
    "CONVERGED_GRADIENT",
    "LBFGS",
    "LIMIT",
    "LINE_SEARCH_FAILED",
    "LM",
    "OPTIMIZERS",
    "SCHEDULES",
    "SSBFGS",
    "TORCH_OPTIMIZERS",
    "Adam",
    "AdamW",
    "FirstOrder",
    "GaussNewtonCG",
    "Gradient",
    "Jacobian",
    "Layout",
    "Loss",
    "Make",
    "Measured",
    "Muon",
    "Optimizer",
    "Pullback",
    "QuasiNewton",
    "RAdam",
    "Request",
    "Residuals",
    "Rows",
    "SSBroyden",
    "Schedule",
    "SharedRows",
    "Step",
    "Steps",
    "StrongWolfe",
    "TorchOptimizer",
    "drive",
]
