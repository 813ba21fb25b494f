"""Commands on finished runs: plot, predict."""

import csv
import math
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
import torch

from pinnsig.cli.examples import examples
from pinnsig.cli.options import FILE, PATH
from pinnsig.cli.output import print_json
from pinnsig.cli.points import grid, read_points
from pinnsig.cli.trusting import TRUST, tell, trusting
from pinnsig.core.errors import OutsideDomainWarning, RunError
from pinnsig.core.paths import user_path
from pinnsig.model import SlabModel
from pinnsig.model.evaluation import compare, compare_functions
from pinnsig.objective import Objective
from pinnsig.plots import epochs_figure, save_figure
from pinnsig.problem import INTERIOR
from pinnsig.run.building import build
from pinnsig.run.directory import RunDirectory
from pinnsig.run.figures import draw_figures, draw_initial_activations
from pinnsig.run.judging import judge_residuals, noise_uncertainty
from pinnsig.run.loading import TrainedModel, load
from pinnsig.run.points import first_sites
from pinnsig.sweeps import SweepDirectory
from pinnsig.sweeps.drawing import draw_sweep

RUN = click.argument("run", type=PATH)


@click.command()
@RUN
@click.option("--x", help="of a sweep: the setting along the axis  [the scale]")
@click.option("--y", help="of a sweep: the other setting of maps")
@TRUST
@examples(
    "pinnsig plot RUN",
    "pinnsig plot SWEEP --x scale --y relative_l2",
)
def plot(run: Path, x: str | None, y: str | None, trust: bool) -> None:
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
    if opened.is_classifier():
        path = opened.path / "figures" / "epochs.png"
        save_figure(epochs_figure(list(opened.metrics())), path)
        click.echo(path)
        return
    trained = load(run, trust=trusting(trust))
    tell(trained.notices)
    if isinstance(trained.model, SlabModel):
        for path in draw_figures(trained.directory, compare(trained.model), model=trained.model):
            click.echo(path)
        return
    cls, settings, directory = (
        type(trained.model.problem),
        trained.settings,
        trained.directory,
    )
    start = build(settings, cls).model  # the seed gives the first weights again
    sites = first_sites(directory, settings, start.problem)
    objective = Objective(trained.model.double(), "auto", sites)
    residuals = judge_residuals(objective, {}, settings.seed)
    learned = bool(trained.model.start or trained.model.problem.functions())
    paths = draw_figures(
        directory,
        compare(trained.model),
        residuals,
        objective,
        functions=compare_functions(trained.model),
        uncertainty=noise_uncertainty(objective) if learned else None,
    )
    points = torch.as_tensor(sites[INTERIOR].points).to(next(start.parameters()))
    for path in [*paths, *draw_initial_activations(directory, start, points)]:
        click.echo(path)


@click.command()
@RUN
@click.argument("more", nargs=-1, metavar="[t=0.5 ...]")
@click.option("--at", multiple=True, metavar="x=0.1",
              help="a coordinate; several values as in x=0,0.5 or x=0:1:5")  # fmt: skip
@click.option("--csv", "table", type=FILE,
              help="points from a CSV file with a column for each coordinate")  # fmt: skip
@click.option("--of", default="", metavar="u,u.x", help="fields and partials  [all fields]")
@click.option("--last", is_flag=True, help="the weights at the end, not the best ones")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
@TRUST
@examples(
    "pinnsig predict RUN --at x=0.1 t=0.5 --of u,u.x",
    "pinnsig predict RUN --at x=-1:1:5 t=0.25,0.5",
)
def predict(
    run: Path,
    more: tuple[str, ...],
    at: tuple[str, ...],
    table: Path | None,
    of: str,
    last: bool,
    as_json: bool,
    trust: bool,
) -> None:
    """Predict fields and partials of a finished run, as CSV.

    RUN is its directory: pinnsig predict RUN --at x=0.1 t=0.5 --of u,u.x

    start:stop:count are evenly spaced values, both ends among them; several values of several
    coordinates make a grid, the last coordinate of the domain changing fastest. A notice tells of
    points outside the domain.
    """
    if bool(at or more) == bool(table):
        raise click.UsageError("give points either by --at x=0.1 t=0.5 or by --csv FILE")
    if RunDirectory.open(run).is_classifier():
        raise RunError(f"{run} is a run of classify, which has no fields to predict")
    given = read_points([*at, *more]) if table is None else None
    weights = "last" if last else "best"
    trained: TrainedModel = load(run, weights=weights, trust=trusting(trust))
    tell(trained.notices)
    names = trained.model.problem.domain.names
    points = _read_csv(table, names) if given is None and table else grid(given or {}, names)
    wanted = tuple(filter(None, (part.strip() for part in of.split(","))))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", OutsideDomainWarning)
        predicted = trained.predict(wanted, **points)
    for warning in heard:
        click.echo(f"notice: {warning.message}", err=True)
    found = {name: np.asarray(values).tolist() for name, values in {**points, **predicted}.items()}
    if as_json:
        print_json(found)
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(found)
    writer.writerows(zip(*found.values(), strict=True))


def _read_csv(path: Path, names: Sequence[str]) -> dict[str, list[float]]:
    """The columns of the coordinates; others may stand beside them."""
    path = user_path(path, RunError)
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
