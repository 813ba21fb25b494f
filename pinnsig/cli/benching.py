"""`pinnsig bench`."""

from typing import Any

import click

from pinnsig.cli.examples import examples
from pinnsig.cli.options import setting_options
from pinnsig.cli.output import print_json, print_table
from pinnsig.run.benchmark import benchmark
from pinnsig.run.settings import resolve


@click.command()
@click.argument("problem", default="burgers")
@setting_options(
    "act", "scale", "init", "p", "sigma_b", "depth", "width", "collocation", "initial", "boundary",
    "sampler", "set", "seed", "dtype", "device", "preset",
)  # fmt: skip
@click.option("--repeats", default=10, help="counted evaluations of each engine  [10]")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
@examples(
    "pinnsig bench",
    "pinnsig bench heat --depth 4 --width 16 --dtype float32",
)
def bench(problem: str, repeats: int, as_json: bool, **flags: Any) -> None:
    """Time the derivative engines on one loss."""
    settings = resolve({"problem": problem, **flags})
    engines = benchmark(settings, repeats)
    if as_json:
        print_json({"settings": settings.as_dict(), "repeats": repeats,
                    "engines": [engine.as_dict() for engine in engines]})  # fmt: skip
        return
    click.echo(
        f"{settings.problem}: {settings.depth} x {settings.width}, {settings.dtype} on "
        f"{settings.device}, {settings.collocation} + {settings.initial} + {settings.boundary} "
        f"points, median of {repeats}"
    )
    head = ("engine", "ms", "peak MB", "loss error", "gradient error", "times nested")
    print_table(
        head,
        (
            (e.name, f"{e.ms:.1f}", f"{e.peak_mb:.0f}", f"{e.loss_error:.1e}",
             f"{e.gradient_error:.1e}", f"{e.ratio:.1f}")
            for e in engines
        ),
    )  # fmt: skip
