"""`tune`: ask a study for settings, run them on an executor, tell it what they gave."""

import inspect
import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pinnsig.core.errors import PinnsigError, RunError, SettingsError
from pinnsig.core.gradients import own_gradients
from pinnsig.core.paths import user_path
from pinnsig.problem import Problem, name_of, problem_class
from pinnsig.run.building import build
from pinnsig.run.callbacks import Callback
from pinnsig.run.directory import RunDirectory
from pinnsig.run.estimating import make_trainer
from pinnsig.run.settings import resolve
from pinnsig.sweeps import Executor, Grid, InProcess, Pool, SweepDirectory, make_grid
from pinnsig.sweeps.directory import run_result
from pinnsig.sweeps.identity import Identity
from pinnsig.sweeps.tasks import Ended, Started, Task
from pinnsig.tuning.asking import next_settings, optuna_study, searched
from pinnsig.tuning.drawing import draw
from pinnsig.tuning.objectives import check_objective, value_of
from pinnsig.tuning.pruning import PRUNED as STOPPED_EARLY
from pinnsig.tuning.pruning import Pruning
from pinnsig.tuning.space import Axis, read_space
from pinnsig.tuning.spec import PRUNERS, TuningSpec, open_study, require_optuna
from pinnsig.tuning.table import DONE, FAILED, PRUNED, RUNNING, Trial, Tuned

RETRY = 1  # times that a trial whose process died without getting further is tried again
SPEC = "tune.json"
BUILT = 10  # first trials, one of which must be fit to be trained before anything is written


class TuningWatcher:
    """What sees a search; every method does nothing until it is overridden."""

    def planned(self, found: Tuned, trials: int) -> None:
        """Before anything runs: what there is already, and how many trials there shall be."""

    def started(self, trial: Trial) -> None:
        """A trial starts, or goes on."""

    def ended(self, trial: Trial, found: Tuned, reason: str | None) -> None:
        """A trial ended; `reason` says why it failed."""

    def noticed(self, text: str) -> None:
        """What a user should know; each text once."""

    def interrupting(self, number: int) -> None:
        """At the first Ctrl-C or SIGTERM, inside the handler."""


def tune(
    problem: str | Path | type[Problem],
    search: Mapping[str, Any],
    *,
    trials: int = 50,
    objective: str = "residual",
    pruner: str = "median",
    prune_every: int = 50,
    seed: int = 0,
    out: str | Path | None = None,
    runs: str | Path = "runs",
    workers: int = 1,
    executor: Executor | None = None,
    watcher: TuningWatcher | None = None,
    callbacks: Sequence[Callback] = (),
    **given: Any,
) -> Tuned:
    """Search for settings that make an objective small; needs the extra `pinnsig[tune]`.

    Settings are asked of Optuna's tree-structured Parzen estimator. Each trial is a run in a
    directory of its own, and the search's directory is that of a sweep, too, so that `show`, `plot`
    and `compare` read it. The same call again goes on where it was, after whatever end: at most
    what ran is lost, back to its checkpoints. More `trials` make it longer.

    Args:
        problem: a name, a file or a class.
        search: by setting what may be: "1e-4:1e-2:log", "3:8", "tanh,erf", a tuple (low, high) or
            (low, high, "log"), or a list of choices; entries of tables as "set.nu".
        trials: how many in all.
        objective: residual (mean squares at points of the judge's own), estimate (the estimated
            error), error (against the solution) or loss.
        pruner: median, hyperband or none: what ends trials early that fall behind, by the sum of
            their terms' mean squares at the training points.
        prune_every: iterations between its looks.
        seed: of the search. The settings' seed is a setting of its own: `seed` in `search`.
        out: the search's directory; by default `runs/tuning/` and the problem's name.
        runs: where that one goes.
        workers: processes; a script that asks for several must do so below
            `if __name__ == "__main__":`.
        executor: another way to run trials, as for `sweep`.
        watcher: what sees the search.
        callbacks: what sees each run, such as a tracker; every run has copies of its own.
        given: settings of all trials, as for `solve`.

    Raises:
        SettingsError: Optuna is not installed, or something that cannot be searched; then nothing
            was run.
        RunError: the directory holds another search, or cannot be written.
    """
    spec, directory = plan_tuning(
        problem, search, objective=objective, pruner=pruner, prune_every=prune_every, seed=seed,
        out=out, runs=runs, **given,
    )  # fmt: skip
    if trials < 1:
        raise SettingsError(f"trials = {trials} must be at least 1")
    if workers < 1:
        raise SettingsError(f"workers = {workers} must be at least 1")
    executor = executor or (InProcess() if workers == 1 else Pool(workers))
    return _Search(spec, directory, executor, watcher or TuningWatcher(), callbacks).run(trials)


