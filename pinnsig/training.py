"""The training loop: phases of optimisers, the best weights, stop reasons, progress."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from pinnsig.errors import SettingsError, TrainingError
from pinnsig.objective import Evaluation, Objective
from pinnsig.optim import Optimizer

FINISHED = "iterations done"
NON_FINITE = "non-finite loss"
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Phase:
    """One optimiser for a number of iterations.

    Args:
        optimizer: one of ours; a `torch.optim` one is refused.
        iterations: at most so many of the optimiser's iterations.
        max_evaluations: at most so many evaluations of loss and gradient; None means no limit.

    Raises:
        SettingsError: a count that is negative.
        TypeError: an optimiser that is not a `pinnsig.optim.Optimizer`.
    """

    optimizer: Optimizer
    iterations: int
    max_evaluations: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.optimizer, Optimizer):
            raise TypeError(
                f"a phase needs an optimiser of pinnsig.optim, not "
                f"{type(self.optimizer).__name__}: use Adam(...) or LBFGS(...)"
            )
        for name, count in (("iterations", self.iterations), ("evaluations", self.max_evaluations)):
            if count is not None and count < 0:
                raise SettingsError(f"{self.optimizer.name}: {count} {name} cannot be")


@dataclass(frozen=True)
class Record:
    """The state after an iteration, as logged.

    `loss` and `terms` belong to the parameters that the iteration evaluated: before its update
    for Adam, after it for L-BFGS. Iteration 0 of phase "start" is the initialised network.
    """

    phase: str
    iteration: int
    total: int
    loss: float
    terms: dict[str, float]
    best_loss: float
    learning_rate: float | None
    evaluations: int
    seconds: float


@dataclass
class PhaseReport:
    """How a phase went: iterations and evaluations really made, and why it stopped."""

    name: str
    iterations: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    stop: str = FINISHED


@dataclass
class Outcome:
    """What training leaves.

    Attributes:
        best: the parameters of the lowest loss seen, shape (P,); `last`: those at the end.
        terms: mean squares by term at the best parameters.
    """

    best: Tensor
    last: Tensor
    best_loss: float
    last_loss: float
    terms: dict[str, float]
    phases: list[PhaseReport] = field(default_factory=list)

    @property
    def stop(self) -> str:
        """Why the last phase stopped."""
        return self.phases[-1].stop if self.phases else FINISHED


Observer = Callable[[Record], None]
"""Anything that wants to see every iteration."""


class Trainer:
    """Runs phases on an objective.

    Args:
        objective: loss and gradient.
        phases: what to run, in order.
        observe: called once before training and after every iteration.
        interrupted: asked after every iteration; true ends training there.
    """

    def __init__(
        self,
        objective: Objective,
        phases: Sequence[Phase],
        observe: Observer | None = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        self.objective = objective
        self.phases = list(phases)
        self.observe = observe
        self.interrupted = interrupted
        self.best_loss = math.inf
        self.best = objective.flat.copy()
        self.best_terms: Tensor | None = None
        self.started = time.perf_counter()
        self._seen: list[Evaluation] = []  # evaluations of the present iteration

    def start(self) -> Record:
        """Evaluate the initialised network, so that a run that cannot start does not.

        Raises:
            TrainingError: the loss or its gradient is not finite; names the terms at fault.
        """
        loss, gradient = self._evaluate()
        if not (math.isfinite(loss) and bool(gradient.isfinite().all())):
            terms = ", ".join(self.objective.non_finite_terms()) or "their sum"
            raise TrainingError(
                f"the loss or its gradient is not finite at the start, in: {terms} "
                "(a square root, division or overflow in the residual, or too large a scale)"
            )
        return self._record("start", 0, 0, loss, None)

    def run(self, first: Record | None = None) -> Outcome:
        """Run all phases.

        Args:
            first: what `start` gave, if it was called; else it is called now.
        """
        self._tell(first or self.start())
        reports = []
        for phase in self.phases:
            reports.append(self._run_phase(phase))
            if reports[-1].stop == NON_FINITE:
                self.objective.flat.restore(self.best)  # go on from the last good parameters
            if reports[-1].stop == INTERRUPTED:
                break
        last = self.objective.losses()
        self._keep_best(last)
        names = self.objective.term_names
        assert self.best_terms is not None
        return Outcome(
            best=self.best,
            last=self.objective.flat.copy(),
            best_loss=self.best_loss,
            last_loss=float(last.loss),
            terms=dict(zip(names, self.best_terms.tolist(), strict=True)),
            phases=reports,
        )

    def _run_phase(self, phase: Phase) -> PhaseReport:
        name = phase.optimizer.name
        report = PhaseReport(name)
        begun, before = time.perf_counter(), self.objective.evaluations
        for iteration in range(1, phase.iterations + 1):
            budget = None
            if phase.max_evaluations is not None:
                budget = phase.max_evaluations - (self.objective.evaluations - before)
                if budget < 1:
                    report.stop = "evaluation limit"
                    break
            self._seen.clear()
            step = phase.optimizer.step(self.objective.flat.values, self._evaluate, budget)
            if step.stop is not None:
                report.stop = step.stop
                break
            report.iterations = iteration
            rate = phase.optimizer.learning_rate
            self._tell(self._record(name, iteration, phase.iterations, step.loss, rate))
            if not math.isfinite(step.loss):
                report.stop = NON_FINITE
                break
            if self.interrupted():
                report.stop = INTERRUPTED
                break
        report.seconds = time.perf_counter() - begun
        report.evaluations = self.objective.evaluations - before
        return report

    def _evaluate(self) -> tuple[float, Tensor]:
        evaluation = self.objective.evaluate()
        self._seen.append(evaluation)
        self._keep_best(evaluation)
        return float(evaluation.loss), self.objective.flat.gradient

    def _keep_best(self, evaluation: Evaluation) -> None:
        loss = float(evaluation.loss)
        if loss < self.best_loss:
            self.best_loss = loss
            self.best.copy_(self.objective.flat.values)
            self.best_terms = evaluation.terms

    def _record(
        self, phase: str, iteration: int, total: int, loss: float, rate: float | None
    ) -> Record:
        # the evaluation whose loss the step reports: not always the last one of a line search
        terms = next((e.terms for e in reversed(self._seen) if float(e.loss) == loss), None)
        names = self.objective.term_names
        values = terms.tolist() if terms is not None else [math.nan] * len(names)
        return Record(
            phase=phase,
            iteration=iteration,
            total=total,
            loss=loss,
            terms=dict(zip(names, values, strict=True)),
            best_loss=self.best_loss,
            learning_rate=rate,
            evaluations=self.objective.evaluations,
            seconds=time.perf_counter() - self.started,
        )

    def _tell(self, record: Record) -> None:
        if self.observe is not None:
            self.observe(record)
