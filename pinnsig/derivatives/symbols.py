"""Symbols: stand-ins for columns of partials that write down what is computed with them.

A problem's own code runs with symbols as it would with tensors, every time anew, so that whatever
it decides in Python is honoured; the arithmetic on its points is then done in one go, both ways
(`compiled.programs`). What a symbol cannot follow raises `UntraceableError`, and the code runs once
more with tensors.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from pinnsig.derivatives.operations import NAMED, Operation
from pinnsig.derivatives.steps import NUMBERS, Steps, UntraceableError

COMPARISONS = ("gt", "ge", "lt", "le")


class Trace(Steps):
    """The steps of a program, written down by the symbols that it gives."""

    def leaf(self, k: int, output: int) -> "Symbol":
        """Partial k of a network output."""
        return Symbol(self, self.add("leaf", k, output))


class Symbol:
    """The value of a step: what a tensor of shape (N,) would be, without its numbers."""

    __slots__ = ("place", "trace")
    ndim = 1
    requires_grad = True
    __array_ufunc__ = None  # numpy's numbers leave the arithmetic to it

    def __init__(self, trace: Steps, place: int) -> None:
        self.trace, self.place = trace, place

    @property
    def shape(self) -> torch.Size:
        """(N,)."""
        return self.trace.like.shape

    @property
    def dtype(self) -> torch.dtype:
        """The columns' type."""
        return self.trace.like.dtype

    @property
    def device(self) -> torch.device:
        """The columns' device."""
        return self.trace.like.device

    def __len__(self) -> int:
        return self.trace.like.shape[0]

    def apply(self, name: str, *operands: int) -> "Symbol":
        """An operation of it and, by their places, of others."""
        return Symbol(self.trace, self.trace.add(name, self.place, *operands))

    def _with(self, name: str, other: Any) -> "Symbol":
        if isinstance(other, Symbol):
            return self.apply(name, self.trace.column(other))
        number = self.trace.number(other)
        if number is not None:
            return self.apply(f"{name}_number", number)
        return self.apply(name, self.trace.column(other))

    def __add__(self, other: Any) -> "Symbol":
        return self._with("add", other)

    def __mul__(self, other: Any) -> "Symbol":
        return self._with("mul", other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> "Symbol":
        return self * -1.0

    def __pos__(self) -> "Symbol":
        return self

    def __abs__(self) -> "Symbol":
        return self.apply("abs")

    def __sub__(self, other: Any) -> "Symbol":
        if _is_number(other):
            return self + -other
        return self.apply("sub", self.trace.column(other))

    def __rsub__(self, other: Any) -> "Symbol":
        if _is_number(other):
            return -self + other
        return follow(NAMED["sub"], other, self)

    def __truediv__(self, other: Any) -> "Symbol":
        if isinstance(other, Tensor) and other.ndim == 0:
            return self * other.reciprocal()
        if _is_number(other):
            return self * (1.0 / other if other else math.inf)
        return self.apply("div", self.trace.column(other))

    def __rtruediv__(self, other: Any) -> "Symbol":
        if _is_number(other):
            return self.apply("reciprocal") * other
        return follow(NAMED["div"], other, self)

    def __pow__(self, exponent: Any) -> "Symbol | float":
        if isinstance(exponent, Tensor) and exponent.ndim == 0:
            return follow(NAMED["pow"], self, exponent)
        if not isinstance(exponent, NUMBERS):
            raise UntraceableError("an exponent that is no number")
        if exponent == 0:
            return 1.0  # with no slope, not even at 0
        if exponent in (1, 2, 3):
            return (self, self * self, self * self * self)[int(float(exponent)) - 1]
        if exponent in _ROOTS:
            return self.apply(_ROOTS[exponent])
        number = self.trace.number(exponent)
        assert number is not None
        return self.apply("pow_number", number)

    def __gt__(self, other: Any) -> "Mask":
        return Mask(follow(NAMED["gt"], self, other))

    def __ge__(self, other: Any) -> "Mask":
        return Mask(follow(NAMED["ge"], self, other))

    def __lt__(self, other: Any) -> "Mask":
        return Mask(follow(NAMED["lt"], self, other))

    def __le__(self, other: Any) -> "Mask":
        return Mask(follow(NAMED["le"], self, other))

    def _refuse(self, *_: Any) -> Any:
        raise UntraceableError("a comparison or another use of values")

    # without these, Python would find answers of its own
    __eq__ = __ne__ = __bool__ = __float__ = _refuse
    __iter__ = __getitem__ = __contains__ = __rpow__ = _refuse
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        rule = find_rule(name)
        if rule is None:
            raise UntraceableError(f"attribute {name!r}")
        return partial(rule, self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Torch's functions of symbols: those that a program can do."""
        if len(types) > 1 and not all(issubclass(t, (Symbol, Mask, Tensor)) for t in types):
            return NotImplemented  # a jet takes symbols, too
        name = getattr(func, "__name__", "").strip("_")
        rule = None if kwargs else find_rule(name)
        if rule is None:
            raise UntraceableError(f"the function {name!r}" + " with keywords" * bool(kwargs))
        return rule(*args)


class Mask:
    """Where a comparison of symbols holds; for `torch.where` alone, and for other masks."""

    __slots__ = ("symbol",)
    __array_ufunc__ = None

    def __init__(self, symbol: Symbol) -> None:
        self.symbol = symbol

    def _refuse(self, *_: Any) -> Any:
        raise UntraceableError("a use of a comparison other than torch.where")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = _refuse
    __iter__ = __getitem__ = __contains__ = __len__ = _refuse
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        raise UntraceableError(f"attribute {name!r} of a comparison")

    __torch_function__ = Symbol.__torch_function__


def follow(operation: Operation, *operands: Any) -> Symbol:
    """Write an operation down; at least one of the operands is a symbol or a mask."""
    if len(operands) != len(operation.operands):
        raise UntraceableError(f"the function {operation.name!r} of {len(operands)} arguments")
    given = [value.symbol if isinstance(value, Mask) else value for value in operands]
    trace = next(value.trace for value in given if isinstance(value, Symbol))
    return Symbol(trace, trace.add(operation.name, *map(trace.operand, given)))


def _is_number(value: Any) -> bool:
    return isinstance(value, NUMBERS) or (isinstance(value, Tensor) and value.ndim == 0)


@cache
def find_rule(name: str) -> Callable[..., Any] | None:
    """What a function of torch's does with symbols; None where they cannot follow it."""
    rule, operation = _RULES.get(name), NAMED.get(name)
    if rule is not None:
        return rule
    if operation is None or not operation.value or "n" in operation.operands:
        return None
    if operation.operands == "c":
        return lambda x: x.apply(operation.name)
    if operation.name in COMPARISONS:
        return lambda a, b: Mask(follow(operation, a, b))
    return partial(follow, operation)


def _reflected(method: str, mirrored: str) -> Callable[[Any, Any], Any]:
    def rule(a: Any, b: Any) -> Any:
        return getattr(a, method)(b) if isinstance(a, Symbol) else getattr(b, mirrored)(a)

    return rule


def _softplus(x: Any, beta: float = 1, *_: Any) -> Any:
    if beta != 1:
        raise UntraceableError("softplus with a factor")
    return follow(NAMED["softplus"], x)


_ROOTS = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}

_RULES: dict[str, Callable[..., Any]] = {
    "neg": lambda x: -x,
    "negative": lambda x: -x,
    "softplus": _softplus,
    "zeros_like": lambda _: 0.0,
    "ones_like": lambda _: 1.0,
    **dict.fromkeys(("add", "radd"), _reflected("__add__", "__radd__")),
    **dict.fromkeys(("sub", "subtract"), _reflected("__sub__", "__rsub__")),
    "rsub": lambda a, b: b - a,
    **dict.fromkeys(("mul", "multiply", "rmul"), _reflected("__mul__", "__rmul__")),
    **dict.fromkeys(
        ("div", "divide", "true_divide", "truediv"), _reflected("__truediv__", "__rtruediv__")
    ),
    **dict.fromkeys(("rdiv", "rtruediv"), lambda a, b: b / a),
    "pow": _reflected("__pow__", "__rpow__"),
}
"""Arithmetic, which Python's operators do, too, and what is none of the table's operations."""
