"""What torch calls the operations that networks are made of."""

from collections.abc import Mapping, Sequence
from typing import Any

from pinnsig.activations import Activation, parse_activation
from pinnsig.core.errors import ActivationError

NAMES = {
    "linear": "linear",
    "matmul": "matmul", "mm": "matmul",
    "add": "sum", "radd": "sum",
    "sub": "difference", "subtract": "difference",
    "mul": "product", "multiply": "product", "rmul": "product",
    "div": "quotient", "divide": "quotient", "truediv": "quotient", "true_divide": "quotient",
    "pow": "power", "square": "square", "neg": "negative", "negative": "negative",
}  # fmt: skip
"""Methods of a trace by the names of torch's functions, without underscores around them."""

ACTIVATIONS = {
    "tanh": "tanh", "erf": "erf", "arctan": "arctan", "atan": "arctan", "softsign": "softsign1",
    "sin": "sin", "cos": "cos", "sigmoid": "sigmoid", "silu": "silu",
    "gelu": "gelu", "softplus": "softplus",
}  # fmt: skip
"""Activations by the names of torch's functions."""

DEFAULTS: dict[str, dict[str, Any]] = {
    "silu": {"inplace": False},
    "gelu": {"approximate": "none"},
    "softplus": {"beta": 1, "threshold": 20},
}
"""What these may be given beside their argument without being another function, in order."""


def named_activation(
    name: str, others: Sequence[Any], named: Mapping[str, Any]
) -> Activation | None:
    """Return the activation that is torch's function of that name; None where there is none.

    Args:
        name: of the function.
        others: what it is given beside its argument.
        named: the same by name.
    """
    usual = DEFAULTS.get(name, {})
    if name not in ACTIVATIONS or len(others) > len(usual):
        return None
    given = {**dict(zip(usual, others, strict=False)), **named}
    if any(key not in usual or value != usual[key] for key, value in given.items()):
        return None
    try:
        return parse_activation(ACTIVATIONS[name])
    except ActivationError:
        return None
