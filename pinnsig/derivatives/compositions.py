"""Functions of jets that are made from others: of several arguments, in pieces, or by algebra.

In pieces, a function has the derivatives of the piece that a point is in: those almost everywhere.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

if TYPE_CHECKING:
    from pinnsig.derivatives.jet import Jet
    from pinnsig.derivatives.plan import Alpha


def where(condition: Tensor, a: "Jet", b: "Jet") -> "Jet":
    """The partials of a where the condition holds, else those of b."""

    def part(alpha: "Alpha") -> Any:
        chosen = [jet.part(alpha) for jet in (a, b)]
        if all(piece is None for piece in chosen):
            return None
        # numbers take the columns' type, which torch.where would not give two of them
        x, y = (p if hasattr(p, "ndim") else a.like.new_tensor(p or 0.0) for p in chosen)
        return torch.where(condition, cast(Tensor, x), cast(Tensor, y))

    return a.with_parts(part)


def _larger(a: "Jet", b: "Jet") -> "Jet":
    return _chosen(a, b, torch.maximum)


def _smaller(a: "Jet", b: "Jet") -> "Jet":
    return _chosen(a, b, torch.minimum)


def _chosen(a: "Jet", b: "Jet", function: Callable[[Tensor, Tensor], Tensor]) -> "Jet":
    """Maximum or minimum; where both are equal, a."""

    def part(alpha: "Alpha") -> Any:
        x, y = a.value, b.value
        if not any(alpha):
            return function(x, y)  # which also hands on what is not a number
        first = x >= y if function is torch.maximum else x <= y
        return where(first, a, b).part(alpha)

    return a.with_parts(part)


def _clamp(u: "Jet", min: "Jet | None" = None, max: "Jet | None" = None) -> "Jet":  # torch's names
    found = u if min is None else _larger(u, min)
    return found if max is None else _smaller(found, max)


def _softplus(u: "Jet", beta: "Jet", threshold: "Jet | None" = None) -> "Jet":
    del threshold  # a short cut of torch's, which costs digits
    return (beta * u).softplus() / beta


def _elu(u: "Jet", alpha: "Jet | None" = None) -> "Jet":
    below = _smaller(u, 0.0 * u).expm1()
    return where(u > 0, u, below if alpha is None else alpha * below)


def _leaky_relu(u: "Jet", negative_slope: "Jet") -> "Jet":
    return where(u > 0, u, negative_slope * u)


def _hypot(a: "Jet", b: "Jet") -> "Jet":
    def slope(first: "Alpha") -> "Jet":
        return (a * a.shifted(first) + b * b.shifted(first)) / _hypot(a, b)

    return _by_slopes(a, lambda: torch.hypot(a.value, b.value), slope)


def _atan2(a: "Jet", b: "Jet") -> "Jet":
    def slope(first: "Alpha") -> "Jet":
        return (b * a.shifted(first) - a * b.shifted(first)) / (a * a + b * b)

    return _by_slopes(a, lambda: torch.atan2(a.value, b.value), slope)


def _logaddexp(a: "Jet", b: "Jet") -> "Jet":
    return _larger(a, b) + torch.nn.functional.softplus(-abs(a - b))  # type: ignore[arg-type]


def _by_slopes(
    like: "Jet", value: Callable[[], Tensor], slope: Callable[["Alpha"], "Jet"]
) -> "Jet":
    """A jet from its values and its first partials."""

    def part(alpha: "Alpha") -> Any:
        if not any(alpha):
            return value()
        axis = next(i for i, k in enumerate(alpha) if k)
        first = tuple(int(i == axis) for i in range(len(alpha)))
        return slope(first).part(tuple(k - n for k, n in zip(alpha, first, strict=True)))

    return like.with_parts(part)


def _remainder(u: "Jet", by: "Jet") -> "Jet":
    """u less a whole number of times `by`: the sign of `by`, as Python's %."""
    return u - by * (u / by).floor()


def _gelu(u: "Jet") -> "Jet":
    return 0.5 * u * (-u / math.sqrt(2.0)).erfc()


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "maximum": _larger,
    "minimum": _smaller,
    "max": _larger,
    "min": _smaller,
    "clamp": _clamp,
    "clip": _clamp,
    "clamp_min": _larger,
    "clamp_max": _smaller,
    "hypot": _hypot,
    "atan2": _atan2,
    "arctan2": _atan2,
    "logaddexp": _logaddexp,
    "remainder": _remainder,
    "float_power": lambda u, exponent: u**exponent,
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
