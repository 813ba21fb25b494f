"""Symbols: stand-ins for columns of partials that write down what is computed with them.

A problem's own code runs with symbols as it would with tensors, every time anew, so that whatever
it decides in Python is honoured; the arithmetic on its points is then done in one go, both ways
(`compiled.programs`). What a symbol cannot follow raises `UntraceableError`, and the code runs once
more with tensors.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

UNARY = ("sqrt", "exp", "log", "sin", "cos", "tanh", "sinh", "cosh", "erf", "erfc", "abs", "sign",
         "reciprocal", "tan", "asin", "acos", "atan", "asinh", "acosh", "atanh", "exp2", "expm1",
         "log2", "log10", "log1p", "sigmoid", "softplus", "relu")  # fmt: skip
OPERATIONS = ("leaf", "column", "add", "sub", "mul", "div", "add_number", "mul_number",
              "pow_number", *UNARY)  # fmt: skip
"""What a step of a program may do; the first two read, those after them compute."""

NUMBERS = (int, float, np.integer, np.floating)
CODE = {name: code for code, name in enumerate(OPERATIONS)}
Step = tuple[int, int, int]
"""Code of the operation and two operands: numbers of earlier steps, or of what is read."""


class UntraceableError(Exception):
    """Something is asked of a symbol that only values can answer."""


class Trace:
    """The steps of a program while they are written down.

    Args:
        like: a tensor of shape (N,) that sets shape, dtype and device of all columns.

    Attributes:
        steps: each one's value is a column of N numbers.
        numbers: constants of the program.
        columns: tensors of shape (N,) that it reads.
        differentiable: which number is which tensor of shape () that gradients flow into.
    """

    def __init__(self, like: Tensor) -> None:
        self.like = like
        self.with_gradient = torch.is_grad_enabled()
        self.steps: list[Step] = []
        self.numbers: list[float] = []
        self.columns: list[Tensor] = []
        self.differentiable: dict[int, Tensor] = {}
        self._places: dict[Step, int] = {}
        self._given: list[Tensor] = []  # the columns as the code has them
        self._versions: list[int] = []

    def leaf(self, k: int, output: int) -> "Symbol":
        """Partial k of a network output."""
        return self.add("leaf", k, output)

    def add(self, name: str, a: int, b: int = 0) -> "Symbol":
        """Write a step down, unless it stands there already."""
        if torch.is_grad_enabled() is not self.with_gradient:
            raise UntraceableError("gradients that are switched on or off")
        step = (CODE[name], a, b)
        place = self._places.get(step)
        if place is None:
            place = self._places[step] = len(self.steps)
            self.steps.append(step)
        return Symbol(self, place)

    def number(self, value: Any) -> int | None:
        """The place of a number, or None if it is none."""
        if isinstance(value, NUMBERS):
            self.numbers.append(float(value))
        elif isinstance(value, Tensor) and value.ndim == 0 and value.is_floating_point():
            self.numbers.append(float(value.detach()))
            if value.requires_grad and self.with_gradient:
                self.differentiable[len(self.numbers) - 1] = value
        else:
            return None
        return len(self.numbers) - 1

    def column(self, value: Any) -> int:
        """The step that reads a column, or that a symbol stands for."""
        if isinstance(value, Symbol) and value.trace is self:
            return value.place
        like = self.like
        if (
            not isinstance(value, Tensor)
            or value.shape != like.shape
            or value.device != like.device
            or torch.promote_types(value.dtype, like.dtype) != like.dtype
        ):
            raise UntraceableError(f"an operand of type {type(value).__name__}")
        for place, known in enumerate(self._given):
            if known is value:
                return self.add("column", place).place
        self.columns.append(value.to(like.dtype))
        self._given.append(value)
        self._versions.append(value._version)
        return self.add("column", len(self.columns) - 1).place

    def close(self, results: Sequence[Any]) -> list[int]:
        """The steps of the results, once everything is written down."""
        places = [self.column(result) for result in results]
        if any(c._version != v for c, v in zip(self._given, self._versions, strict=True)):
            raise UntraceableError("a change in place")
        return places


class Symbol:
    """The value of a step: what a tensor of shape (N,) would be, without its numbers."""

    __slots__ = ("place", "trace")
    ndim = 1
    requires_grad = True
    __array_ufunc__ = None  # numpy's numbers leave the arithmetic to it

    def __init__(self, trace: Trace, place: int) -> None:
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

    def _with(self, name: str, other: Any) -> "Symbol":
        number = self.trace.number(other)
        if number is not None:
            return self.trace.add(f"{name}_number", self.place, number)
        return self.trace.add(name, self.place, self.trace.column(other))

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

    def __sub__(self, other: Any) -> "Symbol":
        if _is_number(other):
            return self + -other
        return self.trace.add("sub", self.place, self.trace.column(other))

    def __rsub__(self, other: Any) -> "Symbol":
        if _is_number(other):
            return -self + other
        return self.trace.add("sub", self.trace.column(other), self.place)

    def __truediv__(self, other: Any) -> "Symbol":
        if isinstance(other, Tensor) and other.ndim == 0:
            return self * other.reciprocal()
        if _is_number(other):
            return self * (1.0 / other if other else math.inf)
        return self.trace.add("div", self.place, self.trace.column(other))

    def __rtruediv__(self, other: Any) -> "Symbol":
        if _is_number(other):
            return self.apply("reciprocal") * other
        return self.trace.add("div", self.trace.column(other), self.place)

    def __pow__(self, exponent: Any) -> "Symbol | float":
        if not isinstance(exponent, NUMBERS):
            raise UntraceableError("an exponent that is no number")
        if exponent == 0:
            return 1.0  # with no slope, not even at 0
        if exponent in (1, 2, 3):
            return (self, self * self, self * self * self)[int(float(exponent)) - 1]
        if exponent in (0.5, -1):
            return self.apply("sqrt" if exponent > 0 else "reciprocal")
        number = self.trace.number(exponent)
        assert number is not None
        return self.trace.add("pow_number", self.place, number)

    def apply(self, name: str) -> "Symbol":
        """One of the functions in `UNARY` of it."""
        return self.trace.add(name, self.place)

    def __abs__(self) -> "Symbol":
        return self.apply("abs")

    def _refuse(self, *_: Any) -> Any:
        raise UntraceableError("a comparison or another use of values")

    # without these, Python would find answers of its own
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = _refuse
    __iter__ = __getitem__ = __contains__ = __rpow__ = _refuse
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name in UNARY:
            return lambda: self.apply(name)
        if name == "square":
            return lambda: self * self
        raise UntraceableError(f"attribute {name!r}")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Torch's functions of symbols: those that a program can do."""
        name = getattr(func, "__name__", "").strip("_")
        rule = None if kwargs else _RULES.get((name, len(args)))
        if rule is None:
            raise UntraceableError(f"the function {name!r}")
        return rule(*args)


