"""Names of activations, as used on the command line.

A new activation is one subclass of `Activation` and, below it, one `register_activation` line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from pinnsig.activations.base import Activation
from pinnsig.core.errors import ActivationError
from pinnsig.core.registry import Registry, unknown

Factory = Callable[[float], Activation]
_Known = TypeVar("_Known", bound=Activation | Factory)

ACTIVATIONS: Registry[Activation] = Registry("activation", ActivationError)
"""Activations by name."""

FACTORIES: Registry[Factory] = Registry("family of activations", ActivationError)
"""Families by name; each makes an activation from the number that follows its name."""

_RESERVED = {"x", "pi"}
_WITH_PARAMETER = re.compile(r"([a-z]+)_?(\d+(?:[._]\d+)?)")


def register_activation(name: str, activation: _Known) -> _Known:
    """Make an activation known by name to `parse_activation` and the command line; return it.

    A factory registered as `f` makes `f2.5` and `f_2.5` from the number 2.5. A subclass writes
    its `_format` with the same name, so that expressions parse back.

    Raises:
        ActivationError: if the name is malformed or taken, or this is no activation.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in _RESERVED:
        raise ActivationError(f"{name!r} cannot name an activation: use a-z, 0-9 and _, not x, pi")
    if isinstance(activation, Activation):
        FACTORIES.check_free(name, activation)
        ACTIVATIONS.register(name, activation)
    elif callable(activation):
        ACTIVATIONS.check_free(name, activation)
        FACTORIES.register(name, activation)
    else:
        raise ActivationError(f"{name!r} must be an Activation or make one, not {activation!r}")
    return activation


def find_activation(name: str) -> Activation | None:
    """Return the activation of that name, or None if there is none.

    Raises:
        ActivationError: if the parameter within the name is out of range.
    """
    if name in ACTIVATIONS:
        return ACTIVATIONS[name]
    match = _WITH_PARAMETER.fullmatch(name)
    if match is None or match[1] not in FACTORIES:
        return None
    return FACTORIES[match[1]](float(match[2].replace("_", ".")))


def unknown_name(name: str, others: Iterable[str] = ()) -> ActivationError:
    """Return the error for an unknown name."""
    known = sorted({*ACTIVATIONS, *others, *(f"{family}<k>" for family in FACTORIES)})
    return ActivationError(unknown("function", name, known))
