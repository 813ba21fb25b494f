"""Networks by name, and from text such as `resnet:block=2`.

A new one is a class under `register_network`; its keyword arguments are the text's parameters.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args, get_origin

import torch

from pinnsig.activations import Activation
from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import Registry, unknown
from pinnsig.networks.base import Network

PLACE = ("dtype", "device")  # keyword arguments that every network has
OWN = "own:"
"""Begins the setting of a network that was given from Python, before the name of its class."""

_Class = TypeVar("_Class", bound=type[Network])

NETWORKS: Registry[type[Network]] = Registry("network", SettingsError)
"""The known networks by name."""


def register_network(name: str) -> Callable[[_Class], _Class]:
    """Class decorator: make a network known by a name.

    Raises:
        SettingsError: the name belongs to another class.
    """

    def register(cls: _Class) -> _Class:
        NETWORKS.register(name, cls)
        return cls

    return register


@dataclass(frozen=True)
class NetworkSpec:
    """A registered network with its parameters.

    Attributes:
        name: in `NETWORKS`.
        options: what is its own, by name; its class has defaults for the rest.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def cls(self) -> type[Network]:
        """Its class."""
        return NETWORKS[self.name]

    def build(
        self,
        inputs: int,
        outputs: int,
        depth: int,
        width: int,
        activation: Activation,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Network:
        """Return the network, uninitialised.

        Raises:
            SettingsError: a parameter is out of range, or its weights do not fit into memory.
        """
        make: Callable[..., Network] = self.cls
        place = {"dtype": dtype, "device": device}
        return make(inputs, outputs, depth, width, activation, **self.options, **place)


def parse_network(text: str) -> NetworkSpec:
    """Return the network of a text such as `resnet` or `fourier:sigma=2,features=64`.

    Raises:
        SettingsError: the name, a parameter or a value is not known; one line says what is.
    """
    if text.startswith(OWN):
        raise SettingsError(
            f"the network {text.removeprefix(OWN)} was given from Python, and is not kept in a "
            "run: give it again, as in load(run, network=...) or resume(run, network=...)"
        )
    name, _, listed = text.partition(":")
    name = name.strip()
    NETWORKS.find(name)
    known = network_options(name)
    given: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in listed.split(","))):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise SettingsError(f"network {name}: parameters are written name=value, not {item!r}")
        if key in given:
            raise SettingsError(f"network {name}: {key} is given twice")
        if key not in known:
            raise SettingsError(unknown(f"parameter of {name}", key, known))
        given[key] = _value(name, known[key], value)
    return NetworkSpec(name, given)


def usual_settings(text: str) -> Mapping[str, Any]:
    """Return the settings that a network differs in, where they are not given."""
    return {} if text.startswith(OWN) else parse_network(text).cls.usual


def network_options(name: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a registered network by name, with their types and defaults."""
    parameters = inspect.signature(NETWORKS[name]).parameters.values()
    own = (p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in PLACE)
    return {p.name: p for p in own}


def _value(name: str, parameter: inspect.Parameter, text: str) -> Any:
    """Read a parameter's value as its annotation says: a number, or one of a few words."""
    wanted = parameter.annotation
    if get_origin(wanted) is Literal:
        if text not in get_args(wanted):
            what = f"network {name}: {parameter.name} ="
            raise SettingsError(unknown(what, text, get_args(wanted)))
        return text
    try:
        return wanted(text)
    except (ValueError, OverflowError):
        what = "a whole number" if wanted is int else "a number"
        raise SettingsError(
            f"network {name}: {parameter.name} must be {what}, not {text!r}"
        ) from None


def require_option(allowed: bool, name: str, parameter: str, rule: str, value: Any) -> None:
    """Refuse a parameter that is out of range.

    Raises:
        SettingsError: it is not allowed.
    """
    if not allowed:
        raise SettingsError(f"network {name}: {parameter} must be {rule}, not {value}")
