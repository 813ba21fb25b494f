"""How the loss rises around a learned coefficient, all other parameters minimised again."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from pinnsig.objective import Objective
from pinnsig.run.judging.covariance import Curvature

REACH = 1.5  # half-widths of the interval, on either side
POINTS = 3  # on either side
STEPS = 30  # of L-BFGS at each point
DAMPING = 1e-4  # of the matrix that it is preconditioned by


@dataclass(frozen=True)
class Profile:
    """The lowest loss at given values of one coefficient.

    Attributes:
        values: of the coefficient, ascending.
        losses: with all other parameters minimised again, as far as some steps go.
        quadratic: what the Gauss-Newton matrix foretells.
    """

    values: list[float]
    losses: list[float]
    quadratic: list[float]


def profile(objective: Objective, found: Curvature, name: str, half: float) -> Profile:
    """Return the profile of a coefficient; the objective's parameters are put back.

    From the minimum outwards, every value begins where the one before it ended, moved along H^-1,
    and goes on by L-BFGS in the coordinates in which the damped H is the identity.

    Args:
        objective: the loss at its minimum.
        found: its Gauss-Newton matrix there.
        name: of the coefficient.
        half: half the width of its interval, in its parameter.
    """
    model, flat = objective.model, objective.flat
    place = len(flat) - len(model.start) + list(model.start).index(name)
    before = flat.copy()
    unit = torch.zeros_like(before)
    unit[place] = 1.0
    foretold = float(found.solve(unit.unsqueeze(1))[place])
    firm = found.damped(DAMPING)
    column = firm.solve(unit.unsqueeze(1)).squeeze(1)
    along = column / column[place]
    away = np.linspace(-REACH, REACH, 2 * POINTS + 1) * half
    try:
        middle, bottom = _minimised(objective, firm, before, place)
        losses = {POINTS: bottom}
        for way in (-1, 1):
            at = middle
            for i in range(1, POINTS + 1):
                number = POINTS + way * i
                step = float(away[number] - away[number - way])
                at, losses[number] = _minimised(objective, firm, at + step * along, place)
    finally:
        flat.restore(before)
    theta, bijection = model.unknowns[name].detach(), model.bijections[name]
    return Profile(
        [float(bijection.value(theta + float(x))) for x in away],
        [losses[i] for i in range(len(away))],
        [bottom + float(x) ** 2 / foretold for x in away],
    )


def _minimised(
    objective: Objective, found: Curvature, at: Tensor, place: int
) -> tuple[Tensor, float]:
    """Parameters near some, of which one is held, and their loss, which is lower."""
    scales = found.scales.clone()
    scales[place] = 0.0

    def moved(z: NDArray[np.float64]) -> Tensor:
        right = torch.from_numpy(z).to(at).unsqueeze(1)
        step = torch.linalg.solve_triangular(found.lower.mT, right, upper=True)
        return at + scales * step.squeeze(1)

    def loss(z: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        objective.flat.restore(moved(z))
        value = float(objective.evaluate().loss)
        slope = (scales * objective.flat.gradient).unsqueeze(1)
        pulled = torch.linalg.solve_triangular(found.lower, slope, upper=False)
        return value / size, pulled.squeeze(1).double().cpu().numpy() / size

    objective.flat.restore(at)
    size = float(objective.losses().loss) or 1.0
    best = minimize(
        loss, np.zeros(len(at)), jac=True, method="L-BFGS-B",
        options={"maxiter": STEPS, "maxfun": 2 * STEPS, "maxcor": STEPS},
    )  # fmt: skip
    return moved(best.x), size * float(best.fun)
