"""pinnsig: physics-informed neural networks for odd-sigmoid activations.

import pinnsig
result = pinnsig.solve("burgers", act="tanh", scale=1.3)
model = pinnsig.load(result.path)
model.predict(x=0.1, t=0.5, of=("u", "u.x"))
"""

from pinnsig.core import figure_backend as _figure_backend  # noqa: F401, before matplotlib
from pinnsig.core.errors import PinnsigError
from pinnsig.core.version import __version__
from pinnsig.problem import (
    Box,
    Choice,
    Coefficient,
    Dirichlet,
    Initial,
    Neumann,
    On,
    Periodic,
    PointData,
    Problem,
    Robin,
)
from pinnsig.reports import report
from pinnsig.run.callbacks import Callback
from pinnsig.run.loading import TrainedModel, load
from pinnsig.run.solver import Result, resume, solve
from pinnsig.sweeps import SweepTable, sweep
from pinnsig.training import StopTraining
from pinnsig.tuning import Tuned, tune

__all__ = [
    "Box",
    "Callback",
    "Choice",
    "Coefficient",
    "Dirichlet",
    "Initial",
    "Neumann",
    "On",
    "Periodic",
    "PinnsigError",
    "PointData",
    "Problem",
    "Result",
    "Robin",
    "StopTraining",
    "SweepTable",
    "TrainedModel",
    "Tuned",
    "__version__",
    "load",
    "report",
    "resume",
    "solve",
    "sweep",
    "tune",
]
