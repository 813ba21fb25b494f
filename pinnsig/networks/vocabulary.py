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
    "pow": "power",
}  # fmt: skip
"""Methods of a trace by the names of torch's functions, without underscores around them."""

ACTIVATIONS = {
    "tanh": "tanh", "erf": "erf", "arctan": "arctan", "atan": "arctan", "softsign": "softsign1",
    "sin": "sin", "silu": "silu", "gelu": "gelu", "softplus": "softplus",
}  # fmt: skip
"""Activations by the names of torch's functions."""

DEFAULTS = (False, "none", 1, 20)
"""What a function may be given beside its argument without being another one: of `inplace`,
`approximate`, `beta` and `threshold`."""


def named_activation(
    name: str, others: Sequence[Any], named: Mapping[str, Any]
) -> Activation | None:
    """Return the activation that is torch's function of that name; None where there is none.

    Args:
        name: of the function.
        others: what it is given beside its argument.
        named: the same by name.
    """
    if name not in ACTIVATIONS or not all(v in DEFAULTS for v in (*others, *named.values())):
        return None
    try:
        return parse_activation(ACTIVATIONS[name])
    except ActivationError:
        return None
