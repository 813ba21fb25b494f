"""What is known of learned coefficients after training."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from pinnsig.model import Model
from pinnsig.run.judging.estimate import Estimate
from pinnsig.run.judging.uncertainty import Uncertainty


@dataclass(frozen=True)
class Learned:
    """A learned coefficient.

    Attributes:
        value: what was found.
        start: where it started.
        true: its true value, where that is known.
        estimated: its absolute error as estimated from the residuals: how far training is from
            the end; None without an estimate.
        limit: the limit that it has come to, if it has.
        standard_error: what noise in the data makes of it; None where that cannot be told.
        interval: the 95 % confidence interval that follows, inside its limits.
    """

    value: float
    start: float
    true: float | None
    estimated: float | None
    limit: float | None
    standard_error: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def error(self) -> float | None:
        """The absolute error, where the true value is known."""
        return None if self.true is None else abs(self.value - self.true)

    @property
    def explained(self) -> bool:
        """Whether noise in the data accounts for the error: the truth lies in the interval."""
        if self.true is None or self.interval is None:
            return False
        return self.interval[0] <= self.true <= self.interval[1]

    @property
    def off(self) -> float:
        """The error, or its estimate, in units of the coefficient's size; 0 if not known."""
        if self.error is not None:
            return self.error / (abs(self.true or self.start) or 1.0)
        return (self.estimated or 0.0) / (max(abs(self.value), abs(self.start)) or 1.0)

    def as_dict(self) -> dict[str, Any]:
        """What `result.json` holds."""
        return {**dataclasses.asdict(self), "error": self.error}


def learned_coefficients(
    model: Model, estimate: Estimate | None, uncertainty: Uncertainty | None = None
) -> dict[str, Learned]:
    """Return what is known of every learned coefficient of a model, by name."""
    uncertainty = uncertainty or Uncertainty()
    true, found = model.problem.true_values(), {}
    for name, value in model.coefficient_values().items():
        estimated = None if estimate is None else estimate.coefficients.get(name)
        limit = model.bijections[name].limit_at(value)
        found[name] = Learned(
            value,
            model.start[name],
            true[name],
            estimated,
            limit,
            uncertainty.standard_errors.get(name),
            uncertainty.intervals.get(name),
        )
    return found
