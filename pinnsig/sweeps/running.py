"""Running what is left of a sweep that is planned, and writing down how each run ended."""

from collections.abc import Sequence
from typing import Any

from pinnsig.core.gradients import own_gradients
from pinnsig.run.callbacks import Callback
from pinnsig.sweeps.deaths import Deaths
from pinnsig.sweeps.directory import SweepDirectory
from pinnsig.sweeps.executors import Executor
from pinnsig.sweeps.grid import Member
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
def run_planned(
    directory: SweepDirectory,
    executor: Executor,
    *,
    retry: int = 1,
    figures: bool = False,
    keep_checkpoints: bool = False,
    watcher: SweepWatcher | None = None,
    callbacks: Sequence[Callback] = (),
) -> SweepTable:
    """Run what is left of a sweep; see `pinnsig.sweeps.sweep`.

    Args:
        directory: the sweep, as it is planned.
        executor: what runs its members.
        retry: how many times a failed run is tried again.
        figures: whether to draw those of each run.
        keep_checkpoints: whether finished runs keep what `resume` needs.
        watcher: what sees the sweep.
        callbacks: what sees each run; copies of them.

    Raises:
        RunError: the directory cannot be written, or another process has it.
    """
    classes = directory.identity.classes
    return _Sweep(directory, executor, retry, watcher or SweepWatcher()).run(
        lambda member: Task(
            member.name,
            directory.path.absolute() / member.name,
            member.settings,
            classes.get(member["problem"]),
            directory.code_of(member),
            figures=figures,
            keep_checkpoint=keep_checkpoints,
            callbacks=tuple(callbacks),
        )
    )


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
        self.deaths = Deaths(directory)
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
            for name in todo:
                self.deaths.watch(name)
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
        kills = self.deaths.count(event.name)
        self.directory.killed(event.name, event.reason or "", kills)
        return kills <= self.retry

    def _with_reasons(self, table: SweepTable) -> SweepTable:
        """The table with what is known in this call alone."""
        for row in table:
            if row["status"] != DONE:
                row["reason"] = self.busy.get(row["run"], row["reason"])
        return table
