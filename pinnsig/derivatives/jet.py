"""`Jet`: a quantity over the points that knows its partial derivatives.

Fields, coordinates and everything computed from them are jets. A partial is worked out when it is
read, from the partials of what the jet was made of, by Leibniz's and Faa di Bruno's formulas; so
nothing is computed that is not used, and reading partials of a recording leaf tells which ones a
residual needs. Wherever a tensor of shape (N,) will do, a jet will do.
"""

import math
from collections.abc import Callable
from operator import add
from typing import Any, cast

import torch
from torch import Tensor

from pinnsig.core.errors import DerivativeError
from pinnsig.core.names import Alpha, parse_partial
from pinnsig.derivatives.calls import TorchFunctions, plain
from pinnsig.derivatives.composition_rule import faa_di_bruno
from pinnsig.derivatives.compositions import COMPOSITIONS
from pinnsig.derivatives.functions import Outer, power_of
from pinnsig.derivatives.operations import FUNCTIONS
from pinnsig.derivatives.product_rule import leibniz
from pinnsig.derivatives.steps import NUMBERS
from pinnsig.derivatives.symbols import Symbol

Part = Tensor | Symbol | float | None
"""A partial: values of shape (N,), or what stands for them, a number, or None for exactly zero."""


class Jet(TorchFunctions):
    """Values of shape (N,) with partial derivatives as attributes: `u.t`, `u.xx`, `u.xt`.

    Arithmetic (+ - * / % **) and the functions in `functions` and `compositions`,
    written `torch.sin(u)` or `u.sin()`, give jets. Any other torch function sees the plain values;
    what it gives has no partials, and says so where one is read.

    Args:
        coordinates: names of the coordinates.
        part: gives the partial of a multi-index.
        like: a tensor of shape (N,) that sets shape, dtype and device.

    Raises:
        DerivativeError: an attribute that is neither a partial nor a tensor's, or a partial of
            something made from plain tensors.
    """

    __slots__ = ("_compute", "_parts", "coordinates", "like")

    def __init__(
        self, coordinates: tuple[str, ...], part: Callable[[Alpha], Part], like: Tensor
    ) -> None:
        self.coordinates = coordinates
        self.like = like
        self._compute = part
        self._parts: dict[Alpha, Part] = {}

    def part(self, alpha: Alpha) -> Part:
        """The partial of a multi-index, in its most compact form."""
        if alpha not in self._parts:
            self._parts[alpha] = self._compute(alpha)
        return self._parts[alpha]

    def tensor(self, alpha: Alpha) -> Tensor:
        """The partial of a multi-index, shape (N,)."""
        part = self.part(alpha)
        if isinstance(part, Tensor | Symbol) and part.ndim:
            return cast(Tensor, part)  # as a symbol behaves
        constant = cast(Tensor | float, 0.0 if part is None else part)
        return torch.zeros_like(self.like) + constant

    @property
    def zero(self) -> Alpha:
        """The multi-index of the value itself."""
        return (0,) * len(self.coordinates)

    @property
    def value(self) -> Tensor:
        """The values, shape (N,)."""
        return self.tensor(self.zero)

    def shifted(self, by: Alpha) -> "Jet":
        """The partial of a multi-index as a jet of its own."""
        return Jet(self.coordinates, lambda alpha: self.part(tuple(map(add, alpha, by))), self.like)

    def with_parts(self, part: Callable[[Alpha], Part]) -> "Jet":
        """Another jet at the same points."""
        return Jet(self.coordinates, part, self.like)

    def detached(self) -> "Jet":
        """The same numbers, through which no gradient flows."""

        def part(alpha: Alpha) -> Part:
            found = self.part(alpha)
            return found.detach() if isinstance(found, Tensor | Symbol) else found

        return self.with_parts(part)

    def __getattr__(self, name: str) -> Any:
        alpha = None if name.startswith("_") else parse_partial(name, self.coordinates)
        if alpha is not None:
            return self.shifted(alpha)
        if name in FUNCTIONS or name in COMPOSITIONS or name == "where":
            return lambda *args, **kwargs: self.call(
                getattr(Tensor, name, None), name, (self, *args), kwargs
            )
        if name.startswith("__"):  # Python and numpy ask what it can do
            raise AttributeError(name)
        if not hasattr(self.like, name):
            raise DerivativeError(
                f"there is no partial {name!r}: the coordinates are {', '.join(self.coordinates)}"
            )
        found = getattr(self.value, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: self.forgetful(name, found(*plain(args), **plain(kwargs)))

    def __repr__(self) -> str:
        return f"Jet({self.value!r})"

    def __len__(self) -> int:
        return len(self.like)

    def __getitem__(self, index: Any) -> Tensor:
        return self.value[index]

    # --- algebra --------------------------------------------------------------------------------

    def apply(self, outer: Outer) -> "Jet":
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

        return Jet(self.coordinates, part, self.like)

    def lift(self, other: Any) -> "Jet | None":
        """Another operand as a jet: numbers are constant, plain tensors have no partials."""
        if isinstance(other, Jet):
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

        return Jet(self.coordinates, part, self.like)

    def __add__(self, other: Any) -> Any:
        b = self.lift(other)
        if b is None:
            return NotImplemented
        return Jet(self.coordinates, lambda k: _plus(self.part(k), b.part(k)), self.like)

    def _scaled(self, factor: float) -> "Jet":
        return Jet(self.coordinates, lambda k: _times(self.part(k), factor), self.like)

    def __neg__(self) -> "Jet":
        return self._scaled(-1.0)

    def __pos__(self) -> "Jet":
        return self

    def __abs__(self) -> "Jet":
        return self.apply(FUNCTIONS["abs"])

    def __sub__(self, other: Any) -> Any:
        b = self.lift(other)
        if b is None:
            return NotImplemented
        return Jet(self.coordinates, lambda k: _minus(self.part(k), b.part(k)), self.like)

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

        return Jet(self.coordinates, part, self.like)

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
        b = self.lift(exponent)
        return NotImplemented if b is None else (b * self.log()).exp()

    def __rpow__(self, base: Any) -> Any:
        b = self.lift(base)
        return NotImplemented if b is None else (self * b.log()).exp()

    def __mod__(self, other: Any) -> Any:
        b = self.lift(other)
        return NotImplemented if b is None else COMPOSITIONS["remainder"](self, b)

    def __rmod__(self, other: Any) -> Any:
        b = self.lift(other)
        return NotImplemented if b is None else b % self

    def __floordiv__(self, other: Any) -> Any:
        b = self.lift(other)
        return NotImplemented if b is None else (self / b).floor()

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
