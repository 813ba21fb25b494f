"""What a run will take on this machine: seconds and memory, from a few iterations of each phase."""

import math
import sys
import time
from dataclasses import dataclass, replace

import torch

from pinnsig.problem import Problem
from pinnsig.run.building import RunComponents, build, build_objective
from pinnsig.run.phases import build_phases, build_weighting
from pinnsig.run.settings import Settings
from pinnsig.training import PhaseReport, Record, Trainer, Watcher

TRIES = 3  # iterations of each phase


@dataclass(frozen=True)
class PhaseEstimate:
    """One phase: its optimiser, iterations, and seconds of each."""

    name: str
    iterations: int
    each: float


@dataclass(frozen=True)
class RunEstimate:
    """What a run will take.

    Attributes:
        parts: what would be trained.
        device: where it would be.
        engine: what takes the partials.
        phases: in order.
        seconds: of training, within its limit.
        memory: bytes at their highest while the phases were tried, of the device, or of the whole
            process; None where the system does not tell.
        points: how many, by term.
        weights: how many are trained.
        notices: what a user should know.
    """

    parts: RunComponents
    device: torch.device
    engine: str
    phases: list[PhaseEstimate]
    seconds: float
    memory: int | None
    points: dict[str, int]
    weights: int
    notices: list[str]


def estimate_run(settings: Settings, problem: type[Problem] | None = None) -> RunEstimate:
    """Return what a run will take; nothing is written.

    Args:
        settings: resolved.
        problem: its class, where it is at hand.

    Raises:
        PinnsigError: it cannot be trained.
    """
    parts = build(settings, problem)
    trainer = make_trainer(parts)
    objective = trainer.objective
    device = objective.flat.values.device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    phases = time_phases(trainer)
    return RunEstimate(
        parts=parts,
        device=device,
        engine=objective.engine.name,
        phases=phases,
        seconds=total_seconds(phases, trainer, settings),
        memory=_peak(device),
        points={name: len(sites.points) for name, sites in objective.sites.items()},
        weights=objective.flat.values.numel(),
        notices=[*parts.notices, *objective.notices, *trainer.notices],
    )


def make_trainer(parts: RunComponents) -> Trainer:
    """Return what a run is trained with; networks, points and optimisers meet their limits.

    Raises:
        PinnsigError: it cannot be trained.
    """
    return Trainer(build_objective(parts), build_phases(parts), weighting=build_weighting(parts))


def time_phases(trainer: Trainer) -> list[PhaseEstimate]:
    """Return the seconds of an iteration of each phase, the fastest of a few; it trains so far."""
    whole = trainer.phases
    first = trainer.start()  # compiles what is compiled
    trainer.phases = [replace(phase, iterations=min(phase.iterations, TRIES)) for phase in whole]
    watch = trainer.watcher = _Stopwatch()
    trainer.run(first)
    trainer.phases = whole
    return [
        PhaseEstimate(phase.optimizer.name, phase.iterations, each)
        for phase, each in zip(whole, watch.phases, strict=False)
    ]


def total_seconds(phases: list[PhaseEstimate], trainer: Trainer, settings: Settings) -> float:
    """Return the seconds of a whole training, within the limits on phases and all of it."""
    limits = [phase.max_seconds or math.inf for phase in trainer.phases]
    pairs = zip(phases, limits, strict=False)
    total = sum(min(phase.iterations * phase.each, limit) for phase, limit in pairs)
    return min(total, settings.max_seconds or math.inf)


def _peak(device: torch.device) -> int | None:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # Windows
        return None
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used


class _Stopwatch(Watcher):
    """Times iterations.

    Attributes:
        phases: seconds of the fastest iteration of each that ended.
    """

    def __init__(self) -> None:
        self.phases: list[float] = []
        self._last = time.perf_counter()
        self._best = math.inf

    def recorded(self, record: Record) -> None:
        """See `Watcher.recorded`."""
        now = time.perf_counter()
        if record.iteration > 0:
            self._best = min(self._best, now - self._last)
        self._last = now

    def phase_ended(self, report: PhaseReport) -> None:
        """See `Watcher.phase_ended`."""
        self.phases.append(self._best if report.iterations else 0.0)
        self._best, self._last = math.inf, time.perf_counter()
