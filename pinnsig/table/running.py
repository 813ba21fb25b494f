"""Running the list of problems at a budget, and keeping its records as runs end."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from pinnsig.core.errors import ProblemError, SettingsError
from pinnsig.core.registry import unknown
from pinnsig.problem import problem_entries
from pinnsig.sweeps import (
    Executor,
    Grid,
    InProcess,
    Pool,
    Row,
    SweepDirectory,
    SweepTable,
    SweepWatcher,
    make_grid,
    run_planned,
)
from pinnsig.sweeps.grid import TABLES
from pinnsig.table.budget import ROOT, Budget
from pinnsig.table.entries import entry_of
from pinnsig.table.records import make_record, write_record
from pinnsig.table.writing import write_table

BUILT_IN = "pinnsig.problems."
"""What the modules of this package's own problems begin with."""


def built_in_problems() -> list[str]:
    """Return the names of the problems that come with this package."""
    return [name for name, entry in problem_entries().items() if entry.module.startswith(BUILT_IN)]


def run_table(
    budget: Budget,
    only: Sequence[str] = (),
    out: Path = ROOT,
    workers: int = 1,
    executor: Executor | None = None,
    watcher: SweepWatcher | None = None,
) -> SweepTable:
    """Run what is missing of a table, and return the rows of its runs.

    The runs are members of a sweep, all problems with one seed before the next seed; each has one
    thread. Records and the table are written as each run ends, so that nothing is lost when the
    process is killed: the same call goes on. Runs of a problem whose code has changed are trained
    anew.

    Args:
        budget: what each run may use.
        only: names of problems; without any, all that come with this package.
        out: where tables go, each in its folder; their runs go to `sweeps` there, of ROOT to
            `sweeps` beside it.
        workers: processes; 1 runs in this one.
        executor: another way to run them.
        watcher: what sees the sweep.

    Raises:
        ProblemError: there is no such problem.
        SettingsError: settings that cannot be.
        RunError: a directory cannot be written, or another process has it.
    """
    names = _chosen(only)
    if workers < 1:
        raise SettingsError(f"workers = {workers} must be at least 1")
    place = (out.parent if out == ROOT else out) / "sweeps" / f"table-{budget.runs_name}"
    directory = SweepDirectory.of(_grids(budget, names), place)
    keeper = _Keeper(budget, out, place, watcher or SweepWatcher())
    with _one_thread():
        executor = executor or (InProcess() if workers == 1 else Pool(workers, threads=workers))
        table = run_planned(directory, executor, watcher=keeper)
    keeper.keep(table)
    return table


def _chosen(only: Sequence[str]) -> list[str]:
    known = built_in_problems()
    for name in only:
        if name not in known:
            raise ProblemError(unknown("built-in problem", name, known))
    return [name for name in known if name in only] if only else known


def _grids(budget: Budget, names: Sequence[str]) -> list[Grid]:
    """The runs: seed by seed, problems of the same settings together."""
    alike: dict[str, list[str]] = {}
    for name in names:
        key = json.dumps(budget.settings(entry_of(name)), sort_keys=True)
        alike.setdefault(key, []).append(name)
    return [
        make_grid({**_values(budget.settings(entry_of(same[0]))), "problem": same, "seed": [seed]})
        for seed in range(budget.seeds)
        for same in alike.values()
    ]


def _values(settings: dict[str, Any]) -> dict[str, Any]:
    """Each setting as the only one of its values."""
    return {
        name: {key: [one] for key, one in value.items()} if name in TABLES else [value]
        for name, value in settings.items()
    }


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Have runs in this process take one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Keeper(SweepWatcher):
    """Writes down what is known whenever a run ends, and passes on what it sees."""

    def __init__(self, budget: Budget, out: Path, runs: Path, inner: SweepWatcher) -> None:
        self.budget, self.out, self.runs, self.inner = budget, out, runs, inner
        self.rows: dict[str, Row] = {}

    def keep(self, table: SweepTable) -> None:
        """Write the records of every problem, the table and its drawing."""
        self.rows = {row["run"]: row for row in table}
        for problem in table.values("problem"):
            self._record(problem)
        write_table(self.budget, self.out, built_in_problems(), figure=True)

    def _record(self, problem: str) -> None:
        rows = [row for row in self.rows.values() if row["problem"] == problem]
        record = make_record(problem, self.budget, self.runs, rows)
        if record is not None:
            write_record(record, self.out / self.budget.name)

    def planned(self, table: SweepTable, todo: Sequence[str], workers: int) -> None:
        """See `SweepWatcher.planned`."""
        self.rows = {row["run"]: row for row in table}
        self.inner.planned(table, todo, workers)

    def started(self, name: str, where: str) -> None:
        """See `SweepWatcher.started`."""
        self.inner.started(name, where)

    def ended(self, row: Row, again: bool) -> None:
        """See `SweepWatcher.ended`."""
        self.rows[row["run"]] = row
        self._record(row["problem"])
        write_table(self.budget, self.out, built_in_problems())
        self.inner.ended(row, again)

    def noticed(self, text: str) -> None:
        """See `SweepWatcher.noticed`."""
        self.inner.noticed(text)

    def interrupting(self, number: int) -> None:
        """See `SweepWatcher.interrupting`."""
        self.inner.interrupting(number)