def plan_tuning(
    problem: str | Path | type[Problem],
    search: Mapping[str, Any],
    *,
    objective: str = "residual",
    pruner: str = "median",
    prune_every: int = 50,
    seed: int = 0,
    out: str | Path | None = None,
    runs: str | Path = "runs",
    **given: Any,
) -> tuple[TuningSpec, SweepDirectory]:
    """The search and its directory, with everything checked; nothing is written. See `tune`."""
    require_optuna()
    PRUNERS.find(pruner)
    if prune_every < 1:
        raise SettingsError(f"prune_every = {prune_every} must be at least 1")
    problem_type = problem if inspect.isclass(problem) and issubclass(problem, Problem) else None
    named = name_of(problem_type) if problem_type else str(problem)
    grid = make_grid({**given, "problem": named})
    identity = Identity.of(grid.values["problem"], problem_type)
    name = grid.values["problem"][0]
    cls = problem_type or problem_class(name)
    axes = tuple(read_space(search, _coefficients(cls)))
    _check_apart(grid, axes)
    fixed = {k: v for k, v in grid.members()[0].settings.items() if k != "problem"}
    slabs = next((a.choices for a in axes if a.name == "slabs"), (fixed.get("slabs", 1),))
    spec = TuningSpec(name, fixed, axes, objective, pruner, prune_every, seed)
    for axis in axes:  # both ends, as far as that shows without training
        for value in axis.choices or (axis.low, axis.high):
            _grid(spec, {axis.name: int(value) if axis.whole else value}).check()
    default = user_path(runs, RunError) / "tuning" / Path(name.partition(":")[0]).stem
    path = default if out is None else user_path(out, RunError)
    _compare(path, spec)
    if not SweepDirectory.is_sweep(path):
        _check_built(spec, problem_type)
        check_objective(objective, cls, fixed.get("set", {}), any(s != 1 for s in slabs))
        return spec, SweepDirectory(path, [], identity)
    directory = SweepDirectory(path, SweepDirectory.open(path).grids, identity)
    if directory.changed:
        raise RunError(
            f"{name} changed since the trials in {path} were trained: they cannot be compared with "
            "new ones, choose another directory with --out"
        )
    return spec, directory


def _coefficients(problem: type[Problem]) -> list[str]:
    try:
        return list(problem().values())
    except TypeError:  # its own __init__ asks for something
        return []


def _check_built(spec: TuningSpec, problem: type[Problem] | None) -> None:
    """Build first trials, until one is fit to be trained.

    Raises:
        PinnsigError: none is; that of the first.
    """
    faults: list[PinnsigError] = []
    for number in range(BUILT):
        study = optuna_study(spec.sampler(number))
        settings = searched(spec, study.ask(spec.distributions()).params)
        (member,) = _grid(spec, settings).members()
        try:
            make_trainer(build(resolve(member.settings), problem))
        except PinnsigError as error:
            faults.append(error)
        else:
            return
    raise faults[0]


def _check_apart(grid: Grid, axes: tuple[Axis, ...]) -> None:
    if grid.axes:
        raise SettingsError(f"{grid.axes[0]} has several values: put it into the search")
    for axis in axes:
        if axis.name in grid.values:
            raise SettingsError(f"{axis.name} is searched, and given as a setting, too")


