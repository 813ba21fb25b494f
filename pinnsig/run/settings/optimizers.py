"""The names of optimisers in settings, and functions that make one in the place of a name.

Settings are text: one of ours is called by its own name, one of PyTorch's as torch.AdamW. A
function that a Python program gives has the name python.FUNCTION there, and is given beside them.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import suggestion, unknown
from pinnsig.optim import OPTIMIZERS, TORCH_OPTIMIZERS, Make

FROM_PYTHON = "python."


def optimizer_name(name: str, value: Any) -> str:
    """Return the name of an optimiser, also of a class of `torch.optim`; the check of settings.

    Raises:
        SettingsError: there is no such optimiser, or it is a function, which is no setting.
    """
    if not isinstance(value, str):
        value = _torch_name(value) or value
    if callable(value):
        raise SettingsError(f"{name} = {value!r}: a function can only be given to solve and resume")
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{name} = {value!r} must be a word")
    if value in OPTIMIZERS or value in TORCH_OPTIMIZERS or value.startswith(FROM_PYTHON):
        return value
    known = TORCH_OPTIMIZERS if value.startswith("torch.") else OPTIMIZERS
    raise SettingsError(f"{name} = {value!r} is unknown: {suggestion(value, known)}")


def separate_functions(
    given: Mapping[str, Any], known: Mapping[str, Make] | None = None
) -> tuple[dict[str, Any], dict[str, Make]]:
    """Return settings with names in the place of functions, and the functions by these names.

    Args:
        given: settings by name.
        known: functions that have names already.
    """
    functions = dict(known or {})
    found = dict(given)
    if _is_function(found.get("optimizer")):
        found["optimizer"] = _add(functions, found["optimizer"])
    if isinstance(phases := found.get("phases"), list | tuple):
        found["phases"] = [
            {**phase, "optimizer": _add(functions, phase["optimizer"])}
            if isinstance(phase, Mapping) and _is_function(phase.get("optimizer"))
            else phase
            for phase in phases
        ]
    return found, functions


def named_functions(given: Make | Sequence[Make]) -> dict[str, Make]:
    """Return functions by the names that `separate_functions` gave them, in the same order."""
    functions: dict[str, Make] = {}
    for function in [given] if callable(given) else given:
        _add(functions, function)
    return functions


def _is_function(value: Any) -> bool:
    return callable(value) and _torch_name(value) is None


def _torch_name(value: Any) -> str | None:
    return next((name for name, cls in TORCH_OPTIMIZERS.items() if cls is value), None)


def _add(functions: dict[str, Make], function: Make) -> str:
    """Return the name of a function, which is made known."""
    word = getattr(function, "__name__", type(function).__name__).strip("<>")
    name, number = FROM_PYTHON + word, 2
    while functions.setdefault(name, function) is not function:
        name, number = f"{FROM_PYTHON}{word}-{number}", number + 1
    return name


def torch_options(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords of a PyTorch optimiser's class, of the types that it has them in.

    Raises:
        SettingsError: it has no such keyword.
    """
    known = {
        key: parameter.default
        for key, parameter in inspect.signature(TORCH_OPTIMIZERS[name]).parameters.items()
        if key not in ("params", "lr")
    }
    for key in given:
        if key not in known:
            raise SettingsError(unknown(f"{name}: key", key, ["lr", *known]))
    return {key: _typed(f"{name}: {key}", value, known[key]) for key, value in given.items()}


def _typed(what: str, value: Any, default: Any) -> Any:
    if isinstance(default, bool) and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    numbers = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, int | float) and (isinstance(default, bool) or not numbers):
        kind = "true or false" if isinstance(default, bool) else "a number"
        raise SettingsError(f"{what} = {value!r} must be {kind}")
    if isinstance(default, tuple) and not isinstance(value, list | tuple):
        raise SettingsError(f"{what} = {value!r} must be a list of numbers")
    return value
