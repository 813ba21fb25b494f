"""`sweep`: run what is missing of a grid, and return the table."""

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pinnsig.core.errors import PinnsigError, ProblemError, SettingsError
from pinnsig.core.gradients import own_gradients
from pinnsig.core.trust import Trust
from pinnsig.problem import Problem, name_of
from pinnsig.run.callbacks import Callback
from pinnsig.run.settings import Settings, resolve
from pinnsig.sweeps.batch_size import automatic_members, batch_setting
from pinnsig.sweeps.batched import Batched
from pinnsig.sweeps.directory import SweepDirectory
from pinnsig.sweeps.executors import Executor, InProcess
from pinnsig.sweeps.grid import Member, make_grid
from pinnsig.sweeps.identity import Identity
from pinnsig.sweeps.pool import Pool
from pinnsig.sweeps.running import SweepWatcher, run_planned
from pinnsig.sweeps.table import SweepTable


@own_gradients()
def sweep(
    problem: str | Path | type[Problem] | Sequence[str],
    *,
    zip: bool | Sequence[str] = False,
    out: str | Path | None = None,
    runs: str | Path = "runs",
    workers: int = 1,
    batch: int | str = "auto",
    executor: Executor | None = None,
    retry: int = 1,
    figures: bool = False,
    keep_checkpoints: bool = False,
    watcher: SweepWatcher | None = None,
    callbacks: Sequence[Callback] = (),
    trust: Trust = False,
    **given: Any,
) -> SweepTable:
    """Run every combination of settings, each in a run directory of its own.

    What is finished is not repeated, what was interrupted goes on from its checkpoint, and what
    failed is a row with its reason. What another process is training is left to it. Whatever else
    stands in the place of a run is renamed, never deleted.

    Args:
        problem: a name, a file or a class; or several names.
        zip: pair the settings with several values (True), or those that are named, in place of
            combining them.
        out: the sweep directory; by default `runs/sweeps/` and a name that the settings decide.
        runs: where that one goes.
        workers: processes; 1 runs in this one. A script that asks for more must do so below
            `if __name__ == "__main__":`.
        batch: how many runs train together in this process, their losses evaluated at once; `off`,
            or `auto`: on a CUDA device that one run does not fill, as many as fill it.
        executor: another way to run them, such as `pinnsig.sweeps.ray_cluster.RayCluster`.
        retry: how many times, in all calls, a failed run is tried again; and, in this one, how
            many times a run whose process dies may do so without getting further.
        figures: whether to draw those of each run.
        keep_checkpoints: whether finished runs keep what `resume` needs (160 MB each at 50 x 64).
        watcher: what sees the sweep.
        callbacks: what sees each run, such as a tracker; every run has copies of its own, in its
            process.
        trust: whether code that came with the sweep directory may be run; this is remembered.
        given: settings by name, each with one value or several: a list, or a text such as
            `"0.1,0.5"`, `"0.1:2:9"` (start:stop:count) or `"log:0.1:10:5"`.

    Raises:
        TrustError: a run that is to be gone on with holds code that is not trusted.
        PinnsigError: settings that cannot be used, or a directory that cannot be written; then
            nothing was run.
    """
    directory = plan(problem, zip=zip, out=out, runs=runs, **given)
    left = directory.trusted(retry, trust)
    if executor is None:
        executor = choose_executor(left, workers, batch)
    elif batch_setting("batch", batch) not in ("auto", "off"):
        raise SettingsError(f"batch = {batch} trains in this process, and not on another executor")
    return run_planned(
        directory, executor, retry=retry, figures=figures, keep_checkpoints=keep_checkpoints,
        watcher=watcher, callbacks=callbacks,
    )  # fmt: skip


def choose_executor(members: Sequence[Member], workers: int, batch: int | str) -> Executor:
    """What runs members on this machine; see `sweep`.

    Raises:
        SettingsError: workers or batch that cannot be, or both.
    """
    if workers < 1:
        raise SettingsError(f"workers = {workers} must be at least 1")
    together = batch_setting("batch", batch)
    if workers > 1:
        if together not in ("auto", "off"):
            raise SettingsError(
                f"batch = {batch} trains in one process: it cannot go with workers = {workers}"
            )
        return Pool(workers)
    if together == "auto":
        together = automatic_members(list(_resolved(members)))
    return InProcess() if together in ("off", 1) else Batched(int(together))


def _resolved(members: Sequence[Member]) -> Iterator[Settings]:
    for member in members:
        with contextlib.suppress(PinnsigError):  # it will be a row with its reason
            yield resolve(member.settings)


def plan(
    problem: str | Path | type[Problem] | Sequence[str],
    *,
    zip: bool | Sequence[str] = False,
    out: str | Path | None = None,
    runs: str | Path = "runs",
    **given: Any,
) -> SweepDirectory:
    """The sweep as it is and will be; nothing is written. See `sweep`."""
    problem_type = problem if inspect.isclass(problem) and issubclass(problem, Problem) else None
    if problem_type is None and not isinstance(problem, str | Path | list | tuple):
        raise ProblemError(f"{problem!r} is no problem: give its name, its file or its class")
    named = (
        name_of(problem_type)
        if problem_type
        else str(problem)
        if isinstance(problem, Path)
        else problem
    )
    grid = make_grid({**given, "problem": named}, zip)
    identity = Identity.of(grid.values["problem"], problem_type)
    grid.check()
    if "preset" not in grid.values:  # which would else depend on the machine that goes on
        preset = _preset(out, grid.values.get("device", ["auto"])[0])
        grid = make_grid({**given, "problem": named, "preset": preset}, zip)
    return SweepDirectory.planned(grid, out, runs, identity)


def _preset(out: str | Path | None, device: str) -> str:
    if out is not None and SweepDirectory.is_sweep(out):
        (known, *_) = SweepDirectory.open(out).grids[0].values.get("preset", [None])
        if known is not None:
            return known
    return resolve({"problem": "any", "device": device}).preset
