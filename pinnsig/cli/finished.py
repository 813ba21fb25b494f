"""Commands on finished runs: show, plot, predict."""

import csv
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch

from pinnsig.building import build, run_sites
from pinnsig.classify import is_classifier
from pinnsig.cli.output import number, print_json, print_pairs, print_table
from pinnsig.errors import RunError
from pinnsig.evaluation import compare
from pinnsig.figures import draw_figures, draw_initial_activations
from pinnsig.judging import judge_residuals
from pinnsig.loading import TrainedModel, load
from pinnsig.objective import Objective
from pinnsig.plots import epochs_figure, save_figure
from pinnsig.runs import RunDirectory
from pinnsig.sweeps import SweepDirectory
from pinnsig.sweeps.drawing import draw_sweep

RUN = click.argument("run", type=click.Path(path_type=Path))


@click.command()
@RUN
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON")
def show(run: Path, as_json: bool) -> None:
    """Show the result of a finished run.

    RUN is its directory, such as runs/burgers/20260131-120000-1a2b3c.
    """
    result = RunDirectory.open(run).read_json("result.json")
    if as_json:
        print_json(result)
        return
    print_pairs({key: v for key, v in result.items() if not isinstance(v, dict | list)})
    for name, head in (
        ("terms", ("term", "mean square")),
        ("coefficients", ("coefficient", "learned value")),
    ):
        if result.get(name):
            click.echo()
            print_table(head, result[name].items())
    _print_errors(result)
    if result.get("phases"):
        click.echo()
        head = ("phase", "iterations", "evaluations", "seconds", "stop", "advice")
        print_table(head, [tuple(phase.values()) for phase in result["phases"]])
    for doubt in result.get("suspicious", ()):
        click.echo(f"\nsuspicious: {doubt}")


def _print_errors(result: dict[str, Any]) -> None:
    """Errors by field of a system, and what the residuals are at independent points."""
    fields = result.get("errors", {}).get("fields", {})
    if len(fields) > 1:
        click.echo()
        head = ("field", "relative_l2", "max_error", "estimated")
        print_table(head, [(name, *(own.get(k) for k in head[1:])) for name, own in fields.items()])
    terms = (result.get("independent") or {}).get("terms", {})
    if terms:
        click.echo()
        head = ("at independent points", "mean square", "of training's", "largest", "at")
        print_table(head, [_independent_row(name, own) for name, own in terms.items()])


def _independent_row(name: str, own: dict[str, Any]) -> tuple[Any, ...]:
    place = ", ".join(f"{key}={number(value)}" for key, value in own["at"].items())
    return name, own["mean_square"], own["ratio"], own["largest"], place


@click.command()
@RUN
@click.option("--x", help="of a sweep: the setting along the axis  [the scale]")
@click.option("--y", help="of a sweep: the other setting of maps")
def plot(run: Path, x: str | None, y: str | None) -> None:
    """Draw the figures of a finished run, or of a sweep.

    RUN is its directory; the figures go into its folder figures/. Of a sweep: loss, error and
    wall time with medians and full ranges over seeds, and maps where two settings have several
    numbers. Of a run of `classify`: losses and accuracy by epoch.
    """
    if SweepDirectory.is_sweep(run):
        for path in draw_sweep(SweepDirectory.open(run).write_results(), x, y):
            click.echo(path)
        return
    if x or y:
        raise click.UsageError("--x and --y belong to sweeps")
    opened = RunDirectory.open(run)
    if is_classifier(opened):
        path = opened.path / "figures" / "epochs.png"
        save_figure(epochs_figure(list(opened.metrics())), path)
        click.echo(path)
        return
    trained = load(run)
    kind, settings, directory = type(trained.model.problem), trained.settings, trained.directory
    start = build(settings, kind).model  # the seed gives the first weights again
    sites = run_sites(settings, start.problem)
    objective = Objective(trained.model, "auto", sites)
    residuals = judge_residuals(objective, {}, settings.seed)
    paths = draw_figures(directory, compare(trained.model), residuals)
    points = torch.as_tensor(sites["residual"].points).to(next(start.parameters()))
    for path in [*paths, *draw_initial_activations(directory, start, points)]:
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
    """Predict fields and partials of a finished run, as CSV.

    RUN is its directory: pinnsig predict RUN --at x=0.1 t=0.5 --of u,u.x
    """
    if bool(at or more) == bool(table):
        raise click.UsageError("give points either by --at x=0.1 t=0.5 or by --csv FILE")
    if is_classifier(RunDirectory.open(run)):
        raise RunError(f"{run} is a run of classify, which has no fields to predict")
    given = _read_points([*at, *more]) if table is None else None
    trained: TrainedModel = load(run, weights="last" if last else "best")
    names = trained.model.problem.domain.names
    points = _read_csv(table, names) if given is None and table else given or {}
    missing = [name for name in names if name not in points]
    if missing:
        raise RunError(f"no value is given for the coordinate {missing[0]}")
    wanted = tuple(filter(None, (part.strip() for part in of.split(","))))
    predicted = trained.predict(wanted, **points)
    found = {name: np.asarray(values).tolist() for name, values in {**points, **predicted}.items()}
    if as_json:
        print_json(found)
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found)
    writer.writerows(zip(*found.values(), strict=True))


def _read_points(texts: list[str]) -> dict[str, list[float]]:
    """One point from texts such as x=0.1."""
    found: dict[str, list[float]] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        number = _number(value)
        if not equals or number is None:
            raise click.UsageError(f"{text!r} is not COORDINATE=NUMBER, such as x=0.1")
        if name in found:
            raise click.UsageError(f"coordinate {name} is given twice; many points go into --csv")
        found[name] = [number]
    return found


def _read_csv(path: Path, names: Sequence[str]) -> dict[str, list[float]]:
    """The columns of the coordinates; others may stand beside them."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            head, *rows = [row for row in csv.reader(stream) if row] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RunError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not rows:
        raise RunError(f"{path} holds no points: it needs a header line, {','.join(names)}")
    where = {name.strip(): column for column, name in enumerate(head)}
    found: dict[str, list[float]] = {}
    for name in names:
        if name not in where:
            raise RunError(f"{path} has no column {name}: its header line is {','.join(head)}")
        for count, row in enumerate(rows, start=1):
            text = row[where[name]] if where[name] < len(row) else ""
            number = _number(text)
            if number is None:
                raise RunError(f"{path}, point {count}: {name} = {text!r} is not a finite number")
            found.setdefault(name, []).append(number)
    return found


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
