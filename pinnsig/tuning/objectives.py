"""What a search makes small: one number of a finished run."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import Registry
from pinnsig.model.evaluation import has_reference
from pinnsig.problem import Problem, problem_class
from pinnsig.training import NON_FINITE

Objective = Callable[[Mapping[str, Any]], float | None]
"""The number, of what `result.json` holds; None where the run has none."""

JUDGED = ("residual", "estimate")
"""Objectives that the judge finds, as it does not over slabs of time."""

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


def check_objective(
    name: str, problem: str | type[Problem], coefficients: Mapping[str, Any], slabs: bool
) -> None:
    """Refuse what cannot be measured.

    Args:
        name: of the objective.
        problem: its name or class.
        coefficients: that all trials share.
        slabs: whether some trial is run over several slabs of time, which no judge sees.

    Raises:
        SettingsError: no such objective, an error where the problem has no solution, or what is not
            known over slabs.
    """
    OBJECTIVES.find(name)
    cls = problem_class(problem) if isinstance(problem, str) else problem
    if name == "error" and not has_reference(cls(**dict(coefficients))):
        raise SettingsError(
            f"{cls.__name__} has no solution to measure an error against: take the objective "
            "residual or estimate"
        )
    if name in JUDGED and slabs:
        raise SettingsError(f"the objective {name} is not known over slabs: take error or loss")


def value_of(name: str, result: Mapping[str, Any] | None) -> float | None:
    """The objective of a run; None where it failed, came to no finite end, or has none."""
    if result is not None and result.get("stop") == NON_FINITE:
        return None  # what it has is from before it went astray
    found = None if result is None else OBJECTIVES[name](result)
    return found if found is not None and math.isfinite(found) else None
