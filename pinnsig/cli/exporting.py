"""`pinnsig export`."""

from pathlib import Path

import click

from pinnsig.cli.examples import examples
from pinnsig.cli.options import FILE
from pinnsig.cli.points import read_values
from pinnsig.cli.predicting import LAST, OF, RUN, load_fields, quantities, telling_warnings
from pinnsig.cli.trusting import TRUST
from pinnsig.run.export import FORMATS, choose_format

FOLDER = "exports"
"""Where exports go in a run's directory, unless the user says where."""


@click.command()
@RUN
@click.argument("more", nargs=-1, metavar="[t=0:1:11 ...]")
@click.option("--to", metavar="FORMAT", help=", ".join(FORMATS) + "  [by the name of --out]")
@click.option("--out", type=FILE, help="the file, replaced if it is there  [RUN/exports/fields.*]")
@OF
@click.option("--grid", multiple=True, metavar="x=0:1:101",
              help="values of a coordinate  [all over the domain]")  # fmt: skip
@click.option("--points", "table", type=FILE,
              help="a CSV or Parquet file with a column for each coordinate")  # fmt: skip
@LAST
@TRUST
@examples(
    "pinnsig export RUN --to vti --of u,u.x --grid x=0:1:101 t=0:1:11",
    "pinnsig export RUN --out model.onnx",
)
def export(
    run: Path,
    more: tuple[str, ...],
    to: str | None,
    out: Path | None,
    of: str,
    grid: tuple[str, ...],
    table: Path | None,
    last: bool,
    trust: bool,
) -> None:
    """Write a finished run in a format of other programs.

    vti and vtu for ParaView, netcdf for xarray, csv and parquet are fields at points; onnx and pt2
    (of torch.export) are the model itself, from coordinates to fields, tried before it is written.
    Prints the files, the one to open first.
    """
    if to is None and out is None:
        raise click.UsageError("say --to FORMAT, or --out FILE with a name that tells it")
    if (grid or more) and table is not None:
        raise click.UsageError("give points either by --grid x=0:1:101 or by --points FILE")
    chosen = choose_format(out, to)
    if out is None:
        stem = "model" if chosen.is_model else "fields"
        out = run / FOLDER / (stem + chosen.suffixes[0])
    values = read_values([*grid, *more]) or None
    trained = load_fields(run, last, trust)
    with telling_warnings():
        written = trained.export(out, to=to, of=quantities(of), grid=values, points=table)
    for path in written:
        click.echo(path)
