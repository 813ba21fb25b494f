"""What a setting may be: functions that check a value by its name and give it its type."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from numbers import Integral, Real
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import Registry, suggestion, unknown
from pinnsig.networks import OWN, parse_network

Check = Callable[[str, Any], Any]


def integer(minimum: int) -> Check:
    """Whole numbers of at least `minimum`."""

    def check(name: str, value: Any) -> int:
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise SettingsError(f"{name} = {value!r} must be a whole number")
        if value < minimum:
            raise SettingsError(f"{name} = {value} must be at least {minimum}")
        return int(value)

    return check


def number(*, above: float | None = None, minimum: float | None = None) -> Check:
    """Finite real numbers, above a limit or of at least a minimum."""

    def check(name: str, value: Any) -> float:
        if not isinstance(value, Real) or isinstance(value, bool):
            quoted = " (without quotes in a file)" if isinstance(value, str) else ""
            raise SettingsError(f"{name} = {value!r} must be a number{quoted}")
        try:
            number = float(value)
        except OverflowError:  # a whole number of more than 308 digits
            number = math.inf
        if not math.isfinite(number):
            raise SettingsError(f"{name} = {number} must be finite")
        if above is not None and number <= above:
            raise SettingsError(f"{name} = {number:g} must be greater than {above:g}")
        if minimum is not None and number < minimum:
            raise SettingsError(f"{name} = {number:g} must be at least {minimum:g}")
        return number

    return check


def word(*options: str) -> Check:
    """One of a few words; any text if none are named."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise SettingsError(f"{name} = {value!r} must be a word")
        if options and value not in options:
            raise _unknown_word(name, value, options)
        return value

    return check


def entry(registry: Registry[Any], *others: str) -> Check:
    """A name in a registry as it stands then, or one of a few other words."""

    def check(name: str, value: Any) -> str:
        checked = word()(name, value)
        if checked not in registry and checked not in others:
            raise _unknown_word(name, checked, [*others, *registry])
        return checked

    return check


def _unknown_word(name: str, value: str, options: Iterable[str]) -> SettingsError:
    return SettingsError(f"{name} = {value!r} is unknown: {suggestion(value, options)}")


def yes_or_no(name: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise SettingsError(f"{name} = {value!r} must be true or false")
    return value


def negative_rate(name: str, value: Any) -> float | str:
    """A target negative rate, or `auto` for the rule p(L)."""
    if value == "auto":
        return "auto"
    checked = number(minimum=0.0)(name, value)
    if checked >= 0.5:
        raise SettingsError(f"{name} = {value:g} must be below 0.5, or auto for the rule p(L)")
    return checked


def network(name: str, value: Any) -> str:
    """A registered network with its parameters, or the name of one that was given from Python."""
    text = word()(name, value)
    if not text.startswith(OWN):
        parse_network(text)
    return text


def table(name: str, value: Any) -> dict[str, Any]:
    """Names with values."""
    if not isinstance(value, Mapping):
        raise SettingsError(f"{name} = {value!r} must be a table of names and values")
    return dict(value)


def scaling(name: str, value: Any) -> str | dict[str, Any]:
    """`auto`, `none`, or a table: `outputs` with middle and size each, `terms` with sizes.

    A text has the table as JSON.
    """
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:  # also of brackets without end
            raise SettingsError(f"{name} = {value!r:.60} is no JSON: {error}") from None
    if isinstance(value, str):
        return word("auto", "none")(name, value)
    given = table(name, value)
    for key in set(given) - {"outputs", "terms"}:
        raise _unknown_word(f"key of {name}", str(key), ("outputs", "terms"))
    outputs, above = table(f"{name}: outputs", given.get("outputs", {})), number(above=0.0)
    for key, pair in outputs.items():
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise SettingsError(f"{name} of {key} = {pair!r} must be a pair [middle, size]")
    terms = table(f"{name}: terms", given.get("terms", {}))
    return {
        "outputs": {
            key: [number()(f"middle of {key}", middle), above(f"size of {key}", size)]
            for key, (middle, size) in outputs.items()
        },
        "terms": {key: above(f"size of {key}", size) for key, size in terms.items()},
    }


def slabs(name: str, value: Any) -> int | list[float]:
    """How many, or the times at which they end; a text has them with commas between."""
    if isinstance(value, str):
        try:
            given = [float(part) for part in value.split(",")]
        except ValueError:
            raise SettingsError(
                f"{name} = {value!r} must be a number, such as 4, or times, such as 0.1,0.5,2"
            ) from None
        value = int(given[0]) if len(given) == 1 and given[0].is_integer() else given
    if isinstance(value, list | tuple):
        if not value:
            raise SettingsError(f"{name} = [] must name the times at which they end")
        return [number()(name, end) for end in value]
    return integer(1)(name, value)


def weights(name: str, value: Any) -> dict[str, float]:
    """Term names with factors that are not negative."""
    return {t: number(minimum=0.0)(f"{name} of {t}", w) for t, w in table(name, value).items()}


def setting(check: Check, help: str, default: Any = None, metavar: str | None = None) -> Any:
    """A dataclass field with its check and its help."""
    data = {"check": check, "help": help, "metavar": metavar}
    if isinstance(default, dict | list):
        return field(default_factory=type(default), metadata=data)
    return field(default=default, metadata=data)


def check_fields(cls: type, given: Mapping[str, Any], what: str = "setting") -> dict[str, Any]:
    """Check names and values against a dataclass made of `setting`s; None means not given.

    Raises:
        SettingsError: an unknown name, or a value of the wrong type or out of range.
    """
    known = {f.name: f for f in fields(cls)}
    for name in given:
        if name not in known:
            raise SettingsError(unknown(what, name, known))
    return {
        name: known[name].metadata["check"](name, value)
        for name, value in given.items()
        if value is not None
    }
