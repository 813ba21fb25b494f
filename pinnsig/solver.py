"""`solve`: one run from settings to a run directory."""

import contextlib
import dataclasses
import inspect
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from pinnsig.building import Parts, build, build_objective
from pinnsig.errors import ProblemError, RunError
from pinnsig.evaluation import Comparison, compare, max_error, relative_l2
from pinnsig.figures import draw_figures, draw_initial_activations
from pinnsig.jets.fields import guarded
from pinnsig.optim import LBFGS, Adam
from pinnsig.problem import Problem, absolute, problem_file
from pinnsig.runs import RunDirectory, environment
from pinnsig.settings import resolve
from pinnsig.training import Observer, Outcome, Phase, Record, Trainer


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


def solve(
    problem: str | Path | type[Problem],
    *,
    runs: str | Path = "runs",
    figures: bool = True,
    observe: Observer | None = None,
    announce: Callable[[Parts, Path], None] | None = None,
    interrupting: Callable[[], None] | None = None,
    **given: Any,
) -> Result:
    """Train a network on a problem and leave a run directory.

    Args:
        problem: a registered name, a file (`my_pde.py`, `my_pde.py:Heat`), or a Problem class.
        runs: where run directories go.
        figures: whether to draw them.
        observe: sees every iteration (`pinnsig.training.Record`).
        announce: called once everything is checked, just before training.
        interrupting: called at Ctrl-C, which ends training after the present step.
        given: settings by name (`pinnsig.settings.Settings`).

    Raises:
        PinnsigError: a setting, the problem or the device cannot be used; nothing is left behind.
    """
    kind = problem if inspect.isclass(problem) and issubclass(problem, Problem) else None
    if kind is None and not isinstance(problem, str | Path):
        raise ProblemError(f"{problem!r} is no problem: give its name, its file or its class")
    settings = resolve({**given, "problem": kind.__name__ if kind else absolute(str(problem))})
    run = _Run(build(settings, kind), figures)
    with interruptible(interrupting) as interrupted:
        return run.execute(runs, observe, announce, interrupted)


class _Run:
    """The steps of one run, in order."""

    def __init__(self, parts: Parts, figures: bool) -> None:
        self.parts = parts
        self.figures = figures
        settings = parts.settings
        self.objective = build_objective(parts)
        self.phases = [
            Phase(Adam(settings.lr), settings.adam),
            Phase(LBFGS(), settings.lbfgs),
        ]

    def execute(
        self,
        runs: str | Path,
        observe: Observer | None,
        announce: Callable[[Parts, Path], None] | None,
        interrupted: Callable[[], bool],
    ) -> Result:
        begun = time.perf_counter()
        model = self.parts.model
        trainer = Trainer(self.objective, self.phases, interrupted=interrupted)
        # both meet all of the problem's own code: its faults show before a directory is made
        first = guarded(model.problem, "residual or a condition", trainer.start)
        l2_at_start = relative_l2(compare(model))
        directory = self._open(runs)
        if announce is not None:
            told = (*self.parts.notices, *self.objective.notices)
            announce(replace(self.parts, notices=told), directory.path)
        if self.figures:
            draw_initial_activations(directory, model, self.objective.blocks[0].points)
        trainer.observe = self._observer(directory, observe)
        try:
            outcome = trainer.run(first)
        except BaseException:  # whatever ends a run, its best weights are kept
            with contextlib.suppress(RunError):
                self._save(directory, "model", trainer.best)
            raise
        self._save(directory, "last", outcome.last)
        self._save(directory, "model", outcome.best)
        comparisons = compare(model)
        result = self._result(directory, outcome, comparisons, l2_at_start, begun)
        directory.write_json("result.json", result)
        if self.figures:
            draw_figures(directory, comparisons)
        return Result(directory.path, result)

    def _save(self, directory: RunDirectory, name: str, values: Tensor) -> None:
        """Set the parameters, and write them down."""
        self.objective.flat.restore(values)
        directory.save_weights(f"{name}.safetensors", self.parts.model.state_dict())

    def _open(self, runs: str | Path) -> RunDirectory:
        settings = self.parts.settings
        directory = RunDirectory.create(runs, settings.problem)
        resolved = {**settings.as_dict(), "engine": self.objective.engine.name}
        directory.write_json("config.json", {**resolved, "environment": environment()})
        file = problem_file(settings.problem)
        if file is not None:
            directory.copy_problem(file.path)
        return directory

    def _observer(self, directory: RunDirectory, also: Observer | None) -> Observer:
        every = self.parts.settings.log_every

        def observe(record: Record) -> None:
            due = record.iteration % every == 0 or record.iteration == record.total
            if due or not math.isfinite(record.loss):
                directory.append_metrics(dataclasses.asdict(record))
            if also is not None:
                also(record)

        return observe

    def _result(
        self,
        directory: RunDirectory,
        outcome: Outcome,
        comparisons: Mapping[str, Comparison],
        l2_at_start: float | None,
        begun: float,
    ) -> dict[str, Any]:
        parts, settings = self.parts, self.parts.settings
        about = parts.initializer.describe(parts.activation, settings.depth)
        return {
            "run": str(directory.path),
            "problem": settings.problem,
            "activation": parts.activation.expression,
            "scale": settings.scale,
            "initializer": parts.initializer.spec,
            "initialization": about.as_dict(),
            "best_loss": outcome.best_loss,
            "last_loss": outcome.last_loss,
            "terms": outcome.terms,
            "relative_l2": relative_l2(comparisons),
            "relative_l2_at_start": l2_at_start,
            "max_error": max_error(comparisons),
            "coefficients": {k: float(v.detach()) for k, v in parts.model.coefficients().items()},
            "seconds": time.perf_counter() - begun,
            "iterations": sum(phase.iterations for phase in outcome.phases),
            "evaluations": self.objective.evaluations,
            "stop": outcome.stop,
            "phases": [dataclasses.asdict(phase) for phase in outcome.phases],
            "parameters": len(self.objective.flat),
            "engine": self.objective.engine.name,
            "preset": settings.preset,
        }


@contextlib.contextmanager
def interruptible(interrupting: Callable[[], None] | None) -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a question that the training loop asks; the second one kills."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def handle(signum: int, frame: Any) -> None:
        del signum, frame
        asked.set()
        signal.signal(signal.SIGINT, before)
        if interrupting is not None:
            interrupting()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)
