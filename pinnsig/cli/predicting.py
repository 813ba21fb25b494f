"""`pinnsig predict`."""

import csv
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import numpy as np

from pinnsig.cli.examples import examples
from pinnsig.cli.options import FILE, RUN
from pinnsig.cli.output import print_json
from pinnsig.cli.points import grid, read_values
from pinnsig.cli.trusting import TRUST, tell, trusting
from pinnsig.core.errors import NoReferenceWarning, OutsideDomainWarning, RunError
from pinnsig.run.directory import RunDirectory
from pinnsig.run.export import check_table, write_table
from pinnsig.run.loading import TrainedModel, load
from pinnsig.run.point_tables import read_points

OF = click.option("--of", default="", metavar="u,u.x", help="fields and partials  [all fields]")
LAST = click.option("--last", is_flag=True, help="the weights at the end, not the best ones")


@click.command()
@RUN
@click.argument("more", nargs=-1, metavar="[t=0.5 ...]")
@click.option("--at", multiple=True, metavar="x=0.1",
              help="a coordinate; several values as in x=0,0.5 or x=0:1:5")  # fmt: skip
@click.option("--points", "--csv", "table", type=FILE,
              help="a CSV or Parquet file with a column for each coordinate")  # fmt: skip
@OF
@LAST
@click.option("--out", type=FILE, help="write a CSV or Parquet file, by its name, and print none")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
@TRUST
@examples(
    "pinnsig predict RUN --at x=0.1 t=0.5 --of u,u.x",
    "pinnsig predict RUN --points points.csv --out found.parquet",
)
def predict(
    run: Path,
    more: tuple[str, ...],
    at: tuple[str, ...],
    table: Path | None,
    of: str,
    last: bool,
    out: Path | None,
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
        raise click.UsageError("give points either by --at x=0.1 t=0.5 or by --points FILE")
    if out is not None and as_json:
        raise click.UsageError("--out writes a file and --json prints: give one of them")
    if out is not None:
        check_table(out)
    given = read_values([*at, *more]) if table is None else None
    trained = load_fields(run, last, trust)
    names = trained.model.problem.domain.names
    points = read_points(table, names) if given is None and table else grid(given or {}, names)
    with telling_warnings():
        predicted = trained.predict(quantities(of), **points)
    found = {name: np.asarray(values) for name, values in {**points, **predicted}.items()}
    if out is not None:
        click.echo(write_table(found, out))
        return
    columns = {name: values.tolist() for name, values in found.items()}
    if as_json:
        print_json(columns)
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))


def load_fields(run: Path, last: bool, trust: bool) -> TrainedModel:
    """Return the model of a run with fields, and tell its notices.

    Raises:
        RunError: it has none.
    """
    if RunDirectory.open(run).is_classifier():
        raise RunError(f"{run} is a run of classify, which has no fields to predict")
    trained = load(run, weights="last" if last else "best", trust=trusting(trust))
    tell(trained.notices)
    return trained


def quantities(of: str) -> tuple[str, ...]:
    """Return what `--of` names."""
    return tuple(filter(None, (part.strip() for part in of.split(","))))


@contextmanager
def telling_warnings() -> Iterator[None]:
    """Tell what a user is warned of, a line each, once the work is done."""
    with warnings.catch_warnings(record=True) as heard:
        for category in (OutsideDomainWarning, NoReferenceWarning):
            warnings.simplefilter("always", category)
        yield
    for warning in heard:
        click.echo(f"notice: {warning.message}", err=True)
