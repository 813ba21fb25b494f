"""A run over slabs of time: each trained from the end of the one before it.

Every slab has a directory of its own within the run's, with log, weights, points and checkpoint;
the run has settings, source, one result and figures over the whole time. Slabs share the iterations
of each phase and the seconds evenly; each has all the points of the settings.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pinnsig.core.errors import RunError, SettingsError, TrainingError
from pinnsig.core.interrupts import Interruption
from pinnsig.model import Model, SlabModel
from pinnsig.optim import Make
from pinnsig.problem import Problem, Slab
from pinnsig.run.building import RunComponents, build
from pinnsig.run.callbacks import Callback, Callbacks
from pinnsig.run.checkpoints import NEWEST, load_checkpoint
from pinnsig.run.directory import RunDirectory
from pinnsig.run.networks import Own
from pinnsig.run.points import Drawn
from pinnsig.run.results import Result
from pinnsig.run.running import Options, Run, Solving
from pinnsig.run.settings import COUNTS, Settings
from pinnsig.run.slab_models import cut, load_slab, slab_between, slab_settings
from pinnsig.run.slab_result import joint_result
from pinnsig.training import FAILED, INTERRUPTED, Record, StopTraining


@dataclass
class SlabRun:
    """What it takes to run slab after slab.

    Attributes:
        settings: of the run, resolved by `whole` but for the start of the network.
        whole: the problem over all of its time.
        ends: of the slabs, K + 1 times.
        models: of the slabs that are done.
    """

    settings: Settings
    whole: RunComponents
    problem_type: type[Problem]
    options: Options
    network: Own | None
    optimizers: Mapping[str, Make]
    ends: list[float]
    models: list[Model] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        settings: Settings,
        problem_type: type[Problem],
        options: Options,
        network: Own | None = None,
        optimizers: Mapping[str, Make] | None = None,
    ) -> "SlabRun":
        """Return a run that has not begun.

        Raises:
            PinnsigError: settings or a problem that cannot be had, or cannot be cut.
        """
        settings, whole, ends = cut(settings, problem_type, network)
        return cls(settings, whole, problem_type, options, network, dict(optimizers or {}), ends)

    @property
    def count(self) -> int:
        """How many slabs there are."""
        return len(self.ends) - 1

    # --- a slab -----------------------------------------------------------------------------------

    def slab(self, number: int) -> Slab:
        """Return a slab, from 0, that starts where the models so far end."""
        before = partial(_at_end, self.models[number - 1]) if number else None
        return slab_between(self.ends, number, before)

    def slab_options(self, callbacks: "Onwards") -> Options:
        """Return what a slab does besides."""
        return replace(self.options, figures=False, callbacks=[callbacks], is_slab=True)

    def made(self, settings: Settings, number: int) -> RunComponents:
        """Return the parts of a slab behind the first; its network starts from the one before."""
        parts = build(settings, self.problem_type, self.network, self.slab(number))
        if number:
            parts.model.load_state_dict(self.models[number - 1].state_dict())
        return replace(parts, notices=())

    def keep(self, directory: RunDirectory, number: int) -> Model:
        """Read the model of a slab that is done, in float64."""
        parts = self.settings, number, self.problem_type, self.network
        model = load_slab(*parts, self.slab(number), directory)
        wide = torch.float32 if self.settings.device == "mps" else torch.float64
        self.models.append(model.to(wide))
        return model

    # --- all of them ------------------------------------------------------------------------------

    def run(
        self,
        directory: RunDirectory,
        interruption: Interruption,
        first: tuple[Run, Record] | None,
        onwards: "Onwards",
    ) -> Solving:
        """Train what is not done yet; finish with one result."""
        results: list[dict[str, Any]] = []
        for number in range(self.count):
            own = directory.slab(number + 1)
            spent = sum(result["seconds"] for result in results)
            done = _done(own)
            if done is None:
                onwards.enter(results)
                low, high = self.ends[number : number + 2]
                time = self.whole.problem.domain.time
                onwards.noticed(
                    f"slab {number + 1} of {self.count}: {time} from {low:g} to {high:g}"
                )
                try:
                    going = self._train(own, number, spent, interruption, first, onwards)
                    done = (yield from going).data
                except TrainingError as error:
                    with_what = [*results, *([found] if (found := _read(own)) else [])]
                    self._finish(directory, with_what)
                    reason = f"slab {number + 1} of {self.count}: {error}"
                    Callbacks(self.options.callbacks).failed(reason)
                    raise TrainingError(reason, directory.path) from error
            results.append(done)
            if done["stop"] == INTERRUPTED or onwards.wished:
                break
            self.keep(own, number)
        return self._finish(directory, results)

    def _train(
        self,
        own: RunDirectory,
        number: int,
        spent: float,
        interruption: Interruption,
        first: tuple[Run, Record] | None,
        onwards: "Onwards",
    ) -> Solving:
        if number == 0 and first is not None:
            return (yield from first[0].begin_in(own, first[1]))
        settings = slab_settings(self.settings, number, spent)
        parts, options = self.made(settings, number), self.slab_options(onwards)
        if (own.path / NEWEST).is_file():
            state, notice = load_checkpoint(own)
            drawn = Drawn.load(own)
            if drawn is not None:
                drawn.check(parts.problem, settings.device)
            run = Run(parts, options, drawn, self.optimizers)
            run.notices += [notice] if notice else []
            return (yield from run.go_on(own, state, interruption))
        _empty(own)
        run = Run(parts, options, optimizers=self.optimizers)
        record = run.start()
        run.prepare(interruption, record)
        return (yield from run.begin_in(own, record))

    def _finish(self, directory: RunDirectory, results: Sequence[dict[str, Any]]) -> Result:
        complete = len(self.models) == self.count
        model = SlabModel(self.whole.problem, self.models, self.ends) if complete else None
        notify = Callbacks(self.options.callbacks).noticed
        return joint_result(
            directory, self.whole, results, self.ends, model, self.options.figures, notify
        )


class Onwards(Callbacks):
    """Hands what slabs tell to a run's callbacks, with iterations counted on.

    The run itself has one start and one end.
    """

    def __init__(self, members: Sequence[Callback]) -> None:
        super().__init__(members)
        self.steps = self.numbers = 0
        self.wished = False  # by a callback, that training ends

    def enter(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Count on from the slabs before."""
        self.steps = sum(result["iterations"] for result in results)
        self.numbers = sum(len(result["phases"]) for result in results)

    def started(self, parts: RunComponents, path: Path) -> None:
        """A slab's start: only what it has to say."""
        del path
        for notice in parts.notices:
            self.noticed(notice)

    def recorded(self, record: Record) -> None:
        """See `Watcher.recorded`."""
        counted = replace(
            record, step=self.steps + record.step, number=self.numbers + record.number
        )
        try:
            super().recorded(counted)
        except StopTraining:
            self.wished = True
            raise

    def finished(self, result: Result) -> None:
        """A slab's end."""

    def failed(self, reason: str) -> None:
        """A slab's failure; the run's own follows."""


