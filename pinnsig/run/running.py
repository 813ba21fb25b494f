"""The steps of one run, in order: its start, its directory, its training, its end."""

import contextlib
import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pinnsig.core.errors import PinnsigError, RunError, SettingsError, TrainingError, one_line
from pinnsig.core.interrupts import Interruption, interruptible
from pinnsig.core.ranks import Ranks
from pinnsig.model import Model
from pinnsig.model.evaluation import compare, has_reference, relative_l2
from pinnsig.model.fields import guarded
from pinnsig.objective import Evaluation
from pinnsig.optim import Make
from pinnsig.problem import source_of
from pinnsig.problem.opened import OpenedFiles
from pinnsig.run.building import RunComponents, build_objective
from pinnsig.run.callbacks import Callback, Callbacks
from pinnsig.run.directory import RunDirectory
from pinnsig.run.ending import Ending, failing_term, is_memory
from pinnsig.run.environment import environment
from pinnsig.run.figures import draw_initial_activations
from pinnsig.run.following import OwnParts, lead
from pinnsig.run.judging import absurd_start, zero_loss
from pinnsig.run.logbook import Logbook
from pinnsig.run.phases import build_phases, build_weighting
from pinnsig.run.points import Drawn
from pinnsig.run.results import Result
from pinnsig.run.settings import Settings
from pinnsig.run.source import keep_source, relative_notices
from pinnsig.training import FAILED, Clock, EvaluationRequest, Limits, PhaseReport, Record, Trainer

ERROR_EVERY = 50  # iterations, where an error ends a run and nothing says how often to measure it

Solving = Generator[EvaluationRequest, Evaluation, Result]
"""A run that asks for each loss and gradient, so that several can be evaluated together."""


@dataclass(frozen=True)
class Options:
    """What a run does besides its settings, which decide its numbers.

    Attributes:
        figures: whether to draw them.
        callbacks: what sees the run.
        keep_checkpoint: whether a finished run keeps all of a large checkpoint.
        clock: what limits on time and the times that are told go by.
        is_slab: whether it is a part of a run, which has the settings.
        ranks: the processes that share it.
        given: what each of them was given, by a script that all of them run.
    """

    figures: bool = True
    callbacks: Sequence[Callback] = ()
    keep_checkpoint: bool = False
    clock: Clock = field(default=time.perf_counter)
    is_slab: bool = False
    ranks: Ranks = field(default_factory=Ranks)
    given: OwnParts = OwnParts()


def listening(
    options: Options, given: Interruption | None
) -> contextlib.AbstractContextManager[Interruption]:
    """Within it, a wish to end is heard, by signals or from who asks otherwise."""
    if given is not None:
        return contextlib.nullcontext(given)
    return interruptible(Callbacks(options.callbacks).interrupting)


