"""`pinnsig table`: the errors of all built-in problems at one budget."""

import signal
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from pinnsig.cli.examples import examples
from pinnsig.cli.options import FOLDER
from pinnsig.cli.output import print_json
from pinnsig.cli.sweep_progress import sweep_progress
from pinnsig.core.errors import SettingsError
from pinnsig.core.paths import plain
from pinnsig.run.settings import PRESETS
from pinnsig.table import ROOT, Budget, Line, read_tables, run_table
from pinnsig.table.running import built_in_problems
from pinnsig.table.writing import HEAD, cells, facts, seeds

INCOMPLETE = 1
WIDE = 200  # columns where there is no terminal


@click.command()
@click.option("--quick", is_flag=True, help="a minute for each run: --preset quick --seconds 60")
@click.option("--preset", type=click.Choice(list(PRESETS)), help="[accurate]")
@click.option("--seconds", type=click.FloatRange(0, min_open=True),
              help="of training, for each run  [300; quick: 60]")  # fmt: skip
@click.option("--seeds", type=click.IntRange(1), help="runs of each problem  [3]")
@click.option("--network", metavar="NETWORK", help="in the place of each problem's own")
@click.option("--only", default="", metavar="NAMES", help="only these problems: burgers,wave")
@click.option("--workers", type=click.IntRange(1), default=1,
              help="processes, each with one thread  [1]")  # fmt: skip
@click.option("--out", type=FOLDER, default=ROOT, help="where tables go  [runs/table]")
@click.option("--show", is_flag=True, help="print the tables that are there, run nothing")
@click.option("--json", "as_json", is_flag=True, help="print the records as JSON")
@click.option("--quiet", is_flag=True, help="show no progress")
@click.pass_context
@examples(
    "pinnsig table --quick --only heat,burgers",
    "pinnsig table --show",
)
def table(
    context: click.Context,
    quick: bool,
    preset: str | None,
    only: str,
    workers: int,
    out: Path,
    show: bool,
    as_json: bool,
    quiet: bool,
    **limits: Any,
) -> None:
    """Make the table of errors, or what is missing of it.

    Every built-in problem is trained with the same budget, over seeds, and put beside the best
    published error. A table has a folder of its own for each budget, with a record for each
    problem, README.md and table.png. Interrupted, it goes on when called again; changed problems
    are trained anew. Exit code 0: all runs are done; 1: some failed or are missing; 2: bad input;
    130 or 143: stopped by Ctrl-C or SIGTERM.
    """
    if quick and preset not in (None, "quick"):
        raise click.UsageError(f"give either --quick or --preset {preset}")
    preset = "quick" if quick else preset
    names = [name.strip() for name in only.split(",") if name.strip()]
    if show:
        asked = {name: value for name, value in {"preset": preset, **limits}.items() if value}
        if not _show(out, asked, names, as_json):
            raise SettingsError(f"there is no such table in {plain(str(out))} yet")
        return
    budget = Budget.of(preset, **limits)
    with sweep_progress(quiet) as shown:
        runs = run_table(budget, names, out, workers, watcher=shown)
    if _show(out, budget.as_dict(), names, as_json):
        click.echo(plain(str(out / budget.name / "README.md")), err=True)
    if runs.interrupted:
        context.exit(128 + (shown.signal or signal.SIGINT))
    context.exit(INCOMPLETE if len(runs.done) < len(runs) else 0)


def _show(out: Path, asked: dict[str, Any], names: list[str], as_json: bool) -> bool:
    """Print the tables of such budgets, or of them the problems named; returns if there are any."""
    found = {
        budget: [r for r in records if not names or r["problem"] in names]
        for budget, records in read_tables(out).items()
        if asked.items() <= budget.as_dict().items()
    }
    found = {budget: records for budget, records in found.items() if records}
    if as_json:
        print_json([record for records in found.values() for record in records])
        return bool(found)
    console = Console(width=None if sys.stdout.isatty() else WIDE)
    for budget, records in found.items():
        lines = [Line.of(record) for record in records]
        _print(console, budget, lines, names or built_in_problems())
    return bool(found)


def _print(console: Console, budget: Budget, lines: list[Line], problems: list[str]) -> None:
    """Print one table: numbers, then what they stand on and what went wrong."""
    shown = Table(title=f"preset {budget.preset}, {budget.seconds:g} s, {seeds(budget)}",
                  title_justify="left", box=None, pad_edge=False)  # fmt: skip
    for name in HEAD[:-1]:
        shown.add_column(name, overflow="fold")
    for line in lines:
        *texts, published, _ = cells(line, "\n")
        shown.add_row(*map(plain_lines, [*texts, published.split(":")[0]]))
    console.print(shown, markup=False)
    for fact in facts(budget, lines, problems):
        console.print(plain(fact), markup=False, highlight=False)
    for line in lines:
        for note in line.notes():
            console.print(plain(f"{line.problem}, {note}"), markup=False, highlight=False)


def plain_lines(text: str) -> str:
    """Text of several lines without control characters."""
    return "\n".join(map(plain, text.split("\n")))