def begin_slabs(
    plan: SlabRun,
    first: tuple[Run, Record],
    onwards: Onwards,
    runs: str | Path,
    path: str | Path | None,
    interruption: Interruption,
) -> Solving:
    """Make a run directory and train slab after slab in it.

    Args:
        plan: the run.
        first: its first slab, which has started.
        onwards: the first slab's callbacks.
        runs, path: see `solve`.
        interruption: by which it is asked to save and end.
    """
    run, record = first
    run.prepare(interruption, record)
    directory = run.make_directory(runs, path)
    settings = replace(
        plan.settings, init=run.parts.settings.init, p=run.parts.settings.p,
        sigma_b=run.parts.settings.sigma_b,
    )  # fmt: skip
    plan.settings = settings
    with directory.locked():
        run.describe(directory, settings)
        callbacks = Callbacks(plan.options.callbacks)
        told = (*plan.whole.notices, *run.notices)
        callbacks.started(replace(plan.whole, notices=told), directory.path)
        run.notices = []
        result = yield from plan.run(directory, interruption, first, onwards)
    callbacks.finished(result)
    return result


def resume_slabs(
    plan: SlabRun,
    directory: RunDirectory,
    interruption: Interruption,
    notices: tuple[str, ...] = (),
) -> Solving:
    """Go on with the first slab that is not done.

    Raises:
        RunError: all are.
    """
    slabs = directory.slabs()
    done = len(slabs) == plan.count and all(_done(own) is not None for own in slabs)
    if done and (directory.path / "result.json").is_file():
        raise RunError(
            f"{directory.path} has nothing left to do: all {plan.count} slabs are trained, each "
            "from the end of the one before it; start another run for more iterations"
        )
    callbacks = Callbacks(plan.options.callbacks)
    callbacks.started(replace(plan.whole, notices=notices), directory.path)
    directory.remove("result.json")
    onwards = Onwards(plan.options.callbacks)
    result = yield from plan.run(directory, interruption, None, onwards)
    callbacks.finished(result)
    return result


def check_changes(changes: Mapping[str, Any]) -> None:
    """Refuse changes of a run over slabs that would be another run.

    Raises:
        SettingsError: more iterations or phases.
    """
    for name in (*COUNTS, "phases"):
        if changes.get(name):
            raise SettingsError(
                f"{name} cannot change in a run over slabs: later slabs began at the ends of those "
                "before; start another run"
            )


def _at_end(
    model: Model, at: Mapping[str, Any], targets: tuple[str, ...]
) -> dict[str, NDArray[np.float64]]:
    """Quantities of a slab's solution at points of its end."""
    return {name: values.cpu().numpy() for name, values in model.predict(at, targets).items()}


def _read(own: RunDirectory) -> dict[str, Any] | None:
    try:
        return own.read_json("result.json")
    except RunError:
        return None


def _done(own: RunDirectory) -> dict[str, Any] | None:
    """The result of a slab that came to its end."""
    result = _read(own)
    if result is None or result["stop"] == INTERRUPTED or result["stop"].startswith(FAILED):
        return None
    return result


def _empty(own: RunDirectory) -> None:
    """Take away what a slab left that never had a checkpoint."""
    try:
        shutil.rmtree(own.path)
        own.path.mkdir()
    except OSError as error:
        raise RunError(f"cannot write {own.path}: {error.strerror}") from None
