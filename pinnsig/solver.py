"""`solve` and `resume`: one run, from settings to a run directory, and on from its checkpoint."""

import contextlib
import inspect
import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pinnsig.building import Parts, build, build_objective
from pinnsig.callbacks import Callback, Callbacks
from pinnsig.checkpoints import load_checkpoint
from pinnsig.errors import ProblemError, RunError, SettingsError, TrainingError
from pinnsig.evaluation import compare, relative_l2
from pinnsig.figures import draw_figures, draw_initial_activations
from pinnsig.interrupts import Interruption, interruptible
from pinnsig.jets.fields import guarded
from pinnsig.judging import absurd_start, judge, zero_loss
from pinnsig.loading import WEIGHTS
from pinnsig.logbook import Logbook
from pinnsig.objective import Evaluation
from pinnsig.optim import drive
from pinnsig.phasing import build_phases, build_weighting
from pinnsig.problem import Problem, absolute, name_of, opened_by, problem_class, source_of
from pinnsig.problem.opened import OpenedFiles
from pinnsig.results import result_data, true_losses
from pinnsig.resuming import changed_settings
from pinnsig.run_source import (
    keep_source,
    original_notices,
    problem_of,
    read_source,
    relative_notices,
)
from pinnsig.runs import RunDirectory, environment, version_notices
from pinnsig.settings import Settings, read_config, resolve
from pinnsig.training import (
    Asked,
    Limits,
    Outcome,
    PhaseReport,
    Record,
    Trainer,
    evaluate_alone,
)
from pinnsig.trust import Trust

LOWER_RATES = (0.1, 1e-3, 1e-6)  # p of calibrated starts, where the usual one is absurd
ERROR_EVERY = 50  # iterations, where an error ends a run and nothing says how often to measure it


@dataclass(frozen=True)
class Result:
    """What a run gave: `data` is what `result.json` holds, `path` the run directory."""

    path: Path
    data: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by copy and pickle, before there is any data
            raise AttributeError(name)
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(
                f"a result has no {name!r}: it has {', '.join(self.data)}"
            ) from None


Solving = Generator[Asked, Evaluation, Result]
"""A run that asks for each loss and gradient, so that several can be evaluated together."""


def solve(
    problem: str | Path | type[Problem],
    *,
    runs: str | Path = "runs",
    path: str | Path | None = None,
    figures: bool = True,
    callbacks: Sequence[Callback] = (),
    **given: Any,
) -> Result:
    """Train a network on a problem and leave a run directory.

    Args:
        problem: a registered name, a file (`my_pde.py`, `my_pde.py:Heat`), or a Problem class.
        runs: where run directories go.
        path: the run directory itself, new or empty, in place of one under `runs`.
        figures: whether to draw them.
        callbacks: what sees the run (`pinnsig.callbacks.Callback`).
        given: settings by name (`pinnsig.settings.Settings`).

    Raises:
        PinnsigError: a setting, the problem or the device cannot be used; nothing is left behind.
    """
    made = solving(problem, runs=runs, path=path, figures=figures, callbacks=callbacks, **given)
    return drive(made, evaluate_alone)


def solving(
    problem: str | Path | type[Problem],
    *,
    runs: str | Path = "runs",
    path: str | Path | None = None,
    figures: bool = True,
    callbacks: Sequence[Callback] = (),
    interruption: Interruption | None = None,
    code: Mapping[str, str] | None = None,
    **given: Any,
) -> Solving:
    """`solve` as a generator that asks for each loss and gradient.

    Args:
        interruption: by which it is asked to save and end, in place of signals.
        code: the digests that a problem file and its neighbours must have, by name.
        problem, runs, path, figures, callbacks, given: see `solve`.
    """
    kind = problem if inspect.isclass(problem) and issubclass(problem, Problem) else None
    if kind is None and not isinstance(problem, str | Path):
        raise ProblemError(f"{problem!r} is no problem: give its name, its file or its class")
    settings = resolve({**given, "problem": name_of(kind) if kind else absolute(str(problem))})
    if kind is None:
        kind = problem_class(settings.problem, code)
    run, first = _started(settings, kind, figures, callbacks)
    with run.interruptible(interruption) as heard:
        return (yield from run.begin(runs, path, heard, first))


