"""`pinnsig paper`: the paper's figures, with a verdict on each claim."""

from pathlib import Path

import click

from pinnsig.cli.options import FOLDER
from pinnsig.cli.output import print_json, print_table
from pinnsig.paper import FIGURES, PRESETS, ROOT, find_figure, last_record, reproduce


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="show every figure, its claim and verdict")
@click.option("--preset", type=click.Choice(PRESETS), default="quick", help="[quick]")
@click.option("--seed", type=click.IntRange(0), default=0, help="[0]")
@click.option("--out", type=FOLDER, default=ROOT,
              help="where data, drawings and records go  [runs/paper]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
def paper(
    name: str | None, listing: bool, preset: str, seed: int, out: Path, as_json: bool
) -> None:
    """Reproduce a figure of the paper and judge its claim.

    NAME is one of --list, or all, which leaves out the two that train networks for hours
    (burgers-scale and black-scholes-scale; interrupted, they go on when called again).
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
        record = reproduce(figure, preset, seed, out)
        records.append(record)
        if not as_json:
            click.echo(f"{figure.name}: {record['outcome']} ({record['seconds']} s)")
            click.echo(f"  claim    {figure.claim}")
            click.echo(f"  verdict  {record['words']}")
            click.echo(f"  figure   {out / figure.name / preset}.png\n")
    if as_json:
        print_json(records if name == "all" else records[0])


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
