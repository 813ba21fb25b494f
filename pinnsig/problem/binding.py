"""Calling a user's function with its arguments found by their names."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from torch import nn

from pinnsig.core.errors import ProblemError

Parameters = tuple[inspect.Parameter, ...]


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters that a function needs (without a bound `self`).

    Raises:
        TypeError, ValueError: it does not tell them, as a built-in function.
    """
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = _parameters(function)
    return tuple(p.name for p in found if p.kind not in variadic and p.default is p.empty)


def needed_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the same, and nothing for a function that does not tell them."""
    try:
        return parameter_names(function)
    except (TypeError, ValueError):
        return ()


def call_by_name(
    function: Callable[..., Any],
    available: Mapping[str, Any],
    what: str,
    behind: Mapping[str, Any] | None = None,
) -> Any:
    """Call a function with those of the available values that its parameters name.

    A parameter with a default gets the value of its name, if there is one; what
    `functools.partial` holds fast stays so; `**rest` takes all that is left.

    Args:
        function: with named parameters.
        available: values by name.
        what: what the function is called in an error.
        behind: values that only parameters without a default get, where `available` has none.

    Raises:
        ProblemError: a parameter has a name that is not available, or names cannot be found.
    """
    try:
        parameters = _parameters(function)
    except (TypeError, ValueError):  # a built-in such as torch.sin has no signature
        raise ProblemError(
            f"{what}: a built-in function does not name its parameters: "
            f"write lambda {next(iter(available), '')}: ..."
        ) from None
    behind = behind or {}
    in_order: list[Any] = []
    by_name: dict[str, Any] = {}
    skipped = False  # what follows a parameter that is left out goes by name
    for parameter in parameters:
        name, kind = parameter.name, parameter.kind
        if kind is parameter.VAR_POSITIONAL:
            raise ProblemError(
                f"{what}: *{name} names nothing: name what it needs, such as "
                f"{', '.join(list(available)[:3])}"
            )
        if kind is parameter.VAR_KEYWORD:
            used = {p.name for p in parameters}
            by_name |= {key: value for key, value in available.items() if key not in used}
            continue
        if name in available:
            value = available[name]
        elif parameter.default is not parameter.empty:
            skipped = True
            continue
        elif name in behind:
            value = behind[name]
        else:
            known = ", ".join(dict.fromkeys([*available, *behind])) or "none"
            raise ProblemError(f"{what}: its parameter {name!r} is none of {known}")
        if kind is parameter.KEYWORD_ONLY or (skipped and kind is not parameter.POSITIONAL_ONLY):
            by_name[name] = value
        elif not skipped:
            in_order.append(value)
    return function(*in_order, **by_name)


def _parameters(function: Callable[..., Any]) -> Parameters:
    """The parameters that a call fills; a method's are those of its function, which stays."""
    if inspect.ismethod(function):
        return _parameters(function.__func__)[1:]
    try:
        return _read(function)
    except TypeError:  # not hashable, or no signature, which shows again
        return _read.__wrapped__(function)


@functools.lru_cache(maxsize=1024)
def _read(function: Callable[..., Any]) -> Parameters:
    # a ufunc may tell of parameters such as `out`, a class of those that it is made from
    if isinstance(function, np.ufunc) or inspect.isclass(function):
        raise ValueError("no names")
    fixed: Mapping[str, Any] = {}
    if isinstance(function, functools.partial):
        fixed = function.keywords
    signed = function.forward if isinstance(function, nn.Module) else function
    found = inspect.signature(signed).parameters.values()
    return tuple(p for p in found if p.name not in fixed)