def resume(
    run: str | Path,
    *,
    problem: type[Problem] | None = None,
    figures: bool = True,
    callbacks: Sequence[Callback] = (),
    trust: Trust = False,
    **changes: Any,
) -> Result:
    """Go on with a run from its checkpoint, as if it had never been interrupted.

    On a CPU, with as many threads as before, the weights come out the same bit for bit.

    Args:
        run: the run directory, wherever it is now.
        problem: the problem's class, where the run was started from Python with a class.
        figures: whether to draw them.
        callbacks: what sees the run.
        trust: whether code that came with the run may be run; this is remembered.
        changes: settings that may change: more iterations (`adam`, `lbfgs`), `phases` to add,
            limits, device, how often to log and save.

    Raises:
        RunError: no run there, no checkpoint that can be used, or nothing left to do.
        SettingsError: a change that cannot be made; nothing is changed then.
        TrustError: the run holds code that is not trusted.
        PinnsigError: the problem or the device cannot be had.
    """
    made = resuming(
        run, problem=problem, figures=figures, callbacks=callbacks, trust=trust, **changes
    )
    return drive(made, evaluate_alone)


def resuming(
    run: str | Path,
    *,
    problem: type[Problem] | None = None,
    figures: bool = True,
    callbacks: Sequence[Callback] = (),
    interruption: Interruption | None = None,
    trust: Trust = False,
    **changes: Any,
) -> Solving:
    """`resume` as a generator that asks for each loss and gradient; see `solving`."""
    directory = RunDirectory.open(run)
    with directory.locked():
        state, notice = load_checkpoint(directory)
        saved = read_config(directory.path / "config.json")
        settings = resolve(changed_settings(saved, changes, state["trainer"]["reports"]))
        own = problem_of(directory, settings.problem, trust, problem)
        going = _Run(build(settings, own.kind), figures, callbacks)
        source = read_source(directory)
        if source is not None:
            going.source = source.record()
        notices = [notice] if notice else []
        notices += [*own.notices, *original_notices(source, settings.problem)]
        notices += version_notices(directory)
        with going.interruptible(interruption) as heard:
            return (yield from going.go_on(directory, state, notices, heard))


def _started(
    settings: Settings, kind: type[Problem], figures: bool, callbacks: Sequence[Callback]
) -> tuple["_Run", Record]:
    """A run whose start is worth training, with the record of it.

    A calibrated start that is absurd is drawn with less noise, where the user did not say how much
    and the protocol is not the paper's.

    Raises:
        TrainingError: the start is absurd or not finite; says what to try.
    """
    free = settings.p is None and settings.init == "calibrated" and settings.preset != "paper"
    faults: list[TrainingError] = []
    opened = opened_by(kind)
    for p in (None, *(LOWER_RATES if free else ())):
        with opened.watching():
            run = _Run(build(replace(settings, p=p or settings.p), kind), figures, callbacks)
        run.opened = opened
        try:
            with opened.watching():
                first = run.start()
        except TrainingError as fault:
            faults.append(fault)
            continue
        if faults:
            run.notices.append(f"{faults[0]}; p = {p} is taken, whose start has {first.loss:.2e}")
        return run, first
    raise faults[0]


