"""The state of a trainer between two iterations, as plain data and tensors, and back."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch

from pinnsig.core.errors import TrainingError
from pinnsig.sampling import pack_sites, unpack_sites
from pinnsig.training.phase import Phase
from pinnsig.training.records import (
    ERROR_REACHED,
    FINISHED,
    INTERRUPTED,
    LOSS_REACHED,
    SETTLED,
    TIME_LIMIT,
    PhaseReport,
)

if TYPE_CHECKING:
    from pinnsig.training.trainer import Trainer


def state_of(trainer: "Trainer") -> dict[str, Any]:
    """All that the next iteration depends on, and all that the result will tell."""
    objective = trainer.objective
    state: dict[str, Any] = {
        "values": objective.flat.values,
        "best": trainer.best.values,
        "best_loss": trainer.best.loss,
        "best_terms": trainer.best.terms,
        "terms": list(objective.term_names),
        "dtype": str(objective.flat.values.dtype).removeprefix("torch."),
        "evaluations": objective.evaluations,
        "seconds": trainer.seconds,
        "draws": trainer.draws,
        "prepared": trainer.prepared,
        "last_error": trainer.last_error,
        "ended": trainer.ended,
        "reports": [asdict(report) for report in trainer.reports],
    }
    if trainer.draws:  # else they are the first ones, which whoever made the trainer keeps
        state["sites"] = pack_sites(trainer.loss.sites)
    if trainer.reports:
        state["optimizer"] = trainer.phases[len(trainer.reports) - 1].optimizer.state()
    if trainer.weighting is not None:
        state["weighting"] = trainer.weighting.state()
        state["sizes"] = trainer.answers.sizes
    return state


def load_state(trainer: "Trainer", state: dict[str, Any]) -> None:
    """Put a trainer where `state_of` was called.

    Raises:
        TrainingError: the state belongs to another network, other terms or other phases.
    """
    objective = trainer.objective
    if len(state["values"]) != len(objective.flat):
        raise TrainingError(
            f"the saved state has {len(state['values'])} parameters, the network "
            f"{len(objective.flat)}"
        )
    if state["terms"] != list(objective.term_names):
        raise TrainingError(f"the saved state has other terms: {', '.join(state['terms'])}")
    reports = [PhaseReport(**report) for report in state["reports"]]
    names = [phase.optimizer.name for phase in trainer.phases]
    if [report.name for report in reports] != names[: len(reports)]:
        raise TrainingError("the saved state has other phases")
    sites = unpack_sites(state["sites"]) if "sites" in state else None
    dtype = getattr(torch, state["dtype"])
    if sites is not None or dtype != objective.flat.values.dtype:
        trainer.replace_objective(objective.rebuild(sites=sites, dtype=dtype))
    objective = trainer.objective
    like = objective.flat.values
    objective.flat.restore(state["values"].to(like))
    objective.evaluations = state["evaluations"]
    trainer.best.values = state["best"].to(like, copy=True)
    trainer.best.loss, trainer.best.terms = state["best_loss"], state["best_terms"]
    trainer.draws, trainer.last_error = state["draws"], state["last_error"]
    trainer.prepared = state.get("prepared", trainer.prepared)
    trainer.reports = reports
    trainer.spent = state["seconds"]
    if trainer.weighting is not None and "weighting" in state:
        trainer.weighting.load(state["weighting"], objective)
        trainer.answers.weights = trainer.weighting.start(objective)
        sizes = state["sizes"]
        trainer.answers.sizes = None if sizes is None else sizes.to(objective.collocation)
    if reports:
        last, phase = reports[-1], trainer.phases[len(reports) - 1]
        memory = state["optimizer"]
        if memory is not None and is_finite(memory):
            phase.optimizer.load(memory, like)
        if _goes_on(trainer, last, phase):
            last.stop = last.advice = None
        elif last.stop in (INTERRUPTED, TIME_LIMIT):
            last.stop = FINISHED  # it came just then
        trainer.ended = last.stop in (LOSS_REACHED, ERROR_REACHED) and state["ended"]


def is_finite(state: Any) -> bool:
    """Return whether no number in nested data is infinite or NaN."""
    if isinstance(state, torch.Tensor):
        return bool(state.isfinite().all())
    if isinstance(state, float):
        return math.isfinite(state)
    if isinstance(state, Mapping):
        return all(map(is_finite, state.values()))
    return not isinstance(state, list | tuple) or all(map(is_finite, state))


def _goes_on(trainer: "Trainer", report: PhaseReport, phase: Phase) -> bool:
    """Whether a phase that had stopped has more to do now that its limits may be others."""
    if report.iterations >= phase.iterations:
        return False
    if report.stop == LOSS_REACHED:
        return trainer.best.loss > max(trainer.limits.loss or 0.0, phase.stop_loss or 0.0)
    if report.stop == ERROR_REACHED:
        limit = max(trainer.limits.error or 0.0, phase.stop_error or 0.0)
        return (trainer.last_error or 0.0) > limit
    return report.stop not in SETTLED
