"""How long the rest of a sweep will take."""

import math
import time
from collections.abc import Sequence

from pinnsig.building import build, build_objective
from pinnsig.problem import Problem, problem_class
from pinnsig.settings import resolve
from pinnsig.sweeps.directory import SweepDirectory
from pinnsig.sweeps.grid import Member
from pinnsig.sweeps.table import DONE

COSTLY = (
    "problem", "act", "depth", "width", "adam", "lbfgs", "broyden", "phases", "collocation",
    "initial", "boundary", "dtype", "device", "engine", "preset", "max_seconds",
)  # fmt: skip
"""What decides how long a run takes, about."""

TRIES = 3


def estimated_seconds(directory: SweepDirectory, todo: Sequence[str], workers: int) -> float:
    """Wall time for the members to be run, about: from runs that are done, or a few evaluations."""
    members = {member.name: member for member in directory.members()}
    known: dict[str, list[float]] = {}
    for row in directory.table():
        if row["status"] == DONE:
            known.setdefault(_cost(members[row["run"]]), []).append(row["seconds"])
    each: dict[str, float] = {cost: sum(s) / len(s) for cost, s in known.items()}
    total = 0.0
    for name in todo:
        cost = _cost(members[name])
        if cost not in each:
            kind = problem_class(members[name]["problem"], directory.code_of(members[name]))
            each[cost] = measured_seconds(members[name], kind)
        total += each[cost]
    return total / max(min(workers, len(todo)), 1)


def measured_seconds(member: Member, kind: type[Problem] | None = None) -> float:
    """Seconds of a run, from the time of one evaluation; each iteration needs about one.

    A limit on its time holds here too.
    """
    parts = build(resolve(member.settings), kind)
    objective = build_objective(parts)
    best = math.inf
    for _ in range(TRIES):  # the first may compile
        begun = time.perf_counter()
        objective.evaluate().loss.item()
        best = min(best, time.perf_counter() - begun)
    iterations = sum(phase.iterations for phase in parts.settings.phase_list())
    return min(best * iterations, parts.settings.max_seconds or math.inf)


def _cost(member: Member) -> str:
    return repr([member[name] for name in COSTLY])
