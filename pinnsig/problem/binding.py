"""Calling a user's function with its arguments found by their names."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pinnsig.errors import ProblemError


@functools.lru_cache(maxsize=1024)
def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of a function's positional parameters (without a bound `self`)."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.kind in kinds and p.default is p.empty)


def call_by_name(function: Callable[..., Any], available: Mapping[str, Any], what: str) -> Any:
    """Call a function with those of the available values that its parameters name.

    Raises:
        ProblemError: a parameter has a name that is not available, or names cannot be found.
    """
    try:
        names = parameter_names(function)
    except (TypeError, ValueError):  # a built-in such as torch.sin has no signature
        raise ProblemError(
            f"{what}: a built-in function does not name its parameters: "
            f"write lambda {next(iter(available))}: ..."
        ) from None
    missing = [name for name in names if name not in available]
    if missing:
        raise ProblemError(
            f"{what}: its parameter {missing[0]!r} is none of {', '.join(available)}"
        )
    return function(*(available[name] for name in names))
