"""Several values of one setting, from text: `0.1,0.5`, `0.1:2:9`, `log:0.1:10:5`, `eoc,calibrated`.

start:stop:count are as many evenly spaced numbers, both ends among them, and log:start:stop:count
the same on a log scale. A comma before a parameter (`calibrated:p=0.4,epsilon=0.1`) separates no
values.
"""

import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from pinnsig.core.errors import SettingsError
from pinnsig.run.settings import GivenSettings

DIGITS = 12  # of the numbers of a range, so that 0.1:0.3:3 holds 0.2 and not its neighbour
MOST_VALUES = 100_000  # of a range
_PARAMETER = re.compile(r"\s*[A-Za-z_]\w*\s*=")
_RANGE = re.compile(r"(log:)?([^:]+):([^:]+):([^:]+)")

TYPES = {setting.name: setting.type for setting in fields(GivenSettings)}


def split(name: str, text: str) -> list[str]:
    """The parts of a text between commas; parameters stay with what they belong to.

    Raises:
        SettingsError: a part is empty.
    """
    parts: list[str] = []
    for part in text.split(","):
        if not part.strip():
            raise SettingsError(f"{name} = {text!r} has an empty value between its commas")
        if parts and _PARAMETER.match(part):
            parts[-1] += f",{part.strip()}"
        else:
            parts.append(part.strip())
    return parts


def values_of(name: str, value: Any) -> list[Any]:
    """Every value that is given for a setting, or for one entry of `set` or `weight`.

    Args:
        name: `scale`, `set.nu`.
        value: one value, a text with several, or a list or array of both.

    Raises:
        SettingsError: a text that cannot be read, or no value at all.
    """
    if name == "phases":
        return _phases(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        found = [one for item in value for one in values_of(name, item)]
        if not found:
            raise SettingsError(f"{name} has no value")
        return found
    if not isinstance(value, str):
        return [value]
    return [one for part in split(name, value) for one in _read(name, part)]


def numbers_of(name: str, text: str) -> list[float]:
    """Every number of a text: `0.1`, `0.1,0.5`, `0.1:2:9`, `log:0.1:10:5`.

    Raises:
        SettingsError: a text that cannot be read.
    """
    return [one for part in split(name, text) for one in _numbers(name, part, float)]


def _phases(value: Any) -> list[Any]:
    """Lists of phases: a list of lists, or a list in which a text may hold several phases."""
    if not isinstance(value, list | tuple):
        return [value]
    if value and all(isinstance(item, list | tuple) for item in value):
        return [one for item in value for one in _phases(item)]
    choices = [split("phases", item) if isinstance(item, str) else [item] for item in value]
    return [list(chosen) for chosen in itertools.product(*choices)]


def _read(name: str, text: str) -> Iterable[Any]:
    kind = TYPES.get(name)
    if name.startswith("weight.") or kind in (float, float | None):
        return _numbers(name, text, float)
    if kind in (int, int | None):
        return _numbers(name, text, int)
    if kind in (bool, bool | None):
        return [_yes_or_no(name, text)]
    if name.startswith("set.") or name == "p":  # a number, or a word
        try:
            return _numbers(name, text, float)
        except SettingsError:
            if _RANGE.fullmatch(text):
                raise
    return [text]


def _numbers(name: str, text: str, kind: Callable[[Any], Any]) -> list[Any]:
    match = _RANGE.fullmatch(text)
    if not match:
        return [_number(name, text, kind)]
    log, *ends, count = match.groups()
    start, stop = (_number(name, end, float) for end in ends)
    many = _number(name, count, int)
    if many < 1:
        raise SettingsError(f"{name} = {text!r} has no value: its count must be at least 1")
    if log and not (start > 0 and stop > 0):
        raise SettingsError(f"{name} = {text!r}: both ends of a log range must be above 0")
    if many > MOST_VALUES:
        raise SettingsError(
            f"{name} = {text!r} has {many:,} values: at most {MOST_VALUES:,} can be"
        )
    found = (np.geomspace if log else np.linspace)(start, stop, many)
    rounded = [float(f"{value:.{DIGITS}g}") for value in found]
    if kind is int and not all(value.is_integer() for value in rounded):
        raise SettingsError(
            f"{name} = {text!r} holds {next(v for v in rounded if not v.is_integer()):g}, "
            "which is no whole number"
        )
    return [kind(value) for value in rounded]


def _number(name: str, text: str, kind: Callable[[Any], Any]) -> Any:
    try:
        return kind(text.strip())
    except ValueError:
        what = "whole number" if kind is int else "number"
        raise SettingsError(
            f"{name} = {text.strip()!r} is no {what}, and no range such as 0.1:2:9 or log:0.1:10:5"
        ) from None


def _yes_or_no(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise SettingsError(f"{name} = {text!r} must be true or false")
    return text.lower() == "true"
