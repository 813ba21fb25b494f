"""Functions of jets that are made from others: of several arguments, in pieces, or by algebra.

In pieces, a function has the derivatives of the piece that a point is in: those almost everywhere.
"""

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, cast

import torch
from torch import Tensor

from pinnsig.core.names import Alpha
from pinnsig.derivatives.algebra import Algebra
from pinnsig.derivatives.operations import NAMED, Operation


def where(condition: Tensor, a: Algebra, b: Algebra) -> Algebra:
    """The partials of a where the condition holds, else those of b."""

    def part(alpha: Alpha) -> Any:
        chosen = [jet.part(alpha) for jet in (a, b)]
        if all(piece is None for piece in chosen):
            return None
        # numbers take the columns' type, which torch.where would not give two of them
        x, y = (p if hasattr(p, "ndim") else a.like.new_tensor(p or 0.0) for p in chosen)
        return torch.where(condition, cast(Tensor, x), cast(Tensor, y))

    return a.with_parts(part)


def _larger(a: Algebra, b: Algebra) -> Algebra:
    return _chosen(a, b, torch.maximum)


def _smaller(a: Algebra, b: Algebra) -> Algebra:
    return _chosen(a, b, torch.minimum)


def _chosen(a: Algebra, b: Algebra, function: Callable[[Tensor, Tensor], Tensor]) -> Algebra:
    """Maximum or minimum; where both are equal, a."""

    def part(alpha: Alpha) -> Any:
        x, y = a.value, b.value
        if not any(alpha):
            return function(x, y)  # which also hands on what is not a number
        first = x >= y if function is torch.maximum else x <= y
        return where(first, a, b).part(alpha)

    return a.with_parts(part)


def _clamp(
    u: Algebra, min: Algebra | None = None, max: Algebra | None = None
) -> Algebra:  # torch's names
    found = u if min is None else _larger(u, min)
    return found if max is None else _smaller(found, max)


def _softplus(u: Algebra, beta: Algebra, threshold: Algebra | None = None) -> Algebra:
    del threshold  # a short cut of torch's, which costs digits
    return (beta * u).softplus() / beta


def _elu(u: Algebra, alpha: Algebra | None = None) -> Algebra:
    below = _smaller(u, 0.0 * u).expm1()
    return where(u > 0, u, below if alpha is None else alpha * below)


def _leaky_relu(u: Algebra, negative_slope: Algebra) -> Algebra:
    return where(u > 0, u, negative_slope * u)


def _by_slopes(operation: Operation) -> Callable[..., Algebra]:
    """A function of jets from its values and its slopes."""
    function = getattr(torch, operation.name, None) or getattr(torch.special, operation.name)

    def composed(*operands: Algebra) -> Algebra:
        def part(alpha: Alpha) -> Any:
            if not any(alpha):
                return function(*(jet.value for jet in operands))
            axis = next(i for i, k in enumerate(alpha) if k)
            first = tuple(int(i == axis) for i in range(len(alpha)))
            slopes = (slope(*operands, result) for slope in operation.slopes if slope)
            terms = (by * jet.shifted(first) for by, jet in zip(slopes, operands, strict=True))
            derivative = reduce(operator.add, terms)  # along that axis, by the chain rule
            return derivative.part(tuple(k - n for k, n in zip(alpha, first, strict=True)))

        result = operands[0].with_parts(part)
        return result

    if len(operation.operands) == 1:
        return lambda u: composed(u)
    return lambda a, b: composed(a, b)


def _gelu(u: Algebra) -> Algebra:
    return 0.5 * u * (-u / math.sqrt(2.0)).erfc()


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _by_slopes(operation)
        for name, operation in NAMED.items()
        if operation.operands in ("c", "cc") and operation.slopes and all(operation.slopes)
        if name not in ("add", "sub", "mul", "div", "pow")  # which are a jet's own
    },
    "maximum": _larger,
    "minimum": _smaller,
    "max": _larger,
    "min": _smaller,
    "clamp": _clamp,
    "clip": _clamp,
    "clamp_min": _larger,
    "clamp_max": _smaller,
    "remainder": lambda u, by: u % by,
    "softplus": _softplus,
    "elu": _elu,
    "leaky_relu": _leaky_relu,
    "silu": lambda u: u * u.sigmoid(),
    "mish": lambda u: u * u.softplus().tanh(),
    "gelu": _gelu,
    "softsign": lambda u: u / (1.0 + abs(u)),
    "log_sigmoid": lambda u: -(-u).softplus(),
    "logsigmoid": lambda u: -(-u).softplus(),
    "logit": lambda u: u.log() - (-u).log1p(),
    "deg2rad": lambda u: u * (math.pi / 180),
    "rad2deg": lambda u: u * (180 / math.pi),
    "frac": lambda u: u - u.trunc(),
    "positive": lambda u: u,
    "clone": lambda u: u,
    "detach": lambda u: u.detached(),
}
"""By torch's names, of jets alone, with keywords as torch has them."""
