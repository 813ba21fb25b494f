"""What a run says of itself at its end: true losses, errors, counts, and what looks wrong."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from pinnsig.building import Parts
from pinnsig.evaluation import Comparison, max_error, relative_l2
from pinnsig.loading import WEIGHTS
from pinnsig.objective import Objective
from pinnsig.runs import RunDirectory
from pinnsig.training import Outcome

SMALL_LOSS = 1e-2  # of the loss at the start
LARGE_ERROR = 0.1
FLAT = 1e-3  # of the largest value, or of 1
MOSTLY_FLAT = 0.95  # share of the grid


def true_losses(
    objective: Objective, directory: RunDirectory
) -> dict[str, tuple[float, list[float]]]:
    """Loss and terms of the saved weights, best and last, in float64 at the final points.

    Where float64 finds the last weights better, they become the best ones. The model is left in
    float64 with the best weights; on a device without float64 it moves to the CPU.
    """
    if objective.flat.values.device.type == "mps":
        objective.model.to("cpu")
    wide = objective.changed(dtype=torch.float64)
    found: dict[str, tuple[float, list[float]]] = {}
    for which in ("last", "best"):
        found[which] = _loss_of(wide, directory, which)
    if found["last"][0] < found["best"][0]:  # by rounding, in a float32 run
        directory.save_weights(WEIGHTS["best"], directory.load_weights(WEIGHTS["last"]))
        found["best"] = _loss_of(wide, directory, "best")
    return found


def _loss_of(
    objective: Objective, directory: RunDirectory, which: str
) -> tuple[float, list[float]]:
    objective.model.load_state_dict(directory.load_weights(WEIGHTS[which]))
    terms = objective.losses().terms.tolist()
    weighted = zip(objective.given_weights, terms, strict=True)
    return sum(weight * term for weight, term in weighted), terms


def suspicions(
    comparisons: Mapping[str, Comparison], loss: float, loss_at_start: float
) -> list[str]:
    """Reasons to doubt an answer, each in one line; none for an answer that looks right.

    Args:
        comparisons: every field on a grid.
        loss: the best loss.
        loss_at_start: that of the initialised network.
    """
    found = []
    error = relative_l2(comparisons)
    small = loss <= SMALL_LOSS * loss_at_start
    if error is not None and error > LARGE_ERROR and small:
        found.append(
            f"the loss is small ({loss:.2e}, at the start {loss_at_start:.2e}) but the relative L2 "
            f"error is {error:.2g}: the points may be too few, or the terms badly weighted"
        )
    for field, comparison in comparisons.items():
        values = comparison.prediction
        reference = comparison.reference
        if reference is not None and _share_flat(reference) > MOSTLY_FLAT:
            continue  # so is the truth
        share = _share_flat(values)
        if share > MOSTLY_FLAT:
            found.append(
                f"{field} is nearly constant ({float(np.median(values)):.3g}) on {share:.0%} of "
                "the domain: a trivial solution may have been found"
            )
    return found


def _share_flat(values: np.ndarray) -> float:
    """The share of values within a small distance from their median."""
    size = max(float(np.abs(values).max()), 1.0)
    middle = float(np.median(values))
    return float(np.mean(np.abs(values - middle) <= 10 * FLAT * size))


def result_data(
    parts: Parts,
    objective: Objective,
    outcome: Outcome,
    comparisons: Mapping[str, Comparison],
    losses: Mapping[str, tuple[float, list[float]]],
    at_start: Mapping[str, Any],
) -> dict[str, Any]:
    """What `result.json` holds, but for the run's path and its seconds."""
    settings = parts.settings
    about = parts.initializer.describe(parts.activation, settings.depth)
    (best, terms), (last, _) = losses["best"], losses["last"]
    return {
        "problem": settings.problem,
        "activation": parts.activation.expression,
        "scale": settings.scale,
        "initializer": parts.initializer.spec,
        "initialization": about.as_dict(),
        "best_loss": best,
        "last_loss": last,
        "terms": dict(zip(objective.term_names, terms, strict=True)),
        "relative_l2": relative_l2(comparisons),
        "max_error": max_error(comparisons),
        "suspicious": suspicions(comparisons, best, at_start["loss"]),
        "loss_at_start": at_start["loss"],
        "relative_l2_at_start": at_start["relative_l2"],
        "coefficients": {k: float(v.detach()) for k, v in parts.model.coefficients().items()},
        "iterations": sum(phase.iterations for phase in outcome.phases),
        "evaluations": objective.evaluations,
        "stop": outcome.stop,
        "phases": [dataclasses.asdict(phase) for phase in outcome.phases],
        "parameters": len(objective.flat),
        "engine": objective.engine.name,
        "preset": settings.preset,
    }
