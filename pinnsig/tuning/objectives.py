"""What a search makes small: one number of a finished run."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import Registry
from pinnsig.problem import Problem, problem_class

Objective = Callable[[Mapping[str, Any]], float | None]
"""The number, of what `result.json` holds; None where the run has none."""

OBJECTIVES: Registry[Objective] = Registry("objective", SettingsError)


def residual(result: Mapping[str, Any]) -> float | None:
    """The sum of the terms' mean squares at points of the judge's own, without weights.

    It can be compared between runs of other weights, points and networks, which a loss cannot.
    """
    terms = (result.get("independent") or {}).get("terms") or {}
    known = [own["mean_square"] for own in terms.values()]
    return math.fsum(known) if known and None not in known else None


def loss(result: Mapping[str, Any]) -> float | None:
    """The lowest loss, with the weights that were given."""
    return result.get("best_loss")


def error(result: Mapping[str, Any]) -> float | None:
    """The relative L2 error against the problem's solution."""
    return result.get("relative_l2")


def estimate(result: Mapping[str, Any]) -> float | None:
    """The relative error as the judge estimates it without a reference."""
    return result.get("estimated_error")


for _objective in (residual, loss, error, estimate):
    OBJECTIVES.register(_objective.__name__, _objective)


def check_objective(name: str, problem: str | type[Problem]) -> None:
    """Refuse what cannot be measured.

    Raises:
        SettingsError: no such objective, or an error where the problem has no solution.
    """
    OBJECTIVES.find(name)
    cls = problem_class(problem) if isinstance(problem, str) else problem
    if name == "error" and not cls().has("solution"):
        raise SettingsError(
            f"{cls.__name__} has no solution to measure an error against: take the objective "
            "residual or estimate"
        )


def value_of(name: str, result: Mapping[str, Any] | None) -> float | None:
    """The objective of a run; None where it failed or is not finite."""
    found = None if result is None else OBJECTIVES[name](result)
    return found if found is not None and math.isfinite(found) else None
