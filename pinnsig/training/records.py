"""What training tells: records of iterations, reports of phases, the outcome, stop reasons."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from pinnsig.optim import (
    CONVERGED_CHANGE,
    CONVERGED_GRADIENT,
    LINE_SEARCH_FAILED,
    FirstOrder,
    Optimizer,
)

FINISHED = "iterations done"
NON_FINITE = "non-finite loss"
INTERRUPTED = "interrupted"
EVALUATION_LIMIT = "evaluation limit"
TIME_LIMIT = "time limit"
LOSS_REACHED = "loss reached"
ERROR_REACHED = "error reached"
FAILED = "failed"
"""How the stop reason of a run begins whose training raised an error; the reason follows."""

SETTLED = (NON_FINITE, CONVERGED_GRADIENT, CONVERGED_CHANGE, LINE_SEARCH_FAILED)
"""Reasons for which more iterations of the same phase would change nothing."""


class StopTraining(Exception):  # noqa: N818, no error
    """Raised by a watcher's `recorded` to end training after this iteration.

    Args:
        reason: in a word or two; it is what the run's result says of its stop.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Record:
    """The state after an iteration, as logged.

    `loss` and `terms` belong to the parameters that the iteration evaluated: before its update
    for first-order methods, after it for L-BFGS. Iteration 0 of phase "start" is the initialised
    network.

    Attributes:
        phase: the optimiser's name; `number`: which phase it is, from 1.
        iteration: of this phase; `total`: as many as it may have; `step`: of all phases together.
        loss: with the weights that the user gave; `terms`: mean squares without weights.
        relative_l2: error against the solution, at the iterations at which it was measured.
        weights: loss weights by term, where a scheme changes them.
        coefficients: learned coefficients, after the iteration; None where there are none.
    """

    phase: str
    number: int
    iteration: int
    total: int
    step: int
    loss: float
    terms: dict[str, float]
    best_loss: float
    learning_rate: float | None
    evaluations: int
    seconds: float
    relative_l2: float | None = None
    weights: dict[str, float] | None = None
    coefficients: dict[str, float] | None = None


@dataclass
class PhaseReport:
    """How a phase went: iterations and evaluations really made, and why it stopped.

    Attributes:
        stop: None while it runs.
        advice: what would help, where there is something.
    """

    name: str
    iterations: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    stop: str | None = None
    advice: str | None = None


@dataclass
class Outcome:
    """What training leaves.

    Attributes:
        best: the parameters of the lowest loss seen, shape (P,); `last`: those at the end.
        terms: mean squares by term at the best parameters.
        failure: what ended training, in one line, where it was an error.
    """

    best: Tensor
    last: Tensor
    best_loss: float
    last_loss: float
    terms: dict[str, float]
    phases: list[PhaseReport] = field(default_factory=list)
    failure: str | None = None

    @property
    def stop(self) -> str:
        """Why training ended: how the last phase stopped that did anything."""
        if self.failure is not None:
            return f"{FAILED}: {self.failure}"
        for phase in reversed(self.phases):
            if phase.iterations or phase.stop not in (None, FINISHED):
                return phase.stop or FINISHED
        return FINISHED


class Watcher:
    """What sees training; every method does nothing until it is overridden."""

    def recorded(self, record: Record) -> None:
        """After the start and after every iteration; may raise `StopTraining`."""

    def phase_ended(self, report: PhaseReport) -> None:
        """After every phase."""

    def noticed(self, text: str) -> None:
        """What a user should know, in one line."""


def advice(report: PhaseReport, optimizer: Optimizer, dtype: torch.dtype) -> str | None:
    """What would help where a phase stopped for its reason."""
    if report.stop == NON_FINITE and isinstance(optimizer, FirstOrder):
        return "a lower learning rate, a warm-up, or gradient clipping (clip=1) may prevent it"
    if report.stop in (LINE_SEARCH_FAILED, CONVERGED_CHANGE) and dtype == torch.float32:
        return (
            "float32 rounding may be what stops it: "
            f"add a phase in float64, such as {report.name}:500,dtype=float64"
        )
    return None
