"""The loss of functions that know nothing: what a trained network has to beat."""

import copy
import math

import torch
from torch import Tensor

from pinnsig.activations import tanh
from pinnsig.model import Model
from pinnsig.model.fields import input_count
from pinnsig.networks import FFNN
from pinnsig.objective import Objective
from pinnsig.objective.rows import LeastSquares

ABSURD = 1e12  # times the loss of the zero function, or 1 where that has less
STEPS = 10  # of Gauss-Newton for the constants
DIFFERENCE = 1e-6


def zero_loss(objective: Objective) -> float:
    """Return the loss at an objective's points of a network whose raw outputs are all zero.

    The objective, its model and its count of evaluations stay as they are.
    """
    return float(_silent(objective).losses().loss)


def absurd_start(start_loss: float, zero_loss: float) -> bool:
    """Return whether a start is so much worse than the zero function that it should not be trained.

    Args:
        start_loss: of the initialised network.
        zero_loss: of the zero function at the same points.
    """
    if not math.isfinite(start_loss):
        return True
    return math.isfinite(zero_loss) and start_loss > ABSURD * max(zero_loss, 1.0)


def constant_loss(objective: Objective) -> float:
    """Return the lowest loss that was found for raw outputs that are constant.

    Gauss-Newton from the zero function on, in the biases of the output layer alone.
    """
    silent = _silent(objective)
    assert isinstance(silent.model.network, FFNN)
    bias = silent.model.network.output.bias.data
    rows = LeastSquares(silent)

    def residuals(at: Tensor) -> Tensor:
        bias.copy_(at)
        return rows.residuals().double()

    point = torch.zeros_like(bias)
    r = residuals(point)
    for _ in range(STEPS):
        steps = DIFFERENCE * torch.eye(len(bias), dtype=bias.dtype, device=bias.device)
        columns = [(residuals(point + h) - residuals(point - h)) / (2 * DIFFERENCE) for h in steps]
        jacobian = torch.stack(columns, dim=1)
        if not (r.isfinite().all() and jacobian.isfinite().all()):
            break
        gram = jacobian.T @ jacobian
        gram.diagonal().add_(1e-14 * float(gram.trace()) or 1.0)
        d = -torch.linalg.solve(gram, jacobian.T @ r).to(point)
        moved = residuals(point + d)
        if not float(moved @ moved) < (1 - 1e-3) * float(r @ r):
            break
        point, r = point + d, moved
    return float(r @ r)


def private(model: Model, dtype: torch.dtype = torch.float64) -> Model:
    """Return a copy of a model in another type, which shares nothing with it but its problem."""
    return copy.deepcopy(model, {id(model.problem): model.problem}).to(dtype)


def _silent(objective: Objective) -> Objective:
    """The same loss, in float64 where the device has it, of the smallest network, all zero."""
    flat, problem = objective.flat.values, objective.model.problem
    dtype = flat.dtype if flat.device.type == "mps" else torch.float64
    model = private(objective.model, dtype)
    sizes = input_count(problem), len(problem.outputs)
    model.network = FFNN(*sizes, 1, 1, tanh, dtype, flat.device)
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.zero_()
    return objective.of(model)
