"""Commands on finished runs: show, plot, predict."""

import csv
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np

from pinnsig.cli.output import print_json, print_pairs, print_table
from pinnsig.errors import RunError
from pinnsig.evaluation import compare
from pinnsig.figures import draw_figures
from pinnsig.loading import TrainedModel, load
from pinnsig.runs import RunDirectory

RUN = click.argument("run", type=click.Path(path_type=Path))


@click.command()
@RUN
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON")
def show(run: Path, as_json: bool) -> None:
    """Show the result of a finished RUN."""
    result = RunDirectory.open(run).read_json("result.json")
    if as_json:
        print_json(result)
        return
    nested = ("terms", "phases", "initialization", "coefficients")
    print_pairs({key: value for key, value in result.items() if key not in nested})
    click.echo()
    print_table(("term", "mean square"), result["terms"].items())
    if result["coefficients"]:
        click.echo()
        print_table(("coefficient", "learned value"), result["coefficients"].items())
    click.echo()
    rows = [tuple(phase.values()) for phase in result["phases"]]
    print_table(("phase", "iterations", "evaluations", "seconds", "stop"), rows)


@click.command()
@RUN
def plot(run: Path) -> None:
    """Draw the figures of a finished RUN again."""
    trained = load(run)
    for path in draw_figures(trained.directory, compare(trained.model)):
        click.echo(path)


@click.command()
@RUN
@click.argument("more", nargs=-1, metavar="[t=0.5 ...]")
@click.option("--at", multiple=True, metavar="x=0.1", help="a coordinate; the rest may follow it")
@click.option("--csv", "table", type=click.Path(path_type=Path, dir_okay=False),
              help="points from a CSV file with a column for each coordinate")  # fmt: skip
@click.option("--of", default="", metavar="u,u.x", help="fields and partials  [all fields]")
@click.option("--last", is_flag=True, help="the weights at the end, not the best ones")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
def predict(
    run: Path,
    more: tuple[str, ...],
    at: tuple[str, ...],
    table: Path | None,
    of: str,
    last: bool,
    as_json: bool,
) -> None:
    """Predict fields and partials of a finished RUN, as CSV: predict RUN --at x=0.1 t=0.5."""
    if bool(at or more) == bool(table):
        raise click.UsageError("give points either by --at x=0.1 t=0.5 or by --csv FILE")
    columns = _read_csv(table) if table else _read_points([*at, *more])
    trained: TrainedModel = load(run, weights="last" if last else "best")
    names = trained.model.problem.domain.names
    missing = [name for name in names if name not in columns]
    if missing:
        raise RunError(f"no value is given for the coordinate {missing[0]}")
    points = {name: columns[name] for name in (columns if not table else names)}
    wanted = tuple(filter(None, (part.strip() for part in of.split(","))))
    found: dict[str, Any] = {**points, **trained.predict(wanted, **points)}
    if as_json:
        print_json({name: np.atleast_1d(values).tolist() for name, values in found.items()})
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found)
    for row in zip(*(np.atleast_1d(values) for values in found.values()), strict=True):
        writer.writerow([f"{value:.9g}" for value in row])


def _read_points(texts: list[str]) -> dict[str, Any]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = np.nan
        if not equals or not np.isfinite(number):
            raise click.UsageError(f"{text!r} is not COORDINATE=NUMBER, such as x=0.1")
        found[name.strip()] = np.array([number])
    return found


def _read_csv(path: Path) -> dict[str, Any]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RunError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not rows:
        raise RunError(f"{path} holds no points")
    columns: dict[str, Any] = {}
    for name in rows[0]:
        try:
            columns[name.strip()] = np.array([float(row[name]) for row in rows])
        except (TypeError, ValueError):
            continue  # a column of text may stand beside the coordinates
    return columns
