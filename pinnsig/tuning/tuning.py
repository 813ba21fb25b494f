"""`tune` and `read_tuned`: a search from what a user gives, and from its directory."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pinnsig.core.errors import RunError, SettingsError
from pinnsig.core.paths import user_path
from pinnsig.problem import Problem
from pinnsig.run.callbacks import Callback
from pinnsig.run.directory import RunDirectory
from pinnsig.sweeps import Executor, InProcess, Pool, SweepDirectory
from pinnsig.tuning.planning import SPEC, plan_tuning
from pinnsig.tuning.search import Search, TuningWatcher
from pinnsig.tuning.space import Axis
from pinnsig.tuning.spec import TuningSpec, open_study, require_optuna
from pinnsig.tuning.table import Tuned


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
    return Search(spec, directory, executor, watcher or TuningWatcher(), callbacks).run(trials)


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
    search = Search(spec, SweepDirectory.open(place.path), InProcess(), TuningWatcher())
    search.study = open_study(place.path, spec.pruner)
    return search.found()
