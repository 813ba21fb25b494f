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
from pinnsig.run.settings import Settings, resolve
from pinnsig.sweeps.batch_size import automatic_members, batch_setting
from pinnsig.sweeps.batched import Batched
from pinnsig.sweeps.directory import SweepDirectory
from pinnsig.sweeps.executors import Executor, InProcess
from pinnsig.sweeps.grid import Member, make_grid
from pinnsig.sweeps.identity import Identity
from pinnsig.sweeps.pool import Pool
from pinnsig.sweeps.table import DONE, Row, SweepTable
from pinnsig.sweeps.tasks import Ended, Started, Task


class SweepWatcher:
    """What sees a sweep; every method does nothing until it is overridden."""

    def planned(self, table: SweepTable, todo: Sequence[str], workers: int) -> None:
        """Before anything runs: every row as it is, and the names of what will be run."""

    def started(self, name: str, where: str) -> None:
        """A run starts; `where` names the worker, if there are several."""

    def ended(self, row: Row, again: bool) -> None:
        """A run ended, with its row; `again`: its process died, and it will be tried again."""

    def noticed(self, text: str) -> None:
        """What a user should know of runs or their directories; each text once."""

    def interrupting(self, number: int) -> None:
        """At the first Ctrl-C or SIGTERM, inside the handler."""


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
    classes = directory.identity.classes
    if executor is None:
        executor = choose_executor(left, workers, batch)
    elif batch_setting("batch", batch) not in ("auto", "off"):
        raise SettingsError(f"batch = {batch} trains in this process, and not on another executor")
    return _Sweep(directory, executor, retry, watcher or SweepWatcher()).run(
        lambda member: Task(
            member.name,
            directory.path.absolute() / member.name,
            member.settings,
            classes.get(member["problem"]),
            directory.code_of(member),
            figures=figures,
            keep_checkpoint=keep_checkpoints,
        )
    )


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


class _Sweep:
    """The steps of one call."""

    def __init__(
        self, directory: SweepDirectory, executor: Executor, retry: int, watcher: SweepWatcher
    ) -> None:
        self.directory = directory
        self.executor = executor
        self.retry = retry
        self.watcher = watcher
        self.table: SweepTable  # as written down last
        self.interrupted = False
        self.reached: dict[str, int] = {}  # iterations, of runs with a checkpoint
        self.kills: dict[str, int] = {}  # without getting further
        self.busy: dict[str, str] = {}  # reasons of what is left to another process
        self.told: set[str] = set()

    def run(self, make: Any) -> SweepTable:
        """Run what is left, with the task that `make` makes of each member."""
        directory = self.directory
        for notice in directory.notices:
            self.watcher.noticed(notice)
        with directory.locked():
            directory.identity.remember()
            directory.set_aside_stale()
            todo = {member.name: member for member in directory.left(self.retry)}
            workers = self.executor.workers
            self.table = directory.write_results()
            self.watcher.planned(self.table, list(todo), workers)
            self.reached = {name: directory.reached(name) for name in todo}
            while todo and not self.interrupted:
                again: dict[str, Member] = {}
                tasks = [make(member) for member in todo.values()]
                for event in self.executor.run(tasks, self._heard):
                    if isinstance(event, Started):
                        self.watcher.started(event.name, event.where)
                    elif self._note(event, todo[event.name]):
                        again[event.name] = todo[event.name]
                todo = again
            table = self._with_reasons(directory.table(self.interrupted))
            directory.write_results(table)
            directory.write_parquet(table)
        return table

    def _heard(self, number: int) -> None:
        """Within a signal's handler: even if every run that is at work comes to its own end."""
        self.interrupted = True
        self.watcher.interrupting(number)

    def _note(self, event: Ended, member: Member) -> bool:
        """Write down how a run ended; returns whether to run it again in this call."""
        for text in event.notices:
            if text not in self.told:
                self.told.add(text)
                self.watcher.noticed(text)
        again = False
        self.interrupted |= event.interrupted
        if event.busy:
            again = event.name not in self.busy  # once more, when the others are done
            self.busy[event.name] = f"{event.reason}: it is left to that one"
        elif event.killed and not event.interrupted:
            again = self._killed(event)
        elif event.reason is not None and not event.interrupted:
            self.directory.failed(event.name, event.reason)
        elif not event.interrupted:
            self.directory.succeeded(event.name)
        table = self.directory.renewed(self.table, member, self.interrupted)
        self.table = self.directory.write_results(self._with_reasons(table))
        (row,) = self.table.where(run=event.name)
        again = again and not self.interrupted
        self.watcher.ended(row, again)
        return again

    def _killed(self, event: Ended) -> bool:
        """Count the death of a run's process if it got no further; returns whether to go on."""
        before, self.reached[event.name] = (
            self.reached[event.name],
            self.directory.reached(event.name),
        )
        further = self.reached[event.name] > before
        kills = self.kills[event.name] = 0 if further else self.kills.get(event.name, 0) + 1
        self.directory.killed(event.name, event.reason or "", kills)
        return kills <= self.retry

    def _with_reasons(self, table: SweepTable) -> SweepTable:
        """The table with what is known in this call alone."""
        for row in table:
            if row["status"] != DONE:
                row["reason"] = self.busy.get(row["run"], row["reason"])
        return table
