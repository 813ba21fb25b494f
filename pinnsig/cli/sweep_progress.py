"""Progress of a sweep on stderr: one live table on a terminal, plain lines elsewhere."""

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table

from pinnsig.cli.display import Display
from pinnsig.cli.output import number
from pinnsig.cli.trusting import tell
from pinnsig.sweeps import Row, SweepTable, SweepWatcher

REFRESH = 2  # a second
SHOWN = 8  # running runs at most


def duration(seconds: float) -> str:
    """A time for people: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Counts(Display, SweepWatcher):
    """Keeps count, and shows nothing."""

    def __init__(self) -> None:
        self.table: SweepTable | None = None
        self.rows: dict[str, Row] = {}
        self.left: set[str] = set()
        self.running: dict[str, tuple[float, str]] = {}
        self.spent: list[float] = []
        self.workers = 1
        self.signal: int | None = None

    def planned(self, table: SweepTable, todo: Sequence[str], workers: int) -> None:
        """See `SweepWatcher.planned`."""
        self.table, self.left, self.workers = table, set(todo), workers
        self.rows = {row["run"]: row for row in table}

    def started(self, name: str, where: str) -> None:
        """See `SweepWatcher.started`."""
        self.running[name] = (time.monotonic(), where)

    def ended(self, row: Row, again: bool) -> None:
        """See `SweepWatcher.ended`."""
        begun, _ = self.running.pop(row["run"], (time.monotonic(), ""))
        self.rows[row["run"]] = row
        if not again:
            self.left.discard(row["run"])
            self.spent.append(time.monotonic() - begun)

    def noticed(self, text: str) -> None:
        """Say it, also where no progress is shown."""
        tell([text])

    def interrupting(self, number: int) -> None:
        """See `SweepWatcher.interrupting`."""
        self.signal = number
        # within a signal handler a buffered stream may be busy: write past it
        os.write(2, b"\nsaving what is running; the same command goes on; Ctrl-C again to stop\n")

    def count(self, status: str) -> int:
        """Rows with a status."""
        return sum(row["status"] == status for row in self.rows.values())

    def best(self) -> Row | None:
        """The row of the lowest loss so far."""
        known = [row for row in self.rows.values() if row["best_loss"] is not None]
        return min(known, key=lambda row: row["best_loss"], default=None)

    def time_left(self) -> str:
        """From the mean of what has been run."""
        if not self.spent:
            return "-"
        mean, now = sum(self.spent) / len(self.spent), time.monotonic()
        passed = sum(min(now - begun, mean) for begun, _ in list(self.running.values()))
        return duration(max(len(self.left) * mean - passed, 0.0) / self.workers)

    def settings(self, row: Row) -> str:
        """What tells a row from the others."""
        names = self.table.varied if self.table else []
        return " ".join(f"{name}={number(row[name])}" for name in names) or row["run"]

    def summary(self) -> str:
        """One line."""
        best = self.best()
        lowest = f"{best['best_loss']:.3e} ({self.settings(best)})" if best else "-"
        return (
            f"done {self.count('done')}/{len(self.rows)}  running {len(self.running)}  "
            f"failed {self.count('failed')}  best {lowest}  left {self.time_left()}"
        )


class Lines(Counts):
    """A line for each run that ends."""

    def planned(self, table: SweepTable, todo: Sequence[str], workers: int) -> None:
        """Say what will be run, and where."""
        super().planned(table, todo, workers)
        click.echo(f"sweep {table.path}: {len(table)} runs, {len(todo)} to be run", err=True)

    def ended(self, row: Row, again: bool) -> None:
        """Say how a run ended."""
        super().ended(row, again)
        if row["status"] == "done":
            how = f"best loss {row['best_loss']:.4e}  {row['seconds']:.1f} s"
        else:
            how = row["reason"] or row["status"]
        click.echo(f"{self.settings(row)}: {how}{', once more' if again else ''}", err=True)
        click.echo(f"  {self.summary()}", err=True)


class LiveTable(Counts):
    """What is running, above the counts, the best so far and the time left."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(stderr=True)
        self.live = Live(
            get_renderable=self.render,
            console=self.console,
            refresh_per_second=REFRESH,
        )

    def noticed(self, text: str) -> None:
        """Say it above the table."""
        self.console.print(f"notice: {text}", markup=False, highlight=False, soft_wrap=True)

    def render(self) -> Table:
        """The table as it is now."""
        now = time.monotonic()
        shown = Table(box=None, show_header=False, pad_edge=False)
        for _ in range(3):
            shown.add_column(no_wrap=True, overflow="ellipsis")
        running = list(self.running.items())
        for name, (begun, where) in running[:SHOWN]:
            shown.add_row(
                "running", self.settings(self.rows[name]), f"{duration(now - begun)} {where}"
            )
        if len(running) > SHOWN:
            shown.add_row("running", f"and {len(running) - SHOWN} more", "")
        best: Any = self.best()
        shown.add_row(
            "done", f"{self.count('done')} of {len(self.rows)}", f"left {self.time_left()}"
        )
        shown.add_row("failed", str(self.count("failed")), "")
        if best:
            shown.add_row("best", self.settings(best), f"{best['best_loss']:.4e}")
        return shown


def sweep_progress(quiet: bool) -> Counts:
    """What suits stderr."""
    if quiet:
        return Counts()
    return LiveTable() if sys.stderr.isatty() else Lines()
