"""`pinnsig doctor`."""

import click

from pinnsig.cli.examples import examples
from pinnsig.cli.output import print_json, print_pairs
from pinnsig.core.paths import plain
from pinnsig.run.doctor import diagnose


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
@examples("pinnsig doctor", "pinnsig doctor --json > doctor.json")
def doctor(as_json: bool) -> None:
    """Say what this machine is, and what is slow and why.

    Versions, devices, compiler, threads, caches and optional features; one evaluation of a loss is
    timed. It is what to send along with a question.
    """
    found = diagnose()
    if as_json:
        print_json({**found.facts, "advice": found.advice})
        return
    for section, facts in found.facts.items():
        click.secho(section, bold=True)
        print_pairs({f"  {name}": value for name, value in facts.items()})
    click.echo()
    for line in found.advice:
        click.echo(f"- {plain(line)}")
    if not found.advice:
        click.echo("nothing here is slower than it has to be")
