"""How long the rest of a sweep will take, and what of it cannot be trained."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pinnsig.core.errors import PinnsigError, whole_message
from pinnsig.problem import Problem, problem_class
from pinnsig.run.building import build, build_objective
from pinnsig.run.phases import build_phases, build_weighting
from pinnsig.run.settings import resolve
from pinnsig.sweeps.directory import SweepDirectory
from pinnsig.sweeps.grid import Member
from pinnsig.sweeps.table import DONE
from pinnsig.training import PhaseReport, Record, Trainer, Watcher

COSTLY = (
    "problem", "act", "network", "depth", "width", "adam", "lbfgs", "broyden", "phases",
    "collocation", "initial", "boundary", "dtype", "device", "engine", "preset", "weighting",
    "max_seconds",
)  # fmt: skip
"""What decides how long a run takes, about."""

TRIES = 3  # iterations of each phase


@dataclass(frozen=True)
class Estimate:
    """What a sweep will take.

    Attributes:
        seconds: wall time for the members to be run, about, less those that are refused.
        refused: reasons by member.
    """

    seconds: float
    refused: dict[str, str]


def estimate(directory: SweepDirectory, todo: Sequence[str], workers: int) -> Estimate:
    """Return the time of the members to be run: from runs that are done, or a few iterations."""
    members = {member.name: member for member in directory.members()}
    known: dict[str, list[float]] = {}
    for row in directory.table():
        if row["status"] == DONE:
            known.setdefault(_cost(members[row["run"]]), []).append(row["seconds"])
    each: dict[str, float] = {cost: sum(s) / len(s) for cost, s in known.items()}
    checked: dict[str, str] = {}  # reasons, or "", by all settings but the seed
    refused: dict[str, str] = {}
    total = 0.0
    for name in todo:
        member = members[name]
        alike = repr({**member.settings, "seed": 0})
        cost = _cost(member)
        if alike not in checked:
            checked[alike] = ""
            try:
                problem_type = problem_class(member["problem"], directory.code_of(member))
                trainer = make_trainer(member, problem_type)
                if cost not in each:
                    each[cost] = _measured(trainer, member)
            except PinnsigError as error:
                checked[alike] = whole_message(error)
        if checked[alike]:
            refused[name] = checked[alike]
        else:
            total += each[cost]
    return Estimate(total / max(min(workers, len(todo)), 1), refused)


def measured_seconds(member: Member, problem_type: type[Problem] | None = None) -> float:
    """Return the seconds of a run, from those of a few iterations of each of its phases.

    A limit on its time holds here too.

    Raises:
        PinnsigError: it cannot be trained.
    """
    return _measured(make_trainer(member, problem_type), member)


def make_trainer(member: Member, problem_type: type[Problem] | None = None) -> Trainer:
    """Return what a member is trained with; networks, points and optimisers meet their limits.

    Raises:
        PinnsigError: it cannot be trained.
    """
    parts = build(resolve(member.settings), problem_type)
    objective = build_objective(parts)
    return Trainer(objective, build_phases(parts), weighting=build_weighting(parts))


def _measured(trainer: Trainer, member: Member) -> float:
    limits = [phase.max_seconds or math.inf for phase in trainer.phases]
    iterations = [phase.iterations for phase in trainer.phases]
    first = trainer.start()  # compiles what is compiled
    trainer.phases = [
        replace(phase, iterations=min(phase.iterations, TRIES)) for phase in trainer.phases
    ]
    watch = trainer.watcher = _Stopwatch()
    trainer.run(first)
    total = 0.0
    for count, limit, each in zip(iterations, limits, watch.phases, strict=False):
        total += min(count * each, limit)
    return min(total, resolve(member.settings).max_seconds or math.inf)


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


def _cost(member: Member) -> str:
    return repr([member[name] for name in COSTLY])
