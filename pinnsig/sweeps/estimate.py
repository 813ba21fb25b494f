"""How long the rest of a sweep will take, and what of it cannot be trained."""

from collections.abc import Sequence
from dataclasses import dataclass

from pinnsig.core.errors import PinnsigError, whole_message
from pinnsig.problem import Problem, problem_class
from pinnsig.run.building import build
from pinnsig.run.estimating import make_trainer, time_phases, total_seconds
from pinnsig.run.settings import resolve
from pinnsig.sweeps.directory import SweepDirectory
from pinnsig.sweeps.grid import Member
from pinnsig.sweeps.table import DONE
from pinnsig.training import Trainer

COSTLY = (
    "problem", "act", "network", "depth", "width", "adam", "lbfgs", "broyden", "lm",
    "phases", "collocation", "initial", "boundary", "dtype", "device", "engine", "preset",
    "weighting", "max_seconds",
)  # fmt: skip
"""What decides how long a run takes, about."""


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
                trainer = _trainer(member, problem_type)
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
    return _measured(_trainer(member, problem_type), member)


def _trainer(member: Member, problem_type: type[Problem] | None) -> Trainer:
    return make_trainer(build(resolve(member.settings), problem_type))


def _measured(trainer: Trainer, member: Member) -> float:
    return total_seconds(time_phases(trainer), trainer, resolve(member.settings))


def _cost(member: Member) -> str:
    return repr([member[name] for name in COSTLY])
