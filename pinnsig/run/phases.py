"""From settings to the phases of training."""

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from pinnsig.core.devices import DTYPES
from pinnsig.core.errors import DeviceError, SettingsError
from pinnsig.core.memory import require
from pinnsig.optim import (
    OPTIMIZERS,
    TORCH_OPTIMIZERS,
    FirstOrder,
    Make,
    Optimizer,
    Schedule,
    TorchOptimizer,
)
from pinnsig.problem import INTERIOR, Sites
from pinnsig.run.building import RunComponents, run_sites
from pinnsig.run.settings import PhaseSettings
from pinnsig.sampling import COORDINATE_BYTES, Counts, draw_inside, draw_sites
from pinnsig.training import (
    Draw,
    DrawInside,
    Fresh,
    MiniBatches,
    NewPoints,
    Phase,
    ResidualBased,
)
from pinnsig.training.weighting import WEIGHTINGS, Causal, Weighting

EXACT = ("lhs", "uniform", "sobol", "halton")  # samplers that give as many points as asked


def build_phases(parts: RunComponents, functions: Mapping[str, Make] | None = None) -> list[Phase]:
    """Return the phases that the settings ask for; their points are of the run's sampler and seed.

    Args:
        parts: what `build` made.
        functions: what makes optimisers that settings have no class for, by name.

    Raises:
        SettingsError: a setting that the optimiser cannot have, or a limit without what it needs.
        DeviceError: a precision that the device lacks.
    """
    return [_phase(parts, phase, functions or {}) for phase in parts.settings.phase_list()]


def build_weighting(parts: RunComponents) -> Weighting | None:
    """The scheme that finds loss weights, if there is one."""
    settings = parts.settings
    inner = None
    if settings.weighting != "none":
        inner = WEIGHTINGS[settings.weighting](settings.weighting_every)
    return Causal(inner) if settings.causal else inner


def _phase(parts: RunComponents, phase: PhaseSettings, functions: Mapping[str, Make]) -> Phase:
    if phase.dtype == "float64" and torch.device(parts.settings.device).type == "mps":
        raise DeviceError("device mps has no float64: leave dtype out of the phases")
    if phase.error is not None and not parts.problem.has("solution"):
        raise SettingsError("error: the problem has no solution to measure an error against")
    optimizer = _optimizer(parts, phase, functions)
    dtype = phase.dtype
    if dtype is None and optimizer.precise and parts.settings.device != "mps":
        dtype = "float64"
    new_points = _new_points(parts, phase)
    return Phase(
        optimizer=optimizer,
        iterations=phase.iterations,
        max_evaluations=phase.evaluations,
        max_seconds=phase.seconds,
        stop_loss=phase.loss,
        stop_error=phase.error,
        schedule=Schedule(phase.schedule, phase.final, phase.warmup),
        dtype=DTYPES[dtype] if dtype else None,
        new_points=new_points,
        every=(phase.every or 0) if new_points is not None else 0,
        batches=_batches(parts, phase),
    )


def _batches(parts: RunComponents, phase: PhaseSettings) -> MiniBatches | None:
    """Return what takes the points of each iteration, where a phase has batches.

    Raises:
        SettingsError: another setting cannot go with them.
    """
    if phase.batch is None:
        return None
    s = parts.settings
    if phase.every is not None or phase.points not in (None, "fresh"):
        raise SettingsError(
            f"batch = {phase.batch} takes other points at each iteration: leave every out, and "
            "points, but for points=fresh"
        )
    if s.causal or s.weighting == "attention":
        what = "causal" if s.causal else "weighting = attention"
        raise SettingsError(f"{what} weights single points, which batch = {phase.batch} changes")
    if phase.points is None:
        return MiniBatches(phase.batch, s.seed)
    draw, wanted = _new_batch(parts, phase.batch), min(phase.batch, s.collocation)
    inside = draw(1).get(INTERIOR)
    given = wanted if inside is None else len(inside.points)
    if given != wanted:
        raise SettingsError(
            f"sampler {s.sampler} gives {given} points where batch = {phase.batch}: take another, "
            "or that number"
        )
    return MiniBatches(phase.batch, s.seed, draw)


def _new_batch(parts: RunComponents, size: int) -> Draw:
    """Return what draws collocation points, and all of initial or boundary ones if so few."""
    s, problem = parts.settings, parts.problem
    few = {name: n if (n := getattr(s, name)) <= size else 0 for name in ("initial", "boundary")}
    counts = Counts(min(size, s.collocation), **few)
    terms = problem.terms()
    drawn = {name for name, c in terms.items() if c.group in few and not c.given}
    if problem.collocation_points is None:
        drawn.add(INTERIOR)

    def draw(number: int) -> dict[str, Sites]:
        found = draw_sites(problem, counts, s.sampler, s.seed, number)
        return {name: own for name, own in found.items() if name in drawn}

    return draw


