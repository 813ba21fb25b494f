"""`pinnsig solve --dry-run`: what would be trained, and what it takes on this machine."""

import inspect
from collections.abc import Mapping
from typing import Any

import click

from pinnsig.cli.header import header
from pinnsig.cli.output import print_json, print_table
from pinnsig.cli.sweep_progress import duration
from pinnsig.cli.trusting import tell
from pinnsig.core.memory import available_memory, in_words
from pinnsig.core.paths import plain
from pinnsig.problem import Problem, absolute, name_of
from pinnsig.run.estimating import RunEstimate, estimate_run
from pinnsig.run.settings import resolve


def print_estimate(
    problem: str | type[Problem], given: Mapping[str, Any], as_json: bool = False
) -> None:
    """Try a few iterations of each phase, and print what a run will take; nothing is written.

    Raises:
        PinnsigError: it cannot be trained.
    """
    known = problem if inspect.isclass(problem) else None
    named = name_of(known) if known else absolute(str(problem))
    found = estimate_run(resolve({**given, "problem": named}), known)
    if as_json:
        print_json(_as_dict(found))
        return
    for line in header(found.parts, "preset" in given).split("\n"):
        click.echo(plain(line))
    tell(found.notices)
    points = ", ".join(f"{name} {count:,}" for name, count in found.points.items())
    click.echo(f"weights {found.weights:,}; engine {found.engine}; points: {points}\n")
    print_table(
        ("phase", "iterations", "ms each", "seconds"),
        [(p.name, p.iterations, f"{1e3 * p.each:.3g}", f"{p.iterations * p.each:.3g}")
         for p in found.phases],
    )  # fmt: skip
    click.echo(f"\nabout {duration(found.seconds)} of training, then its judgement and figures")
    if found.memory is not None:
        left = available_memory(found.device)
        more = "" if left is None else f"; {in_words(left)} can be had"
        click.echo(f"about {in_words(found.memory)} of memory{more}")


def _as_dict(found: RunEstimate) -> dict[str, Any]:
    return {
        "settings": found.parts.settings.as_dict(),
        "weights": found.weights,
        "engine": found.engine,
        "points": found.points,
        "phases": [vars(phase) for phase in found.phases],
        "seconds": found.seconds,
        "memory": found.memory,
        "notices": found.notices,
    }