class Run:
    """One run, from its parts on.

    Args:
        parts: what its settings stand for.
        options: what it does besides.
        drawn: its points, where it goes on; else they are drawn.
        optimizers: functions that make optimisers, by their names in settings.

    Raises:
        PinnsigError: what cannot be trained; nothing is written.
    """

    def __init__(
        self,
        parts: RunComponents,
        options: Options,
        drawn: Drawn | None = None,
        optimizers: Mapping[str, Make] | None = None,
    ) -> None:
        self.parts = parts
        self.options = options
        self.drawn = drawn
        self.optimizers = optimizers
        self.callbacks = Callbacks(options.callbacks)
        self.at_start: dict[str, Any] = {}
        self.opened = OpenedFiles(None)
        self.source: dict[str, Any] | None = None
        self.resumed = 0
        self.notices: list[str] = []
        settings, ranks = parts.settings, options.ranks
        if ranks.size > 1:
            self.notices.append(
                f"{ranks.size} processes share the points, {torch.get_num_threads()} "
                f"thread{'s' * (torch.get_num_threads() > 1)} each on a CPU"
            )
        limited = [settings.stop_error, *(phase.error for phase in settings.phase_list())]
        if any(limit is not None for limit in limited) and not has_reference(parts.problem):
            raise SettingsError(
                "stop_error: the problem has no solution to measure it against, or one that "
                "depends on a learned coefficient whose true value is not given (true=)"
            )
        made = self._trainer(settings.error_every or (ERROR_EVERY if any(limited) else 0))
        self.trainer = guarded(parts.problem, "residual or a condition", made)

    def _trainer(self, error_every: int) -> Callable[[], Trainer]:
        """What makes the trainer: weights found at the start meet the problem's own code."""
        parts = self.parts
        lead(self.options.ranks, parts, self.options.given)
        ranks = self.options.ranks
        objective = build_objective(parts, sites=self.drawn and self.drawn.sites, ranks=ranks)
        return lambda: Trainer(
            objective,
            build_phases(parts, self.optimizers),
            weighting=build_weighting(parts),
            error=lambda: _error(parts.model),
            error_every=error_every,
            save_every=parts.settings.checkpoint_every,
            clock=self.options.clock,
        )

    def start(self) -> Record:
        """Evaluate the initialised network; all of the problem's own code is met here.

        Raises:
            TrainingError: its loss is not finite, or absurd beside that of the zero function.
        """
        parts, trainer = self.parts, self.trainer
        first = guarded(parts.problem, "residual or a condition", trainer.start)
        zero = math.nan  # where the problem's code cannot take zeros
        with contextlib.suppress(Exception):
            zero = zero_loss(trainer.objective)
        if absurd_start(first.loss, zero):
            raise TrainingError(
                f"the start with {parts.weights} at {parts.settings.depth} x "
                f"{parts.settings.width} is absurd: its loss is {first.loss:.2e}, that of the zero "
                f"function {zero:.2e}; try a smaller p, fewer layers, or --init xavier"
            )
        return first

    def begin(
        self,
        runs: str | Path,
        path: str | Path | None,
        interruption: Interruption,
        first: Record,
    ) -> Solving:
        """Make a run directory and train in it."""
        self.prepare(interruption, first)
        directory = self.make_directory(runs, path)
        with directory.locked():
            self.describe(directory, self.parts.settings)
            return (yield from self.begin_in(directory, first))

    def prepare(self, interruption: Interruption, first: Record) -> None:
        """Meet limits, and the rest of the problem's code, before anything is written."""
        parts, trainer = self.parts, self.trainer
        trainer.limits = self._limits(interruption)
        with self.opened.watching():
            self.at_start = {"loss": first.loss, "relative_l2": _error(parts.model)}
        with self.opened.watching():
            self.drawn = Drawn.of(parts.problem, trainer.objective.sites, parts.settings.device)

    def make_directory(self, runs: str | Path, path: str | Path | None) -> RunDirectory:
        """Return a new run directory, under `runs` or at `path`."""
        problem = self.parts.settings.problem
        return RunDirectory.create(runs, problem) if path is None else RunDirectory.make(path)

    def describe(self, directory: RunDirectory, settings: Settings) -> None:
        """Leave the problem's source and the settings in a run directory."""
        source = source_of(type(self.parts.problem)).having_read(self.opened)
        self.source = source.as_dict()
        self.notices += [*keep_source(directory, source), *relative_notices(self.opened)]
        self.write_config(directory, settings)

    def begin_in(self, directory: RunDirectory, first: Record) -> Solving:
        """Train in a directory that is there, once all is prepared."""
        assert self.drawn is not None
        self.drawn.save(directory)
        if self.options.figures:
            points = self.trainer.objective.interior.points
            draw_initial_activations(directory, self.parts.model, points, self.notices.append)
        return (yield from self._train(directory, first))

    def go_on(
        self, directory: RunDirectory, state: dict[str, Any], interruption: Interruption
    ) -> Solving:
        """Train on from a checkpoint; the result that was there is withdrawn."""
        trainer = self.trainer
        trainer.limits = self._limits(interruption)
        trainer.load(state["trainer"])
        self.at_start, self.resumed = state["at_start"], state["resumed"] + 1
        number, reports = trainer.next_phase(), trainer.reports
        if number is None and _is_complete(directory, trainer):
            last = reports[-1] if reports else PhaseReport("training")
            raise RunError(
                f"{directory.path} has nothing left to do: {last.name} ended after "
                f"{last.iterations} iterations ({last.stop}); give it more iterations or a phase"
            )
        self.notices += self._changes(state, number)
        directory.cut_metrics(len(reports), reports[-1].iterations if reports else 0)
        if not self.options.is_slab:
            self.write_config(directory, self.parts.settings)
        directory.remove("result.json")  # it is of another end than the weights to come
        return (yield from self._train(directory, None))

    def _changes(self, state: dict[str, Any], number: int | None) -> list[str]:
        """What makes a run that goes on differ from one that was never interrupted."""
        found, threads, size = [], torch.get_num_threads(), self.options.ranks.size
        if size != (before := state.get("processes", 1)):
            found.append(
                f"the run had {before} process{'es' * (before > 1)} and now has {size}: the last "
                "digits may differ"
            )
        elif self.parts.settings.device == "cpu" and threads != state["threads"]:
            found.append(
                f"the run had {state['threads']} threads and now has {threads}: the last digits "
                "may differ (OMP_NUM_THREADS)"
            )
        within = number is not None and number < len(self.trainer.reports)
        if within and state["trainer"]["optimizer"] is None:
            found.append(
                f"what {self.trainer.reports[-1].name} remembered was not kept at the run's end: "
                "it starts anew from the last weights"
            )
        return found

    def _train(self, directory: RunDirectory, first: Record | None) -> Solving:
        parts, trainer = self.parts, self.trainer
        told = (*parts.notices, *trainer.notices, *trainer.objective.notices, *self.notices)
        book = Logbook(directory, parts.settings.log_every, self.callbacks.noticed)
        trainer.watcher = Callbacks([book, self.callbacks])
        trainer.save = book.saver(self._state)
        ending = Ending(
            parts, trainer, self.callbacks, directory, self.at_start, self.resumed,
            self.options.figures, self.options.keep_checkpoint,
        )  # fmt: skip
        try:
            self.callbacks.started(replace(parts, notices=told), directory.path)
            outcome = yield from trainer.training(first)
            self._go_alone()
        except Exception as error:
            self._go_alone()
            failure = self._failed(error, book, ending)
            self.callbacks.failed(one_line(failure))
            raise failure from error
        except BaseException:  # whatever tears a run away, its best weights are kept
            book.close()
            with contextlib.suppress(PinnsigError):
                ending.save_weights("best", trainer.outcome())
            raise
        result = ending.finish(outcome)
        self.callbacks.finished(result)
        return result

    def _go_alone(self) -> None:
        """Judge in this process: the others have done their part, or are gone."""
        ranks = self.options.ranks
        if ranks.whole_threads is not None:
            torch.set_num_threads(ranks.whole_threads)
        with contextlib.suppress(Exception):  # the problem's code has failed
            self.trainer.go_alone()

    def _failed(self, error: Exception, book: Logbook, ending: Ending) -> TrainingError:
        """Leave what there is by now; return the error that says so."""
        trainer, where = self.trainer, "before its first iteration"
        reason = one_line(error)
        if is_memory(error):
            reason = f"out of memory: {reason}"
        elif not isinstance(error, PinnsigError):
            term = failing_term(trainer.objective)
            reason = f"{term} fails with {reason}" if term else reason
        book.close()
        if trainer.reports and trainer.reports[-1].stop is None:
            report = trainer.reports[-1]
            where = f"after {report.iterations} iterations of {report.name}"
            report.stop = FAILED
        outcome = trainer.outcome(failure=reason)
        with contextlib.suppress(TrainingError):  # where nothing can be written
            ending.finish(outcome)
        return TrainingError(
            f"{type(self.parts.problem).__name__}: training failed {where}: {reason}; "
            f"its best weights are in {ending.directory.path}",
            ending.directory.path,
        )

    def _state(self, state: dict[str, Any]) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {
            "trainer": state,
            "processes": self.options.ranks.size,
            "at_start": self.at_start,
            "resumed": self.resumed,
            "threads": torch.get_num_threads(),
        }

    def _limits(self, interruption: Interruption) -> Limits:
        settings = self.parts.settings
        return Limits(
            settings.max_seconds, settings.stop_loss, settings.stop_error, interruption.asked
        )

    def write_config(self, directory: RunDirectory, settings: Settings) -> None:
        """Write settings, environment and where the problem came from."""
        given = {
            **settings.as_dict(), "engine": self.trainer.objective.engine.name,
        }  # fmt: skip
        source = {} if self.source is None else {"source": self.source}
        about = {**environment(), "launch": self.options.ranks.launch}
        directory.write_json("config.json", {**given, "environment": about, **source})


def _error(model: Model) -> float | None:
    """The relative L2 error on the grid, where there is a reference; numbers may be anything."""
    with np.errstate(all="ignore"):
        return relative_l2(compare(model))


def _is_complete(directory: RunDirectory, trainer: Trainer) -> bool:
    """Whether the result of all that was trained is written: a run may end while it is."""
    try:
        result = directory.read_json("result.json")
    except RunError:
        return False
    return result.get("iterations") == sum(report.iterations for report in trainer.reports)
