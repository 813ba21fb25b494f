"""`pinnsig show`: the result of a run, what is known of one that has none, a table of many."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from pinnsig.cli.examples import examples
from pinnsig.cli.options import FOLDER, PATH
from pinnsig.cli.output import number, print_json, print_pairs, print_table
from pinnsig.cli.sweeping import RESULTS, print_rows
from pinnsig.core.errors import RunError
from pinnsig.core.registry import unknown
from pinnsig.run.directory import RunDirectory
from pinnsig.run.state import DAMAGED_RUN, FINISHED_RUN, run_state
from pinnsig.sweeps import SweepDirectory
from pinnsig.sweeps.overview import is_overview, overview, progress_so_far

ROW = ("run", "problem", "act", "init", "loss", "error", "stop", "date")
OF_SWEEPS = (*RESULTS, "run")
COEFFICIENT = ("value", "start", "true", "error", "estimated", "standard_error", "interval")


@click.command()
@click.argument("run", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON")
@examples(
    "pinnsig show RUN",
    "pinnsig show runs",
)
def show(run: Path, as_json: bool) -> None:
    """Show the result of a run, or a table of runs.

    RUN is a run's directory, such as runs/burgers/20260131-120000-1a2b3c; that of a sweep; or a
    folder with runs in it, such as runs.
    """
    if SweepDirectory.is_sweep(run):
        _show_sweep(run, as_json)
    elif run.is_dir() and not (run / "config.json").is_file() and is_overview(run):
        _show_many(run, as_json)
    else:
        _show_run(RunDirectory.open(run), as_json)


@click.command()
@click.argument("folder", type=FOLDER, default="runs")
@click.option("--problem", metavar="NAME", help="only runs of this problem")
@click.option("--sort", default="date", metavar="COLUMN", help="date, loss or error  [date]")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
@examples("pinnsig runs", "pinnsig runs --problem burgers --sort error")
def runs(folder: Path, problem: str | None, sort: str, as_json: bool) -> None:
    """List runs and sweeps with their losses and errors.

    FOLDER is where they are. The last line is the latest, or with --sort the best; runs without the
    number come first.
    """
    if sort not in SORTED:
        raise click.UsageError(unknown("column", sort, SORTED))
    if not (folder.is_dir() and is_overview(folder)):
        raise RunError(f"there are no runs in {folder}: pinnsig solve burgers makes one")
    rows = [row for row in overview(folder) if problem in (None, row["problem"])]
    if not rows:
        raise RunError(f"there are no runs of {problem} in {folder}")
    rows.sort(key=SORTED[sort])
    _print_many(rows, folder, as_json, "latest" if sort == "date" else f"lowest {sort}")


def _size(value: Any) -> float:
    """What sorts small numbers last: minus the number, of an estimate such as "about 1e-5" too."""
    try:
        return -float(str(value).removeprefix("about "))
    except ValueError:
        return -math.inf


SORTED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "date": lambda row: row["date"],
    "loss": lambda row: _size(row["loss"]),
    "error": lambda row: _size(row["error"]),
}


def print_coefficients(coefficients: Mapping[str, Any]) -> None:
    """Print what was learned, a line for each coefficient."""
    rows = []
    for name, learned in coefficients.items():
        known = learned if isinstance(learned, dict) else {"value": learned}
        if known.get("interval"):
            known = {**known, "interval": _interval(*known["interval"])}
        rows.append((name, *(known.get(key) for key in COEFFICIENT)))
    head = ("learned", *COEFFICIENT[:4], "estimated error", "standard error", "95 % interval")
    kept = [i for i in range(len(head)) if i < 3 or any(row[i] is not None for row in rows)]
    print_table([head[i] for i in kept], [[row[i] for i in kept] for row in rows])


def _interval(low: float, high: float) -> str:
    """Both ends with as many digits as tell them apart, and two more."""
    size, width = max(abs(low), abs(high)), high - low
    digits = 6 if not 0 < width < size else max(6, 2 + math.ceil(math.log10(size / width)))
    return " to ".join(f"{end:.{min(digits, 16)}g}" for end in (low, high))


def _show_many(folder: Path, as_json: bool) -> None:
    _print_many(overview(folder), folder, as_json, "latest")


def _print_many(rows: list[dict[str, Any]], folder: Path, as_json: bool, last: str) -> None:
    if as_json:
        print_json(rows)
        return
    print_table(ROW, [[row[name] for name in ROW] for row in rows])
    click.echo(f"\n{last}: pinnsig show {folder / rows[-1]['run']}")


def _show_sweep(path: Path, as_json: bool) -> None:
    table = SweepDirectory.open(path).table()
    if as_json:
        print_json(table.rows)
        return
    print_rows(table, OF_SWEEPS)
    click.echo(f"\n{len(table.done)} of {len(table)} runs done")


def _show_run(run: RunDirectory, as_json: bool) -> None:
    state = run_state(run.path)
    if state.name == DAMAGED_RUN:
        raise RunError(state.text)
    result = progress_so_far(run, state) if state.result is None else state.result
    if as_json:
        print_json(result)
        return
    print_pairs({key: v for key, v in result.items() if not isinstance(v, dict | list)})
    if result.get("terms"):
        click.echo()
        print_table(("term", "mean square"), result["terms"].items())
    if result.get("coefficients"):
        click.echo()
        print_coefficients(result["coefficients"])
    _print_errors(result)
    if result.get("phases"):
        click.echo()
        head = ("phase", "iterations", "evaluations", "seconds", "stop", "advice")
        print_table(head, [tuple(phase.values()) for phase in result["phases"]])
    for notice in result.get("notices", ()):  # of a classifier
        click.echo(f"\nnotice: {number(notice)}")
    for doubt in result.get("suspicious", ()):
        click.echo(f"\nsuspicious: {number(doubt)}")
    if state.name != FINISHED_RUN:
        click.echo(f"\n{number(state.text)}")


def _print_errors(result: dict[str, Any]) -> None:
    """Errors by field and function, what there is of intervals, and independent residuals."""
    found = result.get("errors", {})
    fields, functions = found.get("fields", {}), found.get("functions", {})
    if len(fields) > 1 or functions:
        click.echo()
        head = ("field", "relative_l2", "max_error", "estimated")
        every = {**fields, **functions}.items()
        print_table(head, [(name, *(own.get(k) for k in head[1:])) for name, own in every])
    reason = (result.get("uncertainty") or {}).get("reason")
    if reason:
        click.echo(f"\nno confidence intervals: {reason}")
    terms = (result.get("independent") or {}).get("terms", {})
    if terms:
        click.echo()
        head = ("at independent points", "mean square", "of training's", "largest", "at")
        print_table(head, [_independent_row(name, own) for name, own in terms.items()])


def _independent_row(name: str, own: dict[str, Any]) -> tuple[Any, ...]:
    place = ", ".join(f"{key}={number(value)}" for key, value in own["at"].items())
    return name, own["mean_square"], own["ratio"], own["largest"], place
