"""Positive combinations of activations; they stay in the class F (paper, Corollary 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pinnsig.activations.base import Activation
from pinnsig.activations.ir import Expr, clamp, times
from pinnsig.core.errors import ActivationError


def _check_factor(kind: str, factor: float, inner: Activation) -> None:
    if not (math.isfinite(factor) and factor > 0):
        raise ActivationError(f"{kind} factor must be finite and > 0, not {factor!r}")
    slope = abs(factor * inner.slope)
    if inner.slope and not (0 < slope < math.inf and math.isfinite(1 / slope)):
        raise ActivationError(f"{kind} factor {factor!r} takes the slope at 0 out of range")


class Derived(Activation):
    """Base of what is made of one function f, `inner`, and is of its kind."""

    inner: Activation

    @property
    def odd_sigmoid(self) -> bool:
        """Whether f is (Corollary 1)."""
        return self.inner.odd_sigmoid

    @property
    def singular(self) -> bool:
        """Whether f is."""
        return self.inner.singular


@dataclass(frozen=True)
class Scaled(Derived):
    """c f(x), of slope c f'(0).

    Raises:
        ActivationError: unless the factor c is finite and > 0.
    """

    factor: float
    inner: Activation

    def __post_init__(self) -> None:
        _check_factor("scale", self.factor, self.inner)

    @property
    def slope(self) -> float:
        """c f'(0)."""
        return self.factor * self.inner.slope

    @property
    def bound(self) -> float:
        """c sup |f|."""
        return self.factor * self.inner.bound

    def _format(self, argument: str) -> str:
        text = self.inner._format(argument)
        return f"{_text(self.factor)}*" + (f"({text})" if _is_sum(self.inner) else text)

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """c f^(n)(x)."""
        return tuple(times(self.factor, d, self.singular) for d in self.inner.rules(x))


@dataclass(frozen=True)
class Stretched(Derived):
    """f(a x), of slope a f'(0) and n-th derivative a^n f^(n)(a x).

    Raises:
        ActivationError: unless the factor a is finite and > 0.
    """

    factor: float
    inner: Activation

    def __post_init__(self) -> None:
        _check_factor("stretch", self.factor, self.inner)

    @property
    def slope(self) -> float:
        """a f'(0)."""
        return self.factor * self.inner.slope

    @property
    def bound(self) -> float:
        """sup |f|, which stretching does not change."""
        return self.inner.bound

    def _format(self, argument: str) -> str:
        return self.inner._format(f"{_text(self.factor)}*{argument}")

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """a^n f^(n)(a x)."""
        value, *rest = self.inner.rules(self.factor * x)
        scaled, power = [value], 1.0
        for derivative in rest:
            power *= self.factor
            scaled.append(times(power, derivative, self.singular))
        return tuple(scaled)


@dataclass(frozen=True)
class Sum(Activation):
    """f_1 + ... + f_n, with 1/omega the sum of the 1/omega_i (Corollary 1).

    Raises:
        ActivationError: if there are no terms, or the slopes add up to infinity.
    """

    terms: tuple[Activation, ...]

    def __post_init__(self) -> None:
        flat = tuple(t for f in self.terms for t in (f.terms if isinstance(f, Sum) else (f,)))
        object.__setattr__(self, "terms", flat)
        if not flat:
            raise ActivationError("a sum of activations needs at least one term")
        if not math.isfinite(self.slope):
            raise ActivationError("the slopes at 0 of the terms add up to infinity")

    @property
    def slope(self) -> float:
        """Sum of the slopes."""
        return math.fsum(f.slope for f in self.terms)

    @property
    def bound(self) -> float:
        """Sum of the bounds; for odd sigmoids, which tend to their suprema together, sup |f|."""
        return math.fsum(f.bound for f in self.terms)

    @property
    def odd_sigmoid(self) -> bool:
        """Whether all terms are (Corollary 1)."""
        return all(f.odd_sigmoid for f in self.terms)

    @property
    def singular(self) -> bool:
        """Whether some term is singular."""
        return any(f.singular for f in self.terms)

    def _format(self, argument: str) -> str:
        return "+".join(f._format(argument) for f in self.terms)

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """Sums, which a singular term keeps finite."""
        totals, *others = (f.rules(x) for f in self.terms)
        for rules in others:
            added = (a + b for a, b in zip(totals, rules, strict=True))
            totals = tuple(clamp(total) if self.singular else total for total in added)
        return totals


def _is_sum(f: Activation) -> bool:
    """Whether the text of f is a sum, seen through stretches, which add no brackets."""
    while isinstance(f, Stretched):
        f = f.inner
    return isinstance(f, Sum)


def _text(factor: float) -> str:
    return repr(factor).removesuffix(".0")