def _is_number(value: Any) -> bool:
    return isinstance(value, NUMBERS) or (isinstance(value, Tensor) and value.ndim == 0)


def _reflected(method: str, mirrored: str) -> Callable[[Any, Any], Any]:
    def rule(a: Any, b: Any) -> Any:
        return getattr(a, method)(b) if isinstance(a, Symbol) else getattr(b, mirrored)(a)

    return rule


def _softplus(x: Any, beta: float, *_: Any) -> Any:
    if beta != 1:
        raise UntraceableError("softplus with a factor")
    return x.apply("softplus")


_RULES: dict[tuple[str, int], Callable[..., Any]] = {
    **{(name, 1): lambda x, name=name: x.apply(name) for name in UNARY},
    ("neg", 1): lambda x: -x,
    ("negative", 1): lambda x: -x,
    ("square", 1): lambda x: x * x,
    **{("softplus", n): _softplus for n in (2, 3)},
    ("zeros_like", 1): lambda _: 0.0,
    ("ones_like", 1): lambda _: 1.0,
    **{(name, 2): _reflected("__add__", "__radd__") for name in ("add", "radd")},
    **{(name, 2): _reflected("__sub__", "__rsub__") for name in ("sub", "subtract")},
    ("rsub", 2): lambda a, b: b - a,
    **{(name, 2): _reflected("__mul__", "__rmul__") for name in ("mul", "multiply", "rmul")},
    **{
        (name, 2): _reflected("__truediv__", "__rtruediv__")
        for name in ("div", "divide", "true_divide", "truediv")
    },
    **{(name, 2): lambda a, b: b / a for name in ("rdiv", "rtruediv")},
    ("pow", 2): _reflected("__pow__", "__rpow__"),
}
