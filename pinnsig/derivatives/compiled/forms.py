"""Activations in C: their rules, printed."""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from typing import ClassVar

from pinnsig.activations import Activation
from pinnsig.activations.ir import FLOAT32_LARGEST, Expr, X, schedule
from pinnsig.activations.source import SourcePrinter

DEGREES = (10, 22)
"""Of the polynomials for roots in float and double: (3 + sqrt(8))^-n is below their rounding."""


@dataclass(frozen=True)
class NativeForm:
    """Lines of C, and expressions for f and its derivatives at x that use them."""

    lines: list[str]
    derivatives: list[str]


def native_form(activation: Activation) -> NativeForm | None:
    """Return the activation as C; None for a joined one, whose factors are no numbers."""
    rules = activation.rules(X)
    if any(e.op == "factor" for e in schedule(rules)):
        return None
    printer = _CPrinter()
    texts = printer.write(rules)
    return NativeForm(printer.lines, texts)


class _CPrinter(SourcePrinter):
    declaration = "T {} = {};"

    _FORMATS: ClassVar = {
        "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "({} / {})",
        "neg": "(-{})", "abs": "size_of({})", "sqrt": "((T)__builtin_sqrt({}))",
        "exp": "exp_of({})", "arctan": "arctan_of({})", "erf": "erf_of({})",
        "normal_cdf": "cdf_of({})", "log1p": "log1p_of({})", "sign": "sign_of({})",
        "where_negative": "({} < 0 ? {} : {})", "zero_at_zero": "({} == 0 ? 0 : {})",
    }  # fmt: skip
    _TANH: ClassVar = {"tanh": "", "tanh_decay": "e", "tanh_inverse": "r"}
    _SINE: ClassVar = {"sin": "", "cos": "c"}

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[tuple[str, str], str] = {}

    def leaf(self, e: Expr) -> str:
        return "x" if e.op == "x" else _number(e.value)

    def operation(self, e: Expr, args: list[str]) -> str:
        if e.op in self._TANH:
            return self._call("tanh_of", args[0], "er") + self._TANH[e.op]
        if e.op in self._SINE:
            return self._call("sin_of", args[0], "c") + self._SINE[e.op]
        if e.op == "clamp":
            return _clamp(args[0], *e.value)
        if e.op == "power":
            return self._power(args[0], e.value)
        if e.op == "root":
            return self._root(args[0], e.value)
        return self._FORMATS[e.op].format(*args)

    def _call(self, function: str, argument: str, more: str) -> str:
        """The name of a function's result, and with letters after it those of its by-products."""
        if (function, argument) not in self._calls:
            name = f"q{self._count}"
            self._count += 1
            names = "".join(f"{name}{letter}, " for letter in more)
            places = "".join(f", &{name}{letter}" for letter in more)
            self.lines.append(f"T {names}{name} = {function}({argument}{places});")
            self._calls[function, argument] = name
        return self._calls[function, argument]

    def _power(self, base: str, exponent: float) -> str:
        if exponent > 0 and exponent == int(exponent):
            return self.repeated(base, int(exponent))
        # of so few digits that its product with a number's binary exponent is exact
        mantissa, power = math.frexp(exponent)
        high = math.ldexp(round(mantissa * 2**12), power - 12)
        parts = ", ".join(map(_number, (exponent, high, exponent - high)))
        return f"power_of({base}, {parts})"

    def _root(self, p: str, k: float) -> str:
        """p^(-1/k) for 1 <= p <= 2, as a polynomial in 2 p - 3."""
        y = self.name(f"2 * {p} - 3")
        fits = []
        for degree in DEGREES:
            *lower, total = map(_number, fit_root(k, degree))
            for c in reversed(lower):
                total = f"({total} * {y} + {c})"
            fits.append(total)
        return self.name(f"sizeof(T) == 4 ? {fits[0]} : {fits[1]}")


@cache
def fit_root(k: float, degree: int) -> list[float]:
    """Coefficients, lowest first, of a polynomial in y near (1.5 + y/2)^(-1/k) for |y| <= 1.

    It interpolates at Chebyshev's nodes, worked out with 40 digits: in double the change to powers
    of y would cost two digits.
    """
    with localcontext(prec=40):
        nodes = [Decimal(math.cos((i + 0.5) * math.pi / (degree + 1))) for i in range(degree + 1)]
        differences = [(Decimal("1.5") + y / 2) ** (-1 / Decimal(k)) for y in nodes]
        for order in range(1, degree + 1):
            for i in range(degree, order - 1, -1):
                rise = differences[i] - differences[i - 1]
                differences[i] = rise / (nodes[i] - nodes[i - order])
        powers = [Decimal(0)] * (degree + 1)
        for y, c in zip(reversed(nodes), reversed(differences), strict=True):
            shifted = [Decimal(0), *powers[:-1]]
            powers = [up - y * own for up, own in zip(shifted, powers, strict=True)]
            powers[0] += c
        return [float(c) for c in powers]


def _number(value: float) -> str:
    value = float(value)
    if math.isinf(value):
        return "LARGEST" if value > 0 else "(-LARGEST)"
    if abs(value) > FLOAT32_LARGEST:
        size = f"({abs(value)!r} > LARGEST ? LARGEST : (T){abs(value)!r})"
        return size if value > 0 else f"(-{size})"
    return f"(T){value!r}" if value >= 0 else f"((T){value!r})"


def _clamp(a: str, low: float | None, high: float | None) -> str:
    """Comparisons rather than minima, which would hide NaN."""
    text = a if low is None else f"({a} < {_number(low)} ? {_number(low)} : {a})"
    return text if high is None else f"({a} > {_number(high)} ? {_number(high)} : {text})"
