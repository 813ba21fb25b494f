"""Expressions in x that an activation's rules are made of, from which code is printed.

Equal expressions are one object, so that what several derivatives share is computed once. Nothing
is reordered: products and sums are printed as the rules have them, for the rules are written so
that no factor overflows, and none underflows before the result does.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

FLOAT32_LARGEST = (2 - 2.0**-23) * 2.0**127


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Expr:
    """An operation on expressions; `+ - * /` and the functions of this module make them.

    Attributes:
        op: `x`, `const`, `factor`, or what is done with the arguments.
        args: the arguments.
        value: a constant's value, a power's exponent, the bounds of `clamp`, a factor's slot and
            power; else None.
    """

    op: str
    args: tuple[Expr, ...] = ()
    value: Any = None

    def __add__(self, other: Expr | float) -> Expr:
        return _fold("add", self, other)

    def __radd__(self, other: float) -> Expr:
        return _fold("add", const(other), self)

    def __sub__(self, other: Expr | float) -> Expr:
        return _fold("sub", self, other)

    def __rsub__(self, other: float) -> Expr:
        return _fold("sub", const(other), self)

    def __mul__(self, other: Expr | float) -> Expr:
        return _fold("mul", self, other)

    def __rmul__(self, other: float) -> Expr:
        return _fold("mul", const(other), self)

    def __truediv__(self, other: Expr) -> Expr:
        return make("div", self, other)

    def __rtruediv__(self, other: float) -> Expr:
        return make("div", const(other), self)

    def __neg__(self) -> Expr:
        return const(-self.value) if self.op == "const" else make("neg", self)

    def __abs__(self) -> Expr:
        return make("abs", self)


_made: WeakValueDictionary[Any, Expr] = WeakValueDictionary()
_making = Lock()


def make(op: str, *args: Expr, value: Any = None) -> Expr:
    """Return the expression, the same object wherever it is the same."""
    with _making:
        return _made.setdefault((op, args, value), Expr(op, args, value))


def const(value: float) -> Expr:
    """Return a number; printed, one beyond a type's range is the largest of its sign."""
    return make("const", value=float(value))


def factor(slot: int, power: int) -> Expr:
    """Return a power of the factor that the members of a joined activation differ in."""
    return make("factor", value=(slot, power))


_ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def _fold(op: str, left: Expr | float, right: Expr | float) -> Expr:
    a, b = (e if isinstance(e, Expr) else const(e) for e in (left, right))
    neutral = 1.0 if op == "mul" else 0.0
    if a.op == b.op == "const":
        return const(_ARITHMETIC[op](a.value, b.value))
    if b.op == "const" and b.value == neutral:
        return a
    if op != "sub" and a.op == "const" and a.value == neutral:
        return b
    return make(op, a, b)


X = make("x")
"""The argument."""


def _function(op: str, note: str = "") -> Callable[[Expr], Expr]:
    def function(a: Expr) -> Expr:
        return make(op, a)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"Return {op}(a){note and f', {note}'}."
    return function


exp = _function("exp", "for a <= 0")
tanh = _function("tanh")
tanh_decay = _function("tanh_decay", "exp(-2 abs(a)), a by-product of tanh(a) in C")
tanh_inverse = _function("tanh_inverse", "1 / (1 + exp(-2 abs(a))), likewise")
arctan = _function("arctan")
erf = _function("erf")
normal_cdf = _function("normal_cdf", "that of N(0, 1), for a >= -40")
sin = _function("sin")
cos = _function("cos")
log1p = _function("log1p", "for a in [0, 1]")
sign = _function("sign", "0 at 0")


def clamp(a: Expr, low: float | None = -math.inf, high: float | None = math.inf) -> Expr:
    """Return a between bounds, None for no bound; infinite ones are the type's largest number."""
    return a if a.op == "const" else make("clamp", a, value=(low, high))


def power(a: Expr, exponent: float) -> Expr:
    """Return a^exponent for a in [0, 1]."""
    if exponent == 0:
        return const(1.0)
    return a if exponent == 1 else make("power", a, value=float(exponent))


def root(a: Expr, k: float) -> Expr:
    """Return a^(-1/k) for a in [1, 2] and k >= 1."""
    if k > 2 or 1 < k < 2:
        return make("root", a, value=float(k))
    return 1 / a if k == 1 else make("sqrt", 1 / a)


def where_negative(a: Expr, then: Expr, other: Expr) -> Expr:
    """Return `then` where a < 0, else `other`."""
    return then if then is other else make("where_negative", a, then, other)


def zero_at_zero(a: Expr, value: Expr) -> Expr:
    """Return 0 where a = 0, else the value."""
    return make("zero_at_zero", a, value)


def times(c: float, a: Expr, bounded: bool = False) -> Expr:
    """Return c a, kept finite where it has to be or where c is beyond float32.

    An infinite factor would turn the zeros of a derivative into NaN.
    """
    product = c * a
    return clamp(product) if bounded or c > FLOAT32_LARGEST else product


def schedule(outputs: Iterable[Expr]) -> list[Expr]:
    """Return what the outputs are made of, arguments first."""
    found: dict[Expr, None] = {}
    # not recursive: sums may have very many terms
    stack = [(e, False) for e in reversed(list(outputs))]
    while stack:
        e, done = stack.pop()
        if done:
            found[e] = None
        elif e not in found:
            stack.append((e, True))
            stack.extend((a, False) for a in reversed(e.args))
    return list(found)


def uses(outputs: Sequence[Expr]) -> Counter[Expr]:
    """Return how often each expression is an argument or an output."""
    counts = Counter(outputs)
    for e in schedule(outputs):
        counts.update(e.args)
    return counts


def rewrite(outputs: Sequence[Expr], rules: Mapping[str, Callable[..., Expr]]) -> list[Expr]:
    """Return the outputs with operations replaced by what `rules` make of their arguments."""
    new: dict[Expr, Expr] = {}
    for e in schedule(outputs):
        args = tuple(new[a] for a in e.args)
        new[e] = rules[e.op](*args) if e.op in rules else make(e.op, *args, value=e.value)
    return [new[e] for e in outputs]


BY_PRODUCTS: dict[str, Callable[..., Expr]] = {
    "tanh_decay": lambda a: exp(abs(a) * -2.0),
    "tanh_inverse": lambda a: 1.0 / (exp(abs(a) * -2.0) + 1.0),
}
"""What tanh's by-products are, where they are none."""
