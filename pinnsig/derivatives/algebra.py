"""Arithmetic and functions of quantities that know their partial derivatives.

A partial of a result is worked out when it is read, from the partials of the operands, by Leibniz's
and Faa di Bruno's formulas; so nothing is computed that is not used.
"""

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor

from pinnsig.core.errors import DerivativeError
from pinnsig.core.names import Alpha
from pinnsig.derivatives.composition_rule import faa_di_bruno
from pinnsig.derivatives.functions import Outer, power_of
from pinnsig.derivatives.operations import FUNCTIONS
from pinnsig.derivatives.product_rule import leibniz
from pinnsig.derivatives.steps import NUMBERS
from pinnsig.derivatives.symbols import Symbol

Part = Tensor | Symbol | float | None
"""A partial: values of shape (N,), or what stands for them, a number, or None for exactly zero."""


class Algebra:
    """Arithmetic (+ - * / % **) of quantities over the points; base of `Jet`."""

    __slots__ = ()

    coordinates: tuple[str, ...]
    like: Tensor
    tensor: Callable[[Alpha], Tensor]
    part: Callable[[Alpha], Part]
    with_parts: Callable[[Callable[[Alpha], Part]], Any]
    shifted: Callable[[Alpha], Any]
    detached: Callable[[], Any]

    @property
    def value(self) -> Tensor:
        """The values, shape (N,)."""
        return self.tensor((0,) * len(self.coordinates))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)  # partials and functions are a jet's own

    def apply(self, outer: Outer) -> "Algebra":
        """outer(self), by Faa di Bruno's formula."""
        cache: dict[int, Tensor] = {}

        def derivative(order: int) -> Tensor:
            if order not in cache:
                cache[order] = outer(self.value, order)
            return cache[order]

        def part(alpha: Alpha) -> Part:
            if not any(alpha):
                return derivative(0)
            total: Part = None
            for product in faa_di_bruno(alpha):
                term: Part = product.coefficient
                for beta, exponent in product.factors:
                    factor = self.part(beta)
                    term = _times(term, factor if factor is None else factor**exponent)
                if term is not None:
                    total = _plus(total, _times(term, derivative(product.order)))
            return total

        return self.with_parts(part)

    def lift(self, other: Any) -> "Algebra | None":
        """Another operand as a jet: numbers are constant, plain tensors have no partials."""
        if isinstance(other, Algebra):
            return other
        if not isinstance(other, (*NUMBERS, Tensor, Symbol)):
            return None

        def part(alpha: Alpha) -> Part:
            if not any(alpha):
                return cast(Part, other)
            if isinstance(other, Tensor | Symbol) and other.ndim:
                raise DerivativeError(
                    "a partial is read of an expression that holds a plain tensor, which has "
                    "none: build the expression from coordinates, fields and numbers, not from "
                    ".value, stored tensors or torch.where of two numbers"
                )
            return None

        return self.with_parts(part)

    def __add__(self, other: Any) -> Any:
        b = self.lift(other)
        if b is None:
            return NotImplemented
        return self.with_parts(lambda k: _plus(self.part(k), b.part(k)))

    def _scaled(self, factor: float) -> "Algebra":
        return self.with_parts(lambda k: _times(self.part(k), factor))

    def __neg__(self) -> "Algebra":
        return self._scaled(-1.0)

    def __pos__(self) -> "Algebra":
        return self

    def __abs__(self) -> "Algebra":
        return self.apply(FUNCTIONS["abs"])

    def __sub__(self, other: Any) -> Any:
        b = self.lift(other)
        if b is None:
            return NotImplemented
        return self.with_parts(lambda k: _minus(self.part(k), b.part(k)))

    def __rsub__(self, other: Any) -> Any:
        b = self.lift(other)
        return NotImplemented if b is None else b - self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, NUMBERS):
            return self._scaled(float(other))
        b = self.lift(other)
        if b is None:
            return NotImplemented

        def part(alpha: Alpha) -> Part:
            if not any(alpha):
                return _times(self.part(alpha), b.part(alpha))
            total: Part = None
            for coefficient, left, right in leibniz(alpha):
                term = _times(self.part(left), b.part(right))
                total = _plus(total, _times(coefficient, term))
            return total

        return self.with_parts(part)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, NUMBERS):
            return self._scaled(1.0 / float(other) if other else math.inf)
        b = self.lift(other)
        return NotImplemented if b is None else self * b.apply(FUNCTIONS["reciprocal"])

    def __rtruediv__(self, other: Any) -> Any:
        b = self.lift(other)
        return NotImplemented if b is None else b / self

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, NUMBERS):
            return self.apply(power_of(float(exponent)))
        if isinstance(exponent, Tensor) and exponent.ndim == 0:
            return self.apply(power_of(exponent))  # of negative numbers, too
        b = self.lift(exponent)
        return (
            NotImplemented
            if b is None
            else (b * self.apply(FUNCTIONS["log"])).apply(FUNCTIONS["exp"])
        )

    def __rpow__(self, base: Any) -> Any:
        b = self.lift(base)
        return (
            NotImplemented
            if b is None
            else (self * b.apply(FUNCTIONS["log"])).apply(FUNCTIONS["exp"])
        )

    def __mod__(self, other: Any) -> Any:
        b = self.lift(other)
        return NotImplemented if b is None else self - b * (self // b)

    def __rmod__(self, other: Any) -> Any:
        b = self.lift(other)
        return NotImplemented if b is None else b % self

    def __floordiv__(self, other: Any) -> Any:
        b = self.lift(other)
        if b is None:
            return NotImplemented
        # by a division, since 49 * (1 / 49) is less than 1
        return self.with_parts(lambda k: None if any(k) else torch.floor(self.value / b.value))

    def __rfloordiv__(self, other: Any) -> Any:
        b = self.lift(other)
        return NotImplemented if b is None else b // self

    def __bool__(self) -> bool:
        raise DerivativeError(
            "a field or coordinate has many values, so `if`, `and`, `or` and `not` cannot ask for "
            "one: write torch.where(condition, a, b)"
        )

    # comparisons see plain values: they have no derivative
    def __lt__(self, other: Any) -> Tensor:
        return self.value < plain(other)

    def __le__(self, other: Any) -> Tensor:
        return self.value <= plain(other)

    def __gt__(self, other: Any) -> Tensor:
        return self.value > plain(other)

    def __ge__(self, other: Any) -> Tensor:
        return self.value >= plain(other)

    def __eq__(self, other: object) -> Any:
        return self.value == plain(other)

    def __ne__(self, other: object) -> Any:
        return self.value != plain(other)

    __hash__ = object.__hash__


def plain(value: Any) -> Any:
    """The same structure with plain tensors in the place of quantities."""
    if isinstance(value, Algebra):
        return value.value
    if isinstance(value, tuple | list):
        return type(value)(plain(item) for item in value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def _times(a: Part, b: Part) -> Part:
    if a is None or b is None:
        return None
    if isinstance(a, float) and a == 1.0:
        return b
    return a if isinstance(b, float) and b == 1.0 else a * b


def _plus(a: Part, b: Part) -> Part:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _minus(a: Part, b: Part) -> Part:
    if b is None:
        return a
    return -b if a is None else a - b
