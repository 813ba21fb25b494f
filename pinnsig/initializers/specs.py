"""Initialisers from text, such as `calibrated:p=0.3,epsilon=0.1`."""

from dataclasses import Field, fields
from types import NoneType
from typing import Any, get_args

from pinnsig.core.errors import InitializerError
from pinnsig.core.registry import unknown
from pinnsig.initializers.base import INITIALIZERS, Initializer


def parse_initializer(spec: str, **overrides: Any) -> Initializer:
    """Make an initialiser from text such as `calibrated:p=0.3,epsilon=0.1` or `eoc`.

    Args:
        spec: a name of `INITIALIZERS`, with parameters after a colon; "auto" stands for None.
        overrides: parameters that replace those of the text; values or text.

    Raises:
        InitializerError: the name, a parameter or a value is not known; one line says what is.
    """
    name, _, listed = spec.partition(":")
    name = name.strip()
    cls = INITIALIZERS.find(name)
    given: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in listed.split(","))):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise InitializerError(f"{name}: parameters are written name=value, not {item!r}")
        if key in given:
            raise InitializerError(f"{name}: {key} is given twice")
        given[key] = value
    known = {field.name: field for field in fields(cls)}
    given |= overrides
    for key in given:
        if key not in known:
            raise InitializerError(unknown(f"parameter of {name}", key, known))
    return cls(**{key: _value(name, known[key], value) for key, value in given.items()})


def initializer_from(
    init: str, p: float | str | None, sigma_b: float | None, rule: bool
) -> Initializer:
    """Return the initialiser of a text, with what is given beside it.

    Args:
        init: such as `calibrated:epsilon=0.1`.
        p, sigma_b: take the place of those in the text; None leaves them.
        rule: whether a calibrated one without p has the rule p(L) (paper, section 4.2).

    Raises:
        InitializerError: no such initialiser, or a parameter that it lacks.
    """
    given = {"p": p, "sigma_b": sigma_b}
    overrides = {name: value for name, value in given.items() if value is not None}
    name, _, parameters = init.partition(":")
    if rule and name.strip() == "calibrated" and "p=" not in parameters.replace(" ", ""):
        overrides.setdefault("p", "auto")
    return parse_initializer(init, **overrides)


def _value(name: str, field: Field[Any], value: Any) -> float | int | None:
    """Read a parameter's value as its annotation says."""
    kinds = get_args(field.type) or (field.type,)
    if NoneType in kinds and value in (None, "auto"):
        return None
    wanted = int if int in kinds else float
    try:
        number = wanted(value)
        if isinstance(value, bool) or (not isinstance(value, str) and number != value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        what = "a whole number" if wanted is int else "a number"
        auto = ' or "auto"' if NoneType in kinds else ""
        raise InitializerError(
            f"{name}: {field.name} must be {what}{auto}, not {value!r}"
        ) from None
    return number