def _compare(path: Path, spec: TuningSpec) -> None:
    """Refuse a directory of another search."""
    if not (path / SPEC).is_file():
        if SweepDirectory.is_sweep(path):
            raise RunError(f"{path} is a sweep's directory and no search's: choose another")
        return
    before, now = RunDirectory(path).read_json(SPEC), spec.as_dict()
    changed = [name for name, value in now.items() if before.get(name) != value]
    if changed:
        raise RunError(
            f"{path} holds another search (other {', '.join(changed)}): choose another directory "
            "with --out"
        )


def _grid(spec: TuningSpec, searched: Mapping[str, Any]) -> Grid:
    """A trial as a grid of one run."""
    values: dict[str, list[Any]] = {"problem": [spec.problem]}
    for name, value in spec.settings.items():
        if isinstance(value, dict):
            values |= {f"{name}.{key}": [one] for key, one in value.items()}
        else:
            values[name] = [value]
    return Grid({**values, **{name: [value] for name, value in searched.items()}})


class _Search:
    """The steps of one call."""

    def __init__(
        self, spec: TuningSpec, directory: SweepDirectory, executor: Executor,
        watcher: TuningWatcher, callbacks: Sequence[Callback] = (),
    ) -> None:  # fmt: skip
        self.spec, self.directory = spec, directory
        self.executor, self.watcher = executor, watcher
        self.callbacks = tuple(callbacks)
        self.interrupted = False
        self.again: deque[int] = deque()  # numbers of trials that are to go on
        self.kills: dict[int, int] = {}
        self.reached: dict[int, int] = {}
        self.told: set[str] = set()
        self.numbers: dict[str, int] = {}  # of trials that run, by their run
        self.study: Any = None

    @own_gradients()
    def run(self, wanted: int) -> Tuned:
        """Run trials until there are so many, and write down what was found."""
        with self.directory.locked():
            self.directory.identity.remember()
            place = RunDirectory(self.directory.path)
            place.write_json(SPEC, self.spec.as_dict())
            self.study = open_study(place.path, self.spec.pruner, create=True)
            self.again.extend(trial.number for trial in self._trials() if self._is_open(trial))
            self.watcher.planned(self.found(), wanted)
            while not self.interrupted:
                for event in self.executor.run(self._tasks(wanted), self._heard):
                    if isinstance(event, Started):
                        self.watcher.started(self._trial(self.numbers[event.name]))
                    else:
                        self._note(event)
                if not self.again:
                    break
            found = self.found()
            draw(found)
        return found

    def found(self) -> Tuned:
        """What there is by now."""
        trials = [self._trial(trial.number) for trial in self._trials()]
        return Tuned(self.directory.path, self.spec, trials, self.interrupted)

    def _heard(self, number: int) -> None:
        self.interrupted = True
        self.watcher.interrupting(number)

    # --- asking ---------------------------------------------------------------------------------

    def _tasks(self, wanted: int) -> Iterator[Task]:
        """What is to go on, then new trials, each asked for when there is room for it."""
        while True:
            if self.again:
                number = self.again.popleft()
            elif len(self._trials()) < wanted:
                number = len(self._trials())
                if not self._ask():
                    text = f"nothing new was found to try after {number} trials"
                    self.watcher.noticed(text)
                    return
            else:
                return
            yield self._task(number)

    def _ask(self) -> bool:
        """Add a trial of something new to the study; returns whether there is one."""
        from optuna.trial import TrialState, create_trial

        trials = self._trials()
        known = {self._run_of(searched(self.spec, trial.params)) for trial in trials}
        params = next_settings(self.spec, trials, lambda s: self._run_of(s) not in known)
        if params is None:
            return False
        distributions = self.spec.distributions()
        self.study.add_trial(
            create_trial(state=TrialState.RUNNING, params=params, distributions=distributions)
        )
        return True

    def _run_of(self, settings: Mapping[str, Any]) -> str:
        """The name of the run with searched settings."""
        (member,) = _grid(self.spec, settings).members()
        return member.name

    def _task(self, number: int) -> Task:
        frozen = self._trials()[number]
        grid = _grid(self.spec, searched(self.spec, frozen.params))
        self.directory.add(grid)
        (member,) = grid.members()
        self.numbers[member.name] = number
        self.reached.setdefault(number, self.directory.reached(member.name))
        pruning = Pruning(
            self.directory.path.absolute(), frozen._trial_id, self.spec.pruner,
            self.spec.prune_every,
        )  # fmt: skip
        return Task(
            member.name,
            self.directory.path.absolute() / member.name,
            member.settings,
            self.directory.identity.classes.get(self.spec.problem),
            self.directory.code_of(member),
            callbacks=(*self.callbacks, *(() if self.spec.pruner == "none" else (pruning,))),
        )

    # --- telling --------------------------------------------------------------------------------

    def _note(self, event: Ended) -> None:
        for text in event.notices:
            if text not in self.told:
                self.told.add(text)
                self.watcher.noticed(text)
        number = self.numbers[event.name]
        self.interrupted |= event.interrupted
        if event.interrupted:
            return
        if event.killed and self._goes_on(number, event.name):
            self.again.append(number)
            return
        reason = event.reason
        if reason is None:
            reason = self._tell(number, run_result(self.directory.path / event.name))
            self.directory.succeeded(event.name)
        else:
            self.directory.failed(event.name, reason)
            self._finish(number, FAILED, None)
        found = self.found()
        self._write(found)
        self.watcher.ended(self._trial(number), found, reason)

    def _goes_on(self, number: int, name: str) -> bool:
        """Whether a trial whose process died is to go on."""
        before, now = self.reached[number], self.directory.reached(name)
        self.reached[number] = now
        self.kills[number] = 0 if now > before else self.kills.get(number, 0) + 1
        return self.kills[number] <= RETRY

    def _tell(self, number: int, result: Mapping[str, Any] | None) -> str | None:
        """Tell the study what a run gave; returns why it counts as failed."""
        if result is not None and result["stop"] == STOPPED_EARLY:
            self._finish(number, PRUNED, None)
            return None
        value = value_of(self.spec.objective, result)
        if value is None:
            self._finish(number, FAILED, None)
            return f"its {self.spec.objective} is not finite, or not known"
        self._finish(number, DONE, value)
        return None

    def _finish(self, number: int, state: str, value: float | None) -> None:
        from optuna.trial import TrialState

        states = {
            DONE: TrialState.COMPLETE, PRUNED: TrialState.PRUNED, FAILED: TrialState.FAIL,
        }  # fmt: skip
        self.study.tell(number, value, states[state])

    def _write(self, found: Tuned) -> None:
        place = RunDirectory(self.directory.path)
        self.directory.write_results()
        place.write_bytes("tune.csv", found.csv().encode())

    # --- the study ------------------------------------------------------------------------------

    def _trials(self) -> list[Any]:
        return self.study.get_trials(deepcopy=False)

    @staticmethod
    def _is_open(frozen: Any) -> bool:
        return not frozen.state.is_finished()

    def _trial(self, number: int) -> Trial:
        """A trial of the study in this package's words."""
        frozen = self._trials()[number]
        name = frozen.state.name
        states = {"COMPLETE": DONE, "PRUNED": PRUNED, "FAIL": FAILED}
        settings = searched(self.spec, frozen.params) if frozen.params else {}
        state = states.get(name, RUNNING)
        value = frozen.value if state in (DONE, PRUNED) else None
        if value is not None and not math.isfinite(value):
            value = None
        return Trial(number, settings, state, value, self._run_of(settings))


def read_tuned(path: str | Path) -> Tuned:
    """Return a search from its directory.

    Raises:
        RunError: there is none, or its files are damaged.
        SettingsError: Optuna is not installed.
    """
    require_optuna()
    place = RunDirectory(user_path(path, RunError))
    if not (place.path / SPEC).is_file():
        raise RunError(f"{path} is no directory of a search: it has no {SPEC}")
    try:
        data = place.read_json(SPEC)
        axes = tuple(Axis(**{**axis, "choices": tuple(axis["choices"])}) for axis in data["search"])
        spec = TuningSpec(axes=axes, **{k: v for k, v in data.items() if k != "search"})
    except (KeyError, TypeError):
        raise RunError(f"{place.path / SPEC} is damaged: it holds no search") from None
    search = _Search(spec, SweepDirectory.open(place.path), InProcess(), TuningWatcher())
    search.study = open_study(place.path, spec.pruner)
    return search.found()