def _optimizer(
    parts: RunComponents, phase: PhaseSettings, functions: Mapping[str, Make]
) -> Optimizer:
    cls = OPTIMIZERS.get(phase.optimizer)
    if cls is None:
        make = TORCH_OPTIMIZERS.get(phase.optimizer) or functions.get(phase.optimizer)
        return TorchOptimizer(_torch_maker(parts, phase, make), phase.optimizer)
    if issubclass(cls, FirstOrder):
        return cls(phase.lr or cls.rate_factor * parts.settings.lr, **phase.options)
    if phase.lr is not None:
        raise SettingsError(f"{phase.optimizer} has no learning rate: leave lr = {phase.lr:g} out")
    return cls(**phase.options)


def _torch_maker(parts: RunComponents, phase: PhaseSettings, make: Make | None) -> Make:
    """Return what makes a PyTorch optimiser from parameters alone.

    Raises:
        SettingsError: it is a function that is not at hand, or that takes no settings.
    """
    name = phase.optimizer
    if make is None:
        raise SettingsError(
            f"optimizer = {name} was made by a function, which no file can hold: give it again, as "
            "in pinnsig.resume(run, optimizers=FUNCTION)"
        )
    if not inspect.isclass(make):
        for key in ("lr", *phase.options):
            if key in phase.options or phase.lr is not None:
                raise SettingsError(f"{name}: {key} is for the function itself to say")
        return make
    options: dict[str, Any] = {k: _as_tuple(v) for k, v in phase.options.items()}
    rate = phase.lr or _usual_rate(make, parts.settings.lr)
    return partial(make, **options) if rate is None else partial(make, lr=rate, **options)


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _usual_rate(cls: type, rate: float) -> float | None:
    """Return the run's learning rate, in the ratio that PyTorch's defaults have to Adam's.

    None leaves a class with its own: L-BFGS has no rate but a share of a step.
    """
    lr = inspect.signature(cls).parameters.get("lr")
    if lr is None or issubclass(cls, torch.optim.LBFGS):
        return None
    usual = inspect.signature(torch.optim.Adam).parameters["lr"].default
    own = usual if lr.default is inspect.Parameter.empty else float(lr.default)
    return rate * (own / usual)


def _new_points(parts: RunComponents, phase: PhaseSettings) -> NewPoints | None:
    s = parts.settings
    kind = phase.points or ("fresh" if phase.every else None)
    if phase.batch is not None:
        return None
    if kind in (None, "fresh"):
        for name in ("candidates", "rad_k", "rad_c", "added"):
            if getattr(phase, name) is not None:
                raise SettingsError(f"{name} belongs to points = rad or rar-d")
        return Fresh(lambda number: run_sites(s, parts.problem, number)) if kind else None
    if parts.problem.collocation_points is not None:
        return None  # which a notice says
    k, c = (1.0, 1.0) if kind == "rad" else (2.0, 0.0)
    if kind == "rad" and phase.added is not None:
        raise SettingsError("added belongs to points = rar-d: rad replaces the points")
    tenth = max(s.collocation // 10, 1)
    chosen = s.collocation if kind == "rad" else phase.added or tenth
    if phase.candidates is not None and phase.candidates < chosen:
        raise SettingsError(
            f"candidates = {phase.candidates} are fewer than the {chosen} points to choose"
        )
    _require_memory(parts, phase, chosen)

    def draw(number: int, count: int) -> Sites:
        return draw_inside(parts.problem, count, s.sampler, s.seed, number)

    _check_candidates(s.sampler, draw, phase.candidates or 10 * chosen, chosen)
    return ResidualBased(
        draw,
        s.seed,
        phase.candidates,
        k if phase.rad_k is None else phase.rad_k,
        c if phase.rad_c is None else phase.rad_c,
        0 if kind == "rad" else chosen,
    )


def _require_memory(parts: RunComponents, phase: PhaseSettings, chosen: int) -> None:
    """Refuse more candidates, or added points in the end, than memory holds."""
    dimensions = parts.problem.domain.dimensions
    candidates = phase.candidates or 10 * chosen
    added = 0
    if phase.points == "rar-d":
        added = chosen * (1 + phase.iterations // (phase.every or phase.iterations or 1))
    require(
        (candidates + added) * dimensions * COORDINATE_BYTES,
        f"{phase.optimizer}: {candidates:,} candidates and {added:,} added points",
        "take fewer candidates, fewer added points or draw them less often",
    )


def _check_candidates(sampler: str, draw: DrawInside, candidates: int, chosen: int) -> None:
    """Refuse a sampler that gives fewer points than are to be chosen, as a grid may.

    Raises:
        SettingsError: it does.
    """
    if sampler in EXACT:
        return
    given = len(draw(1, candidates).points)
    if given < chosen:
        raise SettingsError(
            f"sampler {sampler} gives {given} points where {candidates} candidates are asked for, "
            f"and {chosen} are to be chosen: raise candidates, or take another sampler"
        )
