"""`pinnsig report`: one HTML file of runs and sweeps."""

from pathlib import Path

import click

from pinnsig.cli.examples import examples
from pinnsig.cli.options import FILE, PATH
from pinnsig.cli.trusting import TRUST, tell, trusting
from pinnsig.reports import report as write_report


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN...")
@click.option("--out", type=FILE, help="the file  [report.html in the directory]")
@TRUST
@examples(
    "pinnsig report RUN",
    "pinnsig report RUN ANOTHER SWEEP --out compared.html",
)
def report(runs: tuple[Path, ...], out: Path | None, trust: bool) -> None:
    """Write an HTML file to look at runs with.

    RUN is the directory of a run, finished or not, or of a sweep. The file shows solution, error
    and residual with sliders and values below the pointer, how training went, and the settings;
    several runs are compared. It works without a network and can be sent to others.
    """
    if out is None and len(runs) > 1:
        raise click.UsageError("several directories: say where the file goes, --out FILE")
    click.echo(write_report(*runs, out=out, trust=trusting(trust), tell=lambda line: tell([line])))
