"""How the commands print: aligned tables for people, strict JSON for programs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from pinnsig.core.json import dumps
from pinnsig.core.paths import plain


def number(value: Any) -> str:
    """A value for people: six significant digits, a dash where there is none."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, float):
        return plain(str(value))
    return f"{value:.6g}"


def print_pairs(pairs: Mapping[str, Any]) -> None:
    """Print names and values in two aligned columns."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        click.echo(f"{number(name):<{width}}  {number(value)}")


def print_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table with a header line."""
    texts = [list(map(number, head)), *([number(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(head))]
    for row in texts:
        line = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        click.echo(line.rstrip())


def print_json(data: Any) -> None:
    """Print strict JSON on stdout."""
    click.echo(dumps(data, 2))
