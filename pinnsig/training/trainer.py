"""The training loop: phases of optimisers, the best weights, stop reasons."""

import copy
import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from pinnsig.core.errors import RankError, TrainingError
from pinnsig.objective import Evaluation, Objective
from pinnsig.objective.distributed import DealtObjective
from pinnsig.optim import LIMIT, Step, drive
from pinnsig.training.answers import Answers, Best, EvaluationRequest, evaluate_alone, given_loss
from pinnsig.training.limits import Budget, Clock, Limits
from pinnsig.training.mini_batches import MiniBatches
from pinnsig.training.phase import Phase
from pinnsig.training.records import (
    FINISHED,
    INTERRUPTED,
    NON_FINITE,
    TIME_LIMIT,
    Outcome,
    PhaseReport,
    Record,
    StopTraining,
    Watcher,
    advice,
)
from pinnsig.training.state import is_finite, load_state, state_of
from pinnsig.training.weighting import Weighting


class Trainer:
    """Runs phases on an objective.

    Args:
        objective: loss and gradient; new points or another precision replace it.
        phases: what to run, in order.
        watcher: sees every iteration.
        limits: on all of training.
        weighting: finds loss weights during first-order phases; within others they stay.
        error: measures the relative L2 error of the present network; None where it has none.
        error_every: measure it every so many iterations; 0 never. Limits on the error see it then.
        save: given `state()` at the start, every `save_every` iterations, and at each phase's end.
        clock: what limits on time and the times that are told go by.

    Attributes:
        best: the parameters of the lowest loss so far.
        answers: what answers the optimisers.
        notices: what a user should know of the optimisers, a line each.
        reports: of the phases that have begun.
        draws: how many times points were drawn anew.
        prepared: number of the phase and iteration that points and weights were renewed for last.
        last_error: the relative L2 error when it was measured last.
        ended: whether a limit has ended all of training.
        loaded: whether it goes on from a state.
        spent: seconds of training before it went on from a state.
    """

    def __init__(
        self,
        objective: Objective,
        phases: Sequence[Phase],
        watcher: Watcher | None = None,
        limits: Limits | None = None,
        weighting: Weighting | None = None,
        error: Callable[[], float | None] = lambda: None,
        error_every: int = 0,
        save: Callable[[dict[str, Any]], None] | None = None,
        save_every: int = 0,
        clock: Clock = time.perf_counter,
    ) -> None:
        self.best = Best(objective)
        self.answers = Answers(objective, self.best)
        # optimisers remember: those given stay as they are, for another training
        self.phases = [replace(p, optimizer=copy.deepcopy(p.optimizer)) for p in phases]
        self.watcher = watcher or Watcher()
        self.limits = limits or Limits()
        self.weighting = weighting
        self.error, self.error_every = error, error_every
        self.save, self.save_every = save, save_every
        self.reports: list[PhaseReport] = []
        self.draws = 0
        self.prepared = [0, 0]
        self.last_error: float | None = None
        self.ended = False
        self.loaded = False
        self.wish: str | None = None  # of a watcher, to end
        self.clock = clock
        self.spent = 0.0
        self.begun: float | None = None  # on the clock, once training has
        self._all_points: Objective | None = None  # in a phase of batches
        self.notices = self._prepare_optimizers()  # refused before anything is computed
        if weighting is not None:
            self.answers.weights = weighting.start(objective)

    @property
    def objective(self) -> Objective:
        """Loss and gradient, at the present points and in the present precision."""
        return self.answers.objective

    @property
    def loss(self) -> Objective:
        """The loss at all points; in a phase of batches `objective` has some of them."""
        return self._all_points or self.objective

    def go_alone(self) -> None:
        """Keep the loss in this process alone."""
        whole, self._all_points = self.loss, None
        self.answers.objective = whole.alone()

    def _prepare_optimizers(self) -> list[str]:
        """Let every optimiser meet its task.

        Raises:
            SettingsError: one cannot do it.
        """
        found, dtype = [], self.objective.flat.values.dtype
        for phase in self.phases:
            dtype = phase.dtype or dtype
            notice = phase.optimizer.prepare(self.answers.layout(dtype))
            phase.check_schedule()
            phase.check_batches()
            if notice is not None and notice not in found:
                found.append(notice)
        return found

    @property
    def seconds(self) -> float:
        """How long training has taken by now; setting it up is not counted."""
        return self.spent + (0.0 if self.begun is None else self.clock() - self.begun)

    def start(self) -> Record:
        """Evaluate the initialised network, so that a run that cannot start does not.

        Raises:
            TrainingError: the loss or its gradient is not finite; names the terms at fault.
        """
        measured = self.answers.measured(self.objective.evaluate(self.answers.weights))
        gradient = self.objective.flat.gradient
        if not (math.isfinite(measured.loss) and bool(gradient.isfinite().all())):
            terms = ", ".join(self.objective.non_finite_terms()) or "their sum"
            raise TrainingError(
                f"the loss or its gradient is not finite at the start, in: {terms} "
                "(a square root, division or overflow in the residual, or too large a scale)"
            )
        return self._record(PhaseReport("start"), 0, measured.terms)

    def run(self, first: Record | None = None) -> Outcome:
        """Run all phases, or those that are left after `load`; see `training`."""
        return drive(self.training(first), evaluate_alone)

    def training(
        self, first: Record | None = None
    ) -> Generator[EvaluationRequest, Evaluation, Outcome]:
        """The same as a generator that asks for each loss and gradient.

        Args:
            first: what `start` gave, if it was called; else it is called now.
        """
        if not self.loaded:
            self._tell(first or self.start())
            self._save()
        self.begun = self.clock()
        while (number := self.next_phase()) is not None:
            if number == len(self.reports):
                self._enter(number)
            yield from self._run_phase(self.phases[number], self.reports[number])
        terms = self.objective.losses().terms.tolist()
        self.best.note(self.objective, terms)
        return self.outcome(given_loss(self.objective, terms))

    def outcome(self, last_loss: float = math.nan, failure: str | None = None) -> Outcome:
        """Return what there is by now.

        Args:
            last_loss: at the present parameters, where it is known.
            failure: what ended training, where it was an error.
        """
        return Outcome(
            best=self.best.values,
            last=self.objective.flat.copy(),
            best_loss=self.best.loss,
            last_loss=last_loss,
            terms=dict(zip(self.objective.term_names, self.best.terms, strict=True)),
            phases=self.reports,
            failure=failure,
        )

    def next_phase(self) -> int | None:
        """The phase to run now, counted from 0; None when all are done."""
        if self.ended:
            return None
        if self.reports and self.reports[-1].stop is None:
            return len(self.reports) - 1
        return len(self.reports) if len(self.reports) < len(self.phases) else None

    def state(self) -> dict[str, Any]:
        """All that `load` needs to go on as if nothing had happened: tensors and plain data."""
        return state_of(self)

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a state, perhaps with more iterations than the phases had then.

        Raises:
            TrainingError: the state belongs to another network, other terms or other phases.
        """
        load_state(self, state)
        self.loaded = True

    def _save(self) -> None:
        if self.save is not None:
            self.save(self.state())

    def _tell(self, record: Record) -> None:
        try:
            self.watcher.recorded(record)
        except StopTraining as wish:
            self.wish = wish.reason

    # --- a phase --------------------------------------------------------------------------------

    def _enter(self, number: int) -> None:
        phase, before = self.phases[number], self.reports[-1] if number else None
        if phase.dtype is not None and phase.dtype != self.objective.flat.values.dtype:
            self.replace_objective(self.objective.rebuild(dtype=phase.dtype))
            self.best.reassess(self.objective)
        if phase.new_points is not None:
            self._renew_points(phase)
        if before is not None and before.stop != NON_FINITE:
            previous = self.phases[number - 1].optimizer
            if type(previous) is not type(phase.optimizer) or is_finite(previous.state()):
                phase.optimizer.inherit(previous, self.objective.flat.values)
        self.reports.append(PhaseReport(phase.optimizer.name))

    def _run_phase(
        self, phase: Phase, report: PhaseReport
    ) -> Generator[EvaluationRequest, Evaluation, None]:
        """Iterate until there is a reason to stop."""
        begun = self.clock() - report.seconds
        before = self.objective.evaluations - report.evaluations
        whole = self.clock() - self.seconds + (self.limits.seconds or math.inf)
        latest = min(whole, begun + (phase.max_seconds or math.inf))
        most = math.inf if phase.max_evaluations is None else phase.max_evaluations
        mine = Limits(loss=phase.stop_loss, error=phase.stop_error)
        if phase.batches is not None:
            self._begin_batches(phase.batches, report.iterations + 1)
        while report.stop is None:
            if report.iterations >= phase.iterations:
                report.stop = FINISHED
                break
            iteration = report.iterations + 1
            self._prepare(phase, iteration)
            budget = self.answers.budget = Budget(most - report.evaluations, latest, self.clock)
            step = yield from self._iterate(phase)
            report.evaluations = self.objective.evaluations - before
            report.seconds = self.clock() - begun
            if step.notice is not None:
                self.watcher.noticed(step.notice)
            if step.stop is not None:
                report.stop = budget.reason if step.stop == LIMIT else step.stop
                self.ended = report.stop == TIME_LIMIT and self.clock() >= whole
                break
            report.iterations = iteration
            if phase.batches is not None and phase.batches.ends_epoch(self.loss, iteration):
                self._note_whole_loss()
            record = self._record(report, phase.iterations, step.terms, phase)
            self._tell(record)
            stop = self.limits.reached(step.loss, record.loss, record.relative_l2) or self.wish
            if phase is self.phases[-1] and iteration == phase.iterations and stop == INTERRUPTED:
                stop = None  # it came when all was done
            self.ended = stop not in (None, NON_FINITE)
            report.stop = stop or mine.reached(step.loss, record.loss, record.relative_l2)
            if report.stop is None and self.save_every and iteration % self.save_every == 0:
                self._save()
        if phase.batches is not None:
            self._end_batches()
        if report.stop != INTERRUPTED and not self.objective.flat.values.isfinite().all():
            report.stop = NON_FINITE  # its last step was made by a gradient that was not
        if report.stop == NON_FINITE:
            self.objective.flat.restore(self.best.values)  # go on from the last good parameters
        report.advice = advice(report, phase.optimizer, self.objective.flat.values.dtype)
        self._save()  # before any word, which may have nowhere to go
        self.watcher.phase_ended(report)

    def _iterate(self, phase: Phase) -> Generator[EvaluationRequest, Evaluation, Step]:
        """One iteration; where a process ends meanwhile, what was before it is saved.

        Raises:
            RankError: a process that shares the points has ended.
        """
        values = self.objective.flat.values
        before = values.clone() if isinstance(self.objective, DealtObjective) else None
        try:
            return (yield from self.answers.iterate(phase.optimizer.step(values)))
        except RankError:
            if before is not None:
                values.copy_(before)
                self._save()
            raise

    def _prepare(self, phase: Phase, iteration: int) -> None:
        """What changes between iterations of a phase."""
        if phase.optimizer.scheduled:
            phase.optimizer.factor = phase.schedule.factor(iteration, phase.iterations)
        now = [len(self.reports), iteration]
        if phase.batches is not None:
            taken = phase.batches.take(self.loss, len(self.reports) - 1, iteration)
            self.objective.refill(taken)
        if now == self.prepared:  # a limit ended training then and there, and it goes on
            return
        self.prepared = now
        if phase.every and iteration > 1 and (iteration - 1) % phase.every == 0:
            self._renew_points(phase)
            phase.optimizer.renew()
        if self.weighting is not None and phase.optimizer.first_order:
            self.answers.weights = self.weighting.update(
                self.objective, self.answers.weights, self.answers.sizes, iteration
            )

    def _begin_batches(self, batches: MiniBatches, iteration: int) -> None:
        """Minimise at the points of one iteration after another; the loss is what it was."""
        self._all_points = self.objective
        first = batches.take(self.loss, len(self.reports) - 1, iteration)
        some = self.objective.rebuild(sites=first)
        some.refilled = True
        self.replace_objective(some)
        self.answers.whole = False

    def _end_batches(self) -> None:
        whole, self._all_points = self.loss, None
        whole.evaluations = self.objective.evaluations
        self.replace_objective(whole)
        self.answers.whole = True
        if not self.ended:  # else `training` does, behind the checkpoint: it may go on
            self._note_whole_loss()

    def _note_whole_loss(self) -> None:
        """Keep the present parameters if their loss at all points is the lowest."""
        self.best.note(self.loss, self.loss.losses().terms.tolist())

    def _renew_points(self, phase: Phase) -> None:
        """Draw points anew; they stay where the loss is not finite at the new ones."""
        assert phase.new_points is not None
        self.draws += 1
        present = self.objective.sites
        for sites in (phase.new_points(self.objective, self.draws), present):
            self.replace_objective(self.objective.rebuild(sites=sites))
            self.best.reassess(self.objective)
            if math.isfinite(self.best.loss):
                return
            self.watcher.noticed(
                f"{phase.optimizer.name}: the loss is not finite at some of the new points: the "
                "points stay as they are"
            )

    def replace_objective(self, objective: Objective) -> None:
        """Go on with another objective on the same model."""
        self.answers.objective = objective
        self.answers.weights, self.answers.sizes = objective.weights, None
        self.best.values = self.best.values.to(objective.flat.values)
        if self.weighting is not None:
            self.answers.weights = self.weighting.start(objective)

    def _record(
        self,
        report: PhaseReport,
        total: int,
        terms: Sequence[float],
        phase: Phase | None = None,
    ) -> Record:
        names = self.objective.term_names
        error = None
        if self.error_every and report.iterations % self.error_every == 0:
            error = self.last_error = self.error()
        return Record(
            phase=report.name,
            number=len(self.reports),
            iteration=report.iterations,
            total=total,
            step=sum(report.iterations for report in self.reports),
            loss=given_loss(self.objective, list(terms)),
            terms=dict(zip(names, terms, strict=True)),
            best_loss=self.best.loss,
            learning_rate=phase.optimizer.learning_rate if phase else None,
            evaluations=self.objective.evaluations,
            seconds=self.seconds,
            relative_l2=error,
            weights=None if self.weighting is None else self.weighting.shown(),
            coefficients=self.objective.model.coefficient_values() or None,
        )