class _Run:
    """The steps of one run, in order."""

    def __init__(self, parts: Parts, figures: bool, callbacks: Sequence[Callback]) -> None:
        self.parts = parts
        self.figures = figures
        self.callbacks = Callbacks(callbacks)
        self.at_start: dict[str, Any] = {}
        self.opened = OpenedFiles(None)
        self.source: dict[str, Any] | None = None
        self.resumed = 0
        self.notices: list[str] = []
        settings = parts.settings
        limited = [settings.stop_error, *(phase.error for phase in settings.phase_list())]
        if settings.stop_error is not None and not parts.problem.has("solution"):
            raise SettingsError("stop_error: the problem has no solution to measure it against")
        made = self._trainer(settings.error_every or (ERROR_EVERY if any(limited) else 0))
        self.trainer = guarded(parts.problem, "residual or a condition", made)

    def _trainer(self, error_every: int) -> Callable[[], Trainer]:
        """What makes the trainer: weights found at the start meet the problem's own code."""
        parts = self.parts
        objective = build_objective(parts)
        return lambda: Trainer(
            objective,
            build_phases(parts),
            weighting=build_weighting(parts),
            error=lambda: relative_l2(compare(parts.model)),
            error_every=error_every,
            save_every=parts.settings.checkpoint_every,
        )

    def interruptible(
        self, given: Interruption | None
    ) -> contextlib.AbstractContextManager[Interruption]:
        """Within it, a wish to end is heard."""
        if given is not None:
            return contextlib.nullcontext(given)
        return interruptible(self.callbacks.interrupting)

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
                f"the start with {parts.initializer.spec} at {parts.settings.depth} x "
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
        parts, trainer = self.parts, self.trainer
        trainer.limits = self._limits(interruption)
        kind, settings = type(parts.problem), parts.settings
        with self.opened.watching():
            error = relative_l2(compare(parts.model))
        self.at_start = {"loss": first.loss, "relative_l2": error}
        source = source_of(kind).having_read(self.opened)
        self.source = source.record()
        directory = (
            RunDirectory.create(runs, settings.problem) if path is None else RunDirectory.make(path)
        )
        with directory.locked():
            self.notices += [*keep_source(directory, source), *relative_notices(self.opened)]
            self._write_config(directory)
            if self.figures:
                points = trainer.objective.blocks[0].points
                draw_initial_activations(directory, parts.model, points)
            return (yield from self._train(directory, self.notices, first))

    def go_on(
        self,
        directory: RunDirectory,
        state: dict[str, Any],
        notices: list[str],
        interruption: Interruption,
    ) -> Solving:
        """Train on from a checkpoint."""
        trainer = self.trainer
        trainer.limits = self._limits(interruption)
        trainer.load(state["trainer"])
        self.at_start, self.resumed = state["at_start"], state["resumed"] + 1
        if trainer.next_phase() is None and _is_complete(directory, trainer):
            last = trainer.reports[-1] if trainer.reports else PhaseReport("training")
            raise RunError(
                f"{directory.path} has nothing left to do: {last.name} ended after "
                f"{last.iterations} iterations ({last.stop}); give it more iterations or a phase"
            )
        threads = torch.get_num_threads()
        if self.parts.settings.device == "cpu" and threads != state["threads"]:
            notices.append(
                f"the run had {state['threads']} threads and now has {threads}: the last digits "
                "may differ (OMP_NUM_THREADS)"
            )
        reports = trainer.reports
        directory.cut_metrics(len(reports), reports[-1].iterations if reports else 0)
        self._write_config(directory)
        return (yield from self._train(directory, notices, None))

    def _train(self, directory: RunDirectory, notices: list[str], first: Record | None) -> Solving:
        parts, trainer = self.parts, self.trainer
        told = (*parts.notices, *trainer.notices, *trainer.objective.notices, *notices)
        self.callbacks.started(replace(parts, notices=told), directory.path)
        book = Logbook(directory, parts.settings.log_every, self.callbacks.noticed)
        trainer.watcher = Callbacks([book, *self.callbacks.members])
        trainer.save = book.saver(self._state)
        try:
            outcome = yield from trainer.training(first)
        except BaseException:  # whatever ends a run, its best weights are kept
            with contextlib.suppress(RunError):
                self._save(directory, "best", trainer.best.values)
            raise
        return self._finish(directory, outcome)

    def _finish(self, directory: RunDirectory, outcome: Outcome) -> Result:
        parts, trainer = self.parts, self.trainer
        self._save(directory, "last", outcome.last)
        self._save(directory, "best", outcome.best)
        losses = true_losses(trainer.objective, directory)
        comparisons = compare(parts.model)
        best = dict(zip(trainer.objective.term_names, losses["best"][1], strict=True))
        judgement = judge(trainer.objective, best, parts.settings.seed)
        data = result_data(
            parts, trainer.objective, outcome, comparisons, losses, self.at_start, judgement
        )
        seconds = time.perf_counter() - trainer.begun
        data = {"run": str(directory.path), **data, "seconds": seconds, "resumed": self.resumed}
        directory.write_json("result.json", data)
        if self.figures:
            draw_figures(directory, comparisons, judgement.independent)
        result = Result(directory.path, data)
        self.callbacks.finished(result)
        return result

    def _state(self, state: dict[str, Any]) -> dict[str, Any]:
        """What a checkpoint holds."""
        return {
            "trainer": state,
            "at_start": self.at_start,
            "resumed": self.resumed,
            "threads": torch.get_num_threads(),
        }

    def _limits(self, interruption: Interruption) -> Limits:
        settings = self.parts.settings
        return Limits(
            settings.max_seconds, settings.stop_loss, settings.stop_error, interruption.asked
        )

    def _write_config(self, directory: RunDirectory) -> None:
        settings = {
            **self.parts.settings.as_dict(), "engine": self.trainer.objective.engine.name,
        }  # fmt: skip
        source = {} if self.source is None else {"source": self.source}
        directory.write_json("config.json", {**settings, "environment": environment(), **source})

    def _save(self, directory: RunDirectory, which: str, values: Tensor) -> None:
        """Set the parameters, and write them down."""
        self.trainer.objective.flat.restore(values)
        directory.save_weights(WEIGHTS[which], self.parts.model.state_dict())


def _is_complete(directory: RunDirectory, trainer: Trainer) -> bool:
    """Whether the result of all that was trained is written: a run may end while it is."""
    try:
        result = directory.read_json("result.json")
    except RunError:
        return False
    return result.get("iterations") == sum(report.iterations for report in trainer.reports)
