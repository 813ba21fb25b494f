"""`pinnsig paper`: the paper's figures, with a verdict on each claim."""

from pathlib import Path
from typing import Any

import click

from pinnsig.cli.examples import examples
from pinnsig.cli.options import FOLDER
from pinnsig.cli.output import print_json, print_table
from pinnsig.paper import FIGURES, PRESETS, ROOT, PaperFigure, find_figure, last_record, reproduce

LINES = 20
"""Of progress, about."""


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="show every figure, its claim and verdict")
@click.option("--preset", type=click.Choice(PRESETS), default="quick", help="[quick]")
@click.option("--seed", type=click.IntRange(0), default=0, help="[0]")
@click.option("--out", type=FOLDER, default=ROOT,
              help="where data, drawings, records and PINN sweeps go  [runs/paper]")  # fmt: skip
@click.option("--data", metavar="DIR", help="where image sets are  [$PINNSIG_DATA]")
@click.option("--dataset", "datasets", multiple=True, metavar="NAME",
              help="only this of the preset's image sets; as often as wanted")  # fmt: skip
@click.option("--workers", type=click.IntRange(1),
              help="processes that train  [on images one a core, on a GPU 1]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
@click.option("--quiet", is_flag=True, help="show no progress")
@examples(
    "pinnsig paper",
    "pinnsig paper chi",
)
def paper(
    name: str | None,
    listing: bool,
    preset: str,
    seed: int,
    out: Path,
    datasets: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **running: Any,
) -> None:
    """Reproduce a figure of the paper and judge its claim.

    NAME is one of --list, or all, which leaves out those that train networks: the classification
    experiments (minutes with --preset quick, which needs only the image set mnist-5k), and
    burgers-scale and black-scholes-scale (hours). Interrupted, they go on when called again.
    """
    if listing == bool(name):
        raise click.UsageError("name a figure or all, or give --list")
    if listing:
        _list(out, as_json)
        return
    quick = [figure for figure in FIGURES.values() if not figure.trains]
    chosen = quick if name == "all" else [find_figure(name or "")]
    records = []
    for figure in chosen:
        given = {key: value for key, value in running.items() if value is not None}
        if "tell" in figure.running and not quiet:
            given["tell"] = _progress(figure)
        record = reproduce(figure, preset, seed, out, datasets, **given)
        records.append(record)
        if not as_json:
            click.echo(f"{figure.name}: {record['outcome']} ({record['seconds']} s)")
            click.echo(f"  claim    {figure.claim}")
            click.echo(f"  verdict  {record['words']}")
            table = out / figure.name / f"{preset}.md"
            if table.is_file():
                click.echo(f"  table    {table}")
            click.echo(f"  figure   {out / figure.name / preset}.png\n")
    if as_json:
        print_json(records if name == "all" else records[0])


def _progress(figure: PaperFigure) -> Any:
    """What says on stderr how many runs are done, now and then."""
    said = -1

    def tell(done: int, of: int) -> None:
        nonlocal said
        part = LINES * done // max(of, 1)
        if part != said:
            said = part
            click.echo(f"{figure.name}: {done} of {of} networks trained", err=True)

    return tell


def _list(out: Path, as_json: bool) -> None:
    found = {figure.name: (figure, last_record(figure.name, out)) for figure in FIGURES.values()}
    if as_json:
        print_json({
            name: {"source": f.source, "claim": f.claim, "last": record}
            for name, (f, record) in found.items()
        })  # fmt: skip
        return
    print_table(("figure", "verdict", "preset", "claim"), [
        (name, record["outcome"] if record else "-", record["preset"] if record else "-", f.claim)
        for name, (f, record) in found.items()
    ])  # fmt: skip
