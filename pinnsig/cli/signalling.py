"""`pinnsig signal`: the health of an initialisation, before any training."""

import contextlib
import math
from pathlib import Path
from typing import Any

import click
from torch import Tensor

from pinnsig.activations import Activation, build_activation
from pinnsig.cli.examples import examples
from pinnsig.cli.options import FILE, setting_options
from pinnsig.cli.output import number, print_json, print_table
from pinnsig.core.devices import DTYPES, choose_device
from pinnsig.core.errors import ActivationError
from pinnsig.core.seeds import weight_generator
from pinnsig.initializers import Initializer, parse_initializer
from pinnsig.networks import parse_network, usual_settings
from pinnsig.plots import health_figure, save_figure
from pinnsig.run.building import build_initializer
from pinnsig.run.settings import GivenSettings, check_settings
from pinnsig.signal import Health, health, network_health, normal_inputs

COMPARED = (
    "calibrated", "calibrated:p=auto", "eoc:sigma_b=0.2", "eoc:sigma_b=0", "xavier", "he",
    "orthogonal",
)  # fmt: skip
HEAD = (
    "init", "range / bound", "spread", "correlation", "chi", "mean field", "negative rate",
    "gradient first/last", "verdict",
)  # fmt: skip


@click.command()
@click.argument("activation", metavar="ACT")
@setting_options("scale", "init", "p", "sigma_b", "network", "depth", "width", "seed")
@click.option("--compare", is_flag=True, help="put the other initialisers beside this one")
@click.option("--inputs", type=click.IntRange(1), help="size of the input  [the width]")
@click.option("--points", type=click.IntRange(1), default=64, help="number of inputs  [64]")
@click.option("--dtype", type=click.Choice(list(DTYPES)), default="float64", help="[float64]")
@click.option("--device", default="cpu", help="cpu, cuda, cuda:1, mps or auto  [cpu]")
@click.option("--figure", type=FILE,
              default=Path("runs/signal.png"), help="where to draw  [runs/signal.png]")  # fmt: skip
@click.option("--no-figure", is_flag=True, help="draw nothing")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
@examples(
    "pinnsig signal tanh --depth 50 --width 32",
    "pinnsig signal tanh --network resnet",
)
def signal(
    activation: str,
    compare: bool,
    inputs: int | None,
    points: int,
    dtype: str,
    device: str,
    figure: Path,
    no_figure: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Judge a fresh network before training.

    ACT is an activation: a name, or an expression such as "tanh(10x) + erf(x)". Inputs N(0, 1)
    are sent through the network, and gradients back.
    """
    given = check_settings({"act": activation, **flags})
    usual = usual_settings(given.get("network", GivenSettings.network))
    settings = GivenSettings(**{**usual, **given})
    f = build_activation(settings.act, settings.scale)
    x = normal_inputs(
        points, inputs or settings.width, settings.seed, DTYPES[dtype], choose_device(device, dtype)
    )
    reports = [_report(settings, f, chosen, x) for chosen in _initializers(settings, f, compare)]
    title = f"{f.expression}, {settings.depth} layers of {settings.width}"
    if settings.network != GivenSettings.network:
        title = f"{settings.network}, {title}"
    omega = f.omega if f.odd_sigmoid else None
    if not no_figure:
        save_figure(health_figure(reports, title), figure)
    if as_json:
        print_json({
            "activation": f.expression, "omega": omega, "network": settings.network,
            "depth": settings.depth, "width": settings.width, "inputs": x.shape[1],
            "points": points, "figure": None if no_figure else str(figure),
            "reports": [report.as_dict() for report in reports],
        })  # fmt: skip
        return
    click.echo(f"{title}, omega = {number(omega)}, {points} inputs N(0, 1) of size {x.shape[1]}\n")
    print_table(HEAD, map(_row, reports))
    click.echo()
    for report in reports:
        click.echo(f"{report.initializer}: {report.grade}; {report.verdict}")
    if not no_figure:
        click.echo(f"\nfigure {figure}")


def _report(settings: GivenSettings, f: Activation, chosen: Initializer, x: Tensor) -> Health:
    sizes = settings.depth, settings.width
    if settings.network == GivenSettings.network:
        return health(f, chosen, *sizes, x, settings.seed)
    network = parse_network(settings.network).build(x.shape[1], 1, *sizes, f, x.dtype, x.device)
    chosen.fill(network, weight_generator(settings.seed))
    return network_health(network, chosen, x)


def _initializers(settings: GivenSettings, f: Activation, compare: bool) -> list[Initializer]:
    """The one that is asked for, and those beside it that suit the activation."""
    chosen = [build_initializer(settings)]
    for spec in COMPARED if compare else ():
        other = parse_initializer(spec)
        with contextlib.suppress(ActivationError):
            other.scales(f, settings.depth)
            if other not in chosen:
                chosen.append(other)
    return chosen


def _row(report: Health) -> tuple[str, ...]:
    r = report
    return (
        r.initializer, f"[{r.low:.3g}, {r.high:.3g}]", f"{r.spread:.3f}", f"{r.correlation:.3f}",
        f"{r.chi:.4f}", "-" if math.isnan(r.chi_mean_field) else f"{r.chi_mean_field:.4f}",
        f"{r.negative_rate:.3f}", f"{r.gradient_ratio:.2e}", r.grade,
    )  # fmt: skip
