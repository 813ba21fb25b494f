"""Points from the command line: `x=0.1 t=0:1:5`."""

import math
from collections.abc import Sequence

import click
import numpy as np

from pinnsig.core.errors import RunError, SettingsError
from pinnsig.sweeps.values import numbers_of

MOST_POINTS = 10_000_000


def read_values(texts: list[str]) -> dict[str, list[float]]:
    """Return the values of each coordinate, from texts such as x=0.1, x=0,1 and x=0:1:5.

    Raises:
        UsageError: a text that cannot be read, or a coordinate that is given twice.
    """
    found: dict[str, list[float]] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals:
            raise click.UsageError(f"{text!r} is not COORDINATE=VALUE, such as x=0.1 or x=0:1:5")
        if name in found:
            raise click.UsageError(f"coordinate {name} is given twice: write x=0.1,0.5 for both")
        try:
            found[name] = numbers_of(name, values)
        except SettingsError as error:
            raise click.UsageError(f"{text!r}: {error}") from None
        if not np.isfinite(found[name]).all():
            raise click.UsageError(f"{text!r} is not finite")
    return found


def grid(values: dict[str, list[float]], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return every combination of the coordinates' values, the last one changing fastest.

    Args:
        values: by coordinate.
        names: the domain's order.

    Raises:
        RunError: a coordinate is missing, or there are too many points.
    """
    missing = [name for name in names if name not in values]
    if missing:
        raise RunError(f"no value is given for the coordinate {missing[0]}")
    if (count := math.prod(map(len, values.values()))) > MOST_POINTS:
        raise RunError(f"that is {count:,} points: at most {MOST_POINTS:,} at a time")
    ordered = sorted(values, key=lambda name: names.index(name) if name in names else len(names))
    mesh = np.meshgrid(*(values[name] for name in ordered), indexing="ij")
    return {name: column.ravel() for name, column in zip(ordered, mesh, strict=True)}
