"""`solve`: one run from settings to a run directory."""

import contextlib
import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pinnsig.building import Parts, build
from pinnsig.evaluation import Comparison, compare, max_error, reference_values, relative_l2
from pinnsig.evaluation import evaluation_axes as axes_of
from pinnsig.figures import draw_figures, draw_initial_activations
from pinnsig.jets import choose_engine
from pinnsig.objective import Objective
from pinnsig.optim import LBFGS, Adam
from pinnsig.problem import Problem, problem_file
from pinnsig.runs import RunDirectory, environment
from pinnsig.sampling import Counts, draw_sites
from pinnsig.settings import resolve
from pinnsig.training import Observer, Outcome, Phase, Record, Trainer

INTERRUPTED_EXIT = 130


@dataclass(frozen=True)
class Result:
    """What a run gave: `data` is what `result.json` holds, `path` the run directory."""

    path: Path
    data: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(
                f"a result has no {name!r}: it has {', '.join(self.data)}"
            ) from None


def solve(
    problem: str | type[Problem],
    *,
    runs: str | Path = "runs",
    figures: bool = True,
    observe: Observer | None = None,
    announce: Callable[[Parts, Path], None] | None = None,
    **given: Any,
) -> Result:
    """Train a network on a problem and leave a run directory.

    Args:
        problem: a registered name, a file (`my_pde.py`, `my_pde.py:Heat`), or a Problem class.
        runs: where run directories go.
        figures: whether to draw them.
        observe: sees every iteration (`pinnsig.training.Record`).
        announce: called once everything is checked, just before training.
        given: settings by name (`pinnsig.settings.Settings`).

    Raises:
        PinnsigError: a setting, the problem or the device cannot be used; nothing is left behind.
    """
    name = problem if isinstance(problem, str) else problem.__name__
    settings = resolve({**given, "problem": name})
    parts = build(settings, None if isinstance(problem, str) else problem)
    return _Run(parts, figures).execute(runs, observe, announce)


class _Run:
    """The steps of one run, in order."""

    def __init__(self, parts: Parts, figures: bool) -> None:
        self.parts = parts
        self.figures = figures
        settings = parts.settings
        counts = Counts(settings.collocation, settings.initial, settings.boundary)
        sites = draw_sites(parts.problem, counts, settings.sampler, settings.seed)
        engine = choose_engine(settings.engine, parts.model.network)
        self.objective = Objective(parts.model, engine, sites, settings.weight)
        self.phases = [
            Phase(Adam(settings.lr), settings.adam),
            Phase(LBFGS(), settings.lbfgs),
        ]
        # a solution of the wrong shape is found now, not after training
        axes = axes_of(parts.problem)
        corner = {n: torch.from_numpy(a[:3].repeat(3 // len(a[:3]) or 1)) for n, a in axes.items()}
        reference_values(parts.problem, corner)

    def execute(
        self,
        runs: str | Path,
        observe: Observer | None,
        announce: Callable[[Parts, Path], None] | None,
    ) -> Result:
        begun = time.perf_counter()
        with interruptible() as interrupted:
            trainer = Trainer(self.objective, self.phases, interrupted=interrupted)
            first = trainer.start()
            directory = self._open(runs)
            if announce is not None:
                announce(self.parts, directory.path)
            if self.figures:
                points = self.objective.blocks[0].points
                draw_initial_activations(directory, self.parts.model, points)
            l2_at_start = relative_l2(compare(self.parts.model))
            trainer.observe = self._observer(directory, observe)
            outcome = trainer.run(first)
            for name, values in (("last", outcome.last), ("model", outcome.best)):
                self.objective.flat.restore(values)
                directory.save_weights(f"{name}.safetensors", self.parts.model.state_dict())
            comparisons = compare(self.parts.model)
            result = self._result(directory, outcome, comparisons, l2_at_start, begun)
            directory.write_json("result.json", result)
            if self.figures:
                draw_figures(directory, comparisons)
        return Result(directory.path, result)

    def _open(self, runs: str | Path) -> RunDirectory:
        settings = self.parts.settings
        directory = RunDirectory.create(runs, settings.problem)
        directory.write_json("config.json", {**settings.as_dict(), "environment": environment()})
        source = problem_file(settings.problem)
        if source is not None:
            directory.copy_problem(source)
        return directory

    def _observer(self, directory: RunDirectory, also: Observer | None) -> Observer:
        every = self.parts.settings.log_every

        def observe(record: Record) -> None:
            if record.iteration % every == 0 or record.iteration == record.total:
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
def interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a question that the training loop asks; the second one kills."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def handle(signum: int, frame: Any) -> None:
        del signum, frame
        asked.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)
