"""All that is found out about a trained network at points that it was not trained on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import torch

from pinnsig.core.errors import one_line
from pinnsig.objective import Objective
from pinnsig.run.judging.baseline import constant_loss, private, zero_loss
from pinnsig.run.judging.coefficients import Learned, learned_coefficients
from pinnsig.run.judging.estimate import Estimate, estimate_error
from pinnsig.run.judging.independent import Independent, judge_residuals
from pinnsig.run.judging.quadrature import QuadratureError, quadrature_errors
from pinnsig.run.judging.uncertainty import Uncertainty, noise_uncertainty

Value = TypeVar("Value")


@dataclass
class Judgement:
    """What was found; None stands for what could not be had, and `failures` says why.

    Attributes:
        independent: residuals at independent points.
        estimate: of the error.
        zero_loss, constant_loss: of the zero function and of the best constant, at the points of
            the training.
        coefficients: what is known of every learned coefficient.
        quadrature: what the integrals of conditions are off by, by term.
        uncertainty: what noise in the data leaves unknown; None where nothing is learned.
        failures: a line each.
    """

    independent: Independent | None = None
    estimate: Estimate | None = None
    zero_loss: float | None = None
    constant_loss: float | None = None
    coefficients: dict[str, Learned] = field(default_factory=dict)
    quadrature: dict[str, QuadratureError] = field(default_factory=dict)
    uncertainty: Uncertainty | None = None
    failures: list[str] = field(default_factory=list)

    @property
    def baseline(self) -> float | None:
        """The lower loss of the two functions that know nothing."""
        known = [loss for loss in (self.zero_loss, self.constant_loss) if loss is not None]
        return min(known, default=None)


def judge(
    objective: Objective, trained: Mapping[str, float], seed: int, profiles: bool = True
) -> Judgement:
    """Return what independent points say of a network; nothing that it finds ends a run.

    Model, parameters, evaluations and random streams stay as they are: it works on a copy.

    Args:
        objective: the loss, with the model's parameters as they are to be judged.
        trained: mean squares by term at the objective's points.
        seed: of the run.
        profiles: whether figures need the loss around learned coefficients.
    """
    found = Judgement()

    def attempt(what: str, call: Callable[[], Value]) -> Value | None:
        try:
            with torch.random.fork_rng(devices=()):
                return call()
        except Exception as error:  # the problem's own code, memory, a matrix: the run is done
            found.failures.append(f"{what} could not be had: {one_line(error)}")
            return None

    def copied() -> Objective:
        flat = objective.flat.values
        wide = flat.dtype if flat.device.type == "mps" else torch.float64
        return objective.of(private(objective.model, wide))

    found.zero_loss = attempt("the loss of the zero function", lambda: zero_loss(objective))
    found.constant_loss = attempt("the loss of a constant", lambda: constant_loss(objective))
    found.independent = attempt(
        "the residual at independent points",
        lambda: judge_residuals(copied(), dict(trained), seed),
    )
    found.estimate = attempt("an estimate of the error", lambda: estimate_error(copied(), seed))
    found.quadrature = (
        attempt("the error of integrals", lambda: quadrature_errors(copied(), seed)) or {}
    )
    model = objective.model
    if model.start or model.problem.functions():
        found.uncertainty = attempt(
            "confidence intervals", lambda: noise_uncertainty(copied(), profiles)
        )
    found.coefficients = learned_coefficients(model, found.estimate, found.uncertainty)
    return found
