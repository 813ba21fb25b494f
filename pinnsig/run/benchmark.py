"""Timing the derivative engines side by side on one loss, and checking their numbers.

Every engine evaluates loss and gradient of the same network at the same points, in turn, so that a
machine whose speed drifts drifts for all of them. Memory is measured in a process of its own.
"""

import multiprocessing
import statistics
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.derivatives import ENGINES
from pinnsig.objective import Objective
from pinnsig.run.building import build, build_objective
from pinnsig.run.settings import Settings

WARM_UP = 2


@dataclass(frozen=True)
class EngineReport:
    """One engine's cost and accuracy.

    Attributes:
        name: the engine.
        ms: median milliseconds of one loss and gradient.
        peak_mb: memory at its highest above what weights and points take, in MB.
        loss_error: relative error of the loss against float64.
        gradient_error: relative error of the gradient against float64, in the 2-norm.
        ratio: how many times faster than nested autograd.
    """

    name: str
    ms: float
    peak_mb: float
    loss_error: float
    gradient_error: float
    ratio: float

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def benchmark(settings: Settings, repeats: int = 10) -> list[EngineReport]:
    """Time every engine that can take the partials of this problem and network.

    Args:
        settings: resolved settings.
        repeats: counted evaluations of each engine, after a warm-up.

    Raises:
        SettingsError: fewer than one repeat.
        PinnsigError: a setting that cannot be used.
    """
    if repeats < 1:
        raise SettingsError(f"repeats = {repeats} must be at least 1")
    objectives = {name: make_objective(settings, name) for name in usable_engines(settings)}
    exact = evaluate_in_float64(settings, next(iter(objectives.values())))
    found = {name: (o.evaluate(), o.flat.gradient.clone()) for name, o in objectives.items()}
    times: dict[str, list[float]] = {name: [] for name in objectives}
    for turn in range(WARM_UP + repeats):
        for name, objective in objectives.items():
            seconds = _timed(objective)
            if turn >= WARM_UP:
                times[name].append(seconds)
    medians = {name: 1e3 * statistics.median(values) for name, values in times.items()}
    return [
        EngineReport(
            name=name,
            ms=medians[name],
            peak_mb=_peak_mb(settings, name),
            loss_error=_relative(evaluation.loss, exact[0]),
            gradient_error=_relative(gradient, exact[1]),
            ratio=medians["nested"] / medians[name],
        )
        for name, (evaluation, gradient) in found.items()
    ]


def make_objective(settings: Settings, engine: str) -> Objective:
    """The loss that a run with these settings starts from."""
    return build_objective(build(settings), engine)


def usable_engines(settings: Settings) -> list[str]:
    """Names of the engines that do not refuse."""
    reference = make_objective(settings, "nested")
    needed = [None, *(block.plan for block in reference.blocks)]
    network = reference.model.network
    return [
        name
        for name, make in ENGINES.items()
        if not any(make().refusal(network, plan) for plan in needed)
    ]


def evaluate_in_float64(
    settings: Settings, like: Objective, engine: str = "jets"
) -> tuple[Tensor, Tensor]:
    """Return loss and gradient in float64 on the CPU, at the very weights and points of `like`."""
    wide = make_objective(replace(settings, dtype="float64", device="cpu"), engine)
    wide.flat.restore(like.flat.values.double().cpu())
    for mine, theirs in zip(wide.blocks, like.blocks, strict=True):
        mine.points.copy_(theirs.points)
        for key, column in theirs.extra.items():
            mine.extra[key].copy_(column)
    return wide.evaluate().loss, wide.flat.gradient


def _timed(objective: Objective) -> float:
    device = objective.flat.values.device
    _wait(device)
    begun = time.perf_counter()
    objective.evaluate()
    _wait(device)
    return time.perf_counter() - begun


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _relative(value: Tensor, exact: Tensor) -> float:
    off = torch.linalg.vector_norm(value.double().cpu() - exact)
    return float(off / torch.linalg.vector_norm(exact))


def _peak_mb(settings: Settings, engine: str) -> float:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure_peak_mb, (settings, engine))


def measure_peak_mb(settings: Settings, engine: str) -> float:
    """Highest memory of an evaluation above that before it, in this process, in MB."""
    objective = make_objective(settings, engine)
    device = objective.flat.values.device
    if device.type == "cuda":
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        objective.evaluate()
        return (torch.cuda.max_memory_allocated(device) - before) / 1e6
    before = _resident()
    objective.evaluate()
    return (_resident() - before) / 1e6


def _resident() -> float:
    """This process's largest resident size so far, in bytes."""
    status = Path("/proc/self/status")
    if status.is_file():  # what getrusage says here may come from the parent process
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return float(peak.split()[1]) * 1024
    import resource  # not there on every system

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024.0
