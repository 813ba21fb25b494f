"""What a run says of itself at its end: true losses, errors, counts, and what looks wrong."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from pinnsig.model.evaluation import Comparison, max_error, relative_l2
from pinnsig.objective import Objective
from pinnsig.run.building import RunComponents
from pinnsig.run.directory import WEIGHTS, RunDirectory
from pinnsig.run.judging import (
    Estimate,
    Judgement,
    describe_functions,
    function_suspicions,
    suspicions,
)
from pinnsig.run.loading import load
from pinnsig.run.networks import is_drawn
from pinnsig.run.trained import TrainedModel
from pinnsig.training import Outcome

SUMMARY = (
    "best_loss", "last_loss", "relative_l2", "estimated_error", "max_error", "seconds",
    "iterations", "evaluations", "stop",
)  # fmt: skip
"""What a result says in a line each, to people and to trackers."""

Losses = dict[str, tuple[float, list[float]]]
"""Loss and mean squares of the terms, of the `best` and of the `last` weights."""


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Attributes:
        path: the run directory.
        data: what `result.json` holds.
        own: what `load` is given besides, where a problem's class or a network came from Python.
    """

    path: Path
    data: dict[str, Any]
    own: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def model(self) -> TrainedModel:
        """The best weights, ready to predict; read when it is first asked for.

        Raises:
            PinnsigError: see `pinnsig.load`.
        """
        return load(self.path, **self.own)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by copy and pickle, before there is any data
            raise AttributeError(name)
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(
                f"a result has no {name!r}: it has {', '.join(self.data)}"
            ) from None


def true_losses(objective: Objective, directory: RunDirectory) -> Losses:
    """Loss and terms of the saved weights, best and last, in float64 at the final points.

    Where float64 finds the last weights better, they become the best ones. The model is left in
    float64 with the best weights; on a device without float64 it moves to the CPU.
    """
    if objective.flat.values.device.type == "mps":
        objective.model.to("cpu")
    wide = objective.rebuild(dtype=torch.float64)
    found: Losses = {}
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


def errors(
    comparisons: Mapping[str, Comparison],
    functions: Mapping[str, Comparison],
    estimate: Estimate | None,
) -> dict[str, dict[str, Any]]:
    """Return errors against the reference and as estimated, in all, by field and by function.

    Those in all are the fields'.
    """

    def single(name: str, comparison: Comparison) -> dict[str, Any]:
        return {
            "relative_l2": comparison.relative_l2,
            "max_error": comparison.max_error,
            "estimated": None if estimate is None else estimate.fields[name],
        }

    return {
        "all": {
            "relative_l2": relative_l2(comparisons),
            "max_error": max_error(comparisons),
            "estimated": None if estimate is None else estimate.relative_l2,
        },
        "fields": {name: single(name, own) for name, own in comparisons.items()},
        "functions": {name: single(name, own) for name, own in functions.items()},
    }


def result_data(
    parts: RunComponents,
    objective: Objective,
    outcome: Outcome,
    comparisons: Mapping[str, Comparison],
    losses: Losses,
    at_start: Mapping[str, Any],
    judgement: Judgement,
    functions: Mapping[str, Comparison],
) -> dict[str, Any]:
    """What `result.json` holds, but for the run's path and its seconds."""
    settings = parts.settings
    drawn = is_drawn(parts.model.network)
    about = parts.initializer.describe(parts.activation, parts.signal_depth) if drawn else None
    (best, terms), (last, _) = losses["best"], losses["last"]
    estimate, independent = judgement.estimate, judgement.independent
    uncertainty = judgement.uncertainty
    return {
        "problem": settings.problem,
        "activation": parts.activation.expression,
        "scale": settings.scale,
        "network": settings.network,
        "initializer": parts.weights,
        "initialization": None if about is None else about.as_dict(),
        "best_loss": best,
        "last_loss": last,
        "terms": dict(zip(objective.term_names, terms, strict=True)),
        "relative_l2": relative_l2(comparisons),
        "max_error": max_error(comparisons),
        "estimated_error": None if estimate is None else estimate.relative_l2,
        "errors": errors(comparisons, functions, estimate),
        "independent": None if independent is None else independent.as_dict(),
        "quadrature": {name: q.as_dict() for name, q in judgement.quadrature.items()},
        "zero_loss": judgement.zero_loss,
        "constant_loss": judgement.constant_loss,
        "suspicious": [
            *suspicions(
                comparisons,
                best,
                at_start["loss"],
                judgement,
                settings.preset,
                {} if parts.problem.ansatz_name else parts.problem.output_scales,
            ),
            *function_suspicions(functions, judgement),
        ],
        "loss_at_start": at_start["loss"],
        "relative_l2_at_start": at_start["relative_l2"],
        "coefficients": {name: c.as_dict() for name, c in judgement.coefficients.items()},
        "functions": describe_functions(functions, uncertainty),
        "correlation": None if uncertainty is None else uncertainty.correlation,
        "uncertainty": None if uncertainty is None else uncertainty.as_dict(),
        "iterations": sum(phase.iterations for phase in outcome.phases),
        "evaluations": objective.evaluations,
        "stop": outcome.stop,
        "phases": [dataclasses.asdict(phase) for phase in outcome.phases],
        "parameters": len(objective.flat),
        "engine": objective.engine.name,
        "preset": settings.preset,
    }
