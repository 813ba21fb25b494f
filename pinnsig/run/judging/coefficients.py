"""What is known of learned coefficients after training."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from pinnsig.model import Model
from pinnsig.run.judging.estimate import Estimate


@dataclass(frozen=True)
class Learned:
    """A learned coefficient.

    Attributes:
        value: what was found.
        start: where it started.
        true: its true value, where that is known.
        estimated: its absolute error as estimated from the residuals; None without an estimate.
        limit: the limit that it has come to, if it has.
    """

    value: float
    start: float
    true: float | None
    estimated: float | None
    limit: float | None

    @property
    def error(self) -> float | None:
        """The absolute error, where the true value is known."""
        return None if self.true is None else abs(self.value - self.true)

    @property
    def off(self) -> float:
        """The error, or its estimate, in units of the coefficient's size; 0 if not known."""
        if self.error is not None:
            return self.error / (abs(self.true or self.start) or 1.0)
        return (self.estimated or 0.0) / (max(abs(self.value), abs(self.start)) or 1.0)

    def as_dict(self) -> dict[str, Any]:
        """What `result.json` holds."""
        return {**dataclasses.asdict(self), "error": self.error}


def learned_coefficients(model: Model, estimate: Estimate | None) -> dict[str, Learned]:
    """Return what is known of every learned coefficient of a model, by name."""
    true, found = model.problem.true_values(), {}
    for name, value in model.coefficient_values().items():
        estimated = None if estimate is None else estimate.coefficients.get(name)
        limit = model.bijections[name].limit_at(value)
        found[name] = Learned(value, model.start[name], true[name], estimated, limit)
    return found
