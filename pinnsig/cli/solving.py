"""`pinnsig solve`."""

import os
from pathlib import Path
from typing import Any

import click

from pinnsig.building import Parts
from pinnsig.cli.options import setting_options
from pinnsig.cli.output import print_json, print_pairs
from pinnsig.cli.progress import progress
from pinnsig.settings import read_config
from pinnsig.solver import solve as run_solve
from pinnsig.training import INTERRUPTED, NON_FINITE

SUMMARY = (
    "best_loss", "last_loss", "relative_l2", "max_error", "seconds", "iterations", "evaluations",
    "stop", "run",
)  # fmt: skip


@click.command()
@click.argument("problem", required=False)
@setting_options()
@click.option("--config", type=click.Path(path_type=Path), help="settings from a TOML or JSON file")
@click.option("--runs", default="runs", metavar="DIR", help="where run directories go  [runs]")
@click.option("--no-figures", is_flag=True, help="draw no figures")
@click.option("--json", "as_json", is_flag=True, help="print the result on stdout as JSON")
@click.option("--quiet", is_flag=True, help="show no progress")
@click.pass_context
def solve(
    context: click.Context,
    problem: str | None,
    config: Path | None,
    runs: str,
    no_figures: bool,
    as_json: bool,
    quiet: bool,
    **flags: Any,
) -> None:
    """Train a network on a PDE.

    PROBLEM is a registered name (see `pinnsig problems`), or a file such as my_pde.py or
    my_pde.py:Heat. Flags go before --config, and both before the preset.
    """
    given = read_config(config) if config else {}
    for name, value in flags.items():
        if isinstance(value, dict):
            given[name] = {**given.get(name, {}), **value}
        elif value is not None:
            given[name] = value
    named = problem or given.pop("problem", None)
    if named is None:
        raise click.UsageError("name a problem, such as burgers (see `pinnsig problems`)")
    given.pop("problem", None)

    def announce(parts: Parts, path: Path) -> None:
        if not quiet:
            click.echo(header(parts, chosen="preset" in given), err=True)
            click.echo(f"run {path}", err=True)
        for notice in parts.notices:
            click.echo(f"notice: {notice}", err=True)

    with progress(quiet) as shown:
        result = run_solve(
            named,
            runs=runs,
            figures=not no_figures,
            observe=shown,
            announce=announce,
            interrupting=say_interrupting,
            **given,
        )
    for phase in result.phases:
        if phase["stop"] == NON_FINITE:
            click.echo(
                f"notice: {phase['name']} stopped at iteration {phase['iterations']}: "
                f"{NON_FINITE}; the best weights before it are kept",
                err=True,
            )
    if as_json:
        print_json(result.data)
    else:
        print_pairs({name: result.data[name] for name in SUMMARY})
    if result.stop == INTERRUPTED:
        context.exit(130)


def say_interrupting() -> None:
    """Tell whoever pressed Ctrl-C that it was heard."""
    # within a signal handler a buffered stream may be busy: write past it
    os.write(2, b"\nfinishing this step, then saving; Ctrl-C again to stop at once\n")


def header(parts: Parts, chosen: bool) -> str:
    """What is about to be trained, and why with this preset."""
    s = parts.settings
    other = "quick" if s.preset == "paper" else "paper"
    why = "as asked" if chosen else f"the default on {s.device.partition(':')[0]}"
    return (
        f"{s.problem}: {parts.activation.expression}, {parts.initializer.spec}, "
        f"{s.depth} x {s.width}, {s.dtype} on {s.device}\n"
        f"preset {s.preset} ({why}; --preset {other} for the other): "
        f"{s.collocation} + {s.initial} + {s.boundary} points, Adam {s.adam}, L-BFGS {s.lbfgs}, "
        f"learning rate {s.lr:.3g}"
    )
