"""A search before anything is run: read, checked, and its directory compared."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pinnsig.core.errors import PinnsigError, RunError, SettingsError
from pinnsig.core.paths import user_path
from pinnsig.problem import Problem, name_of, problem_class
from pinnsig.run.building import build
from pinnsig.run.directory import RunDirectory
from pinnsig.run.estimating import make_trainer
from pinnsig.run.settings import resolve
from pinnsig.sweeps import Grid, SweepDirectory, make_grid
from pinnsig.sweeps.grid import flat
from pinnsig.sweeps.identity import Identity
from pinnsig.tuning.asking import optuna_study, searched
from pinnsig.tuning.objectives import check_objective
from pinnsig.tuning.space import Axis, read_space
from pinnsig.tuning.spec import PRUNERS, TuningSpec, require_optuna

SPEC = "tune.json"
BUILT = 10  # first trials, one of which must be fit to be trained before anything is written


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
            trial_grid(spec, {axis.name: int(value) if axis.whole else value}).check()
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
        (member,) = trial_grid(spec, settings).members()
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


def trial_grid(spec: TuningSpec, searched: Mapping[str, Any]) -> Grid:
    """A trial as a grid of one run."""
    fixed = {"problem": spec.problem, **flat(spec.settings)}
    return Grid({name: [value] for name, value in {**fixed, **searched}.items()})
