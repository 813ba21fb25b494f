"""The table of operations on columns of numbers: what each is in torch and in C, and its slopes.

An entry is all that a function needs: jets take partials of every order from its derivatives or
slopes, symbols follow it by its names, and the interpreter of programs is written from it.
"""

# ruff: noqa: ARG005 - a slope is a function of all operands and the result

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from pinnsig.derivatives import functions as rules
from pinnsig.derivatives.functions import Outer, by_own_slope, by_power, piecewise, power_of

Slope = Callable[..., Any]


@dataclass(frozen=True)
class Operation:
    """A function of columns and numbers, elementwise.

    Derivatives are written with torch's functions and arithmetic: tensors, jets and symbols pass
    through them, and what prints them as C.

    Attributes:
        name: as torch has it.
        value: in C, of the operands x, y and w; "" where programs have no such operation.
        operands: for each, "c" for a column or "n" for a number.
        slopes: in each operand, of all operands and the result; None where no gradient flows.
        derivatives: of a function of one column, of every order, in the place of slopes.
        aliases: its other names in torch.
        masks: whether a slope of 0 lets nothing through, not even an infinite cotangent.
    """

    name: str
    value: str
    operands: str
    slopes: tuple[Slope | None, ...] = ()
    derivatives: Outer | None = None
    aliases: tuple[str, ...] = ()
    masks: bool = False


def _one(name: str, derivatives: Outer, *aliases: str, value: str | None = None) -> Operation:
    """A function of one column; in C's library, if nothing else is said."""
    value = f"F({name})(x)" if value is None else value
    return Operation(name, value, "c", derivatives=derivatives, aliases=aliases)


def _two(name: str, value: str, by_x: Slope | None, by_y: Slope | None, *aliases: str) -> Operation:
    return Operation(name, value, "cc", (by_x, by_y), aliases=aliases)


def _choice(name: str, value: str, by_x: Slope, by_y: Slope, alias: str) -> Operation:
    return Operation(name, value, "cc", (by_x, by_y), aliases=(alias,), masks=True)


def _with_number(name: str, value: str, by_x: Slope, by_number: Slope | None) -> Operation:
    return Operation(f"{name}_number", value, "cn", (by_x, by_number))


def _same(*_: Any) -> float:
    return 1.0


def _below_one(x: Any) -> Any:
    return (1 - x) * (1 + x)


def _above(x: Any, y: Any, _: Any) -> Any:
    return 0.5 * ((x > y) + (x >= y))  # where both are equal, torch gives a half to each


def _below(x: Any, y: Any, _: Any) -> Any:
    return 0.5 * ((x < y) + (x <= y))


OPERATIONS = (
    # arithmetic
    Operation("number", "x", "n", (_same,)),
    _with_number("add", "x + y", _same, _same),
    _with_number("mul", "x * y", lambda x, y, z: y, lambda x, y, z: x),
    _with_number("pow", "F(pow)(x, y)", lambda x, y, z: y * x ** (y - 1), None),
    _two("add", "x + y", _same, _same),
    _two("sub", "x - y", _same, lambda *_: -1.0),
    _two("mul", "x * y", lambda x, y, z: y, lambda x, y, z: x),
    _two("div", "x / y", lambda x, y, z: 1 / y, lambda x, y, z: -z / y),
    # of two columns
    _two(
        "pow",
        "F(pow)(x, y)",
        lambda x, y, z: y * x ** (y - 1),
        lambda x, y, z: z * torch.where(abs(x) > 0, torch.log(x), 0.0),  # no slope at 0
    ),
    _two("hypot", "F(hypot)(x, y)", lambda x, y, z: x / z, lambda x, y, z: y / z),
    _two(
        "atan2",
        "F(atan2)(x, y)",
        lambda x, y, z: y / (x * x + y * y),
        lambda x, y, z: -x / (x * x + y * y),
        "arctan2",
    ),
    _two(
        "logaddexp",
        "(x > y ? x : y) + F(log1p)(F(exp)(-size_of(x - y)))",
        lambda x, y, z: torch.sigmoid(x - y),
        lambda x, y, z: torch.sigmoid(y - x),
    ),
    # choices; the sum hands on what is not a number
    _two("gt", "x > y", None, None, "greater"),
    _two("ge", "x >= y", None, None, "greater_equal"),
    _two("lt", "x < y", None, None, "less"),
    _two("le", "x <= y", None, None, "less_equal"),
    _choice("maximum", "x >= y ? x : (x < y ? y : x + y)", _above, _below, "max"),
    _choice("minimum", "x <= y ? x : (x > y ? y : x + y)", _below, _above, "min"),
    Operation(
        "where",
        "x != 0 ? y : w",
        "ccc",
        (
            None,
            lambda x, y, w, z: torch.where(x, 1.0, 0.0),
            lambda x, y, w, z: torch.where(x, 0.0, 1.0),
        ),
        masks=True,
    ),
    Operation("detach", "x", "c", (None,)),
    # in pieces
    _one("abs", piecewise(torch.abs, torch.sign, torch.zeros_like), "absolute", value="size_of(x)"),
    _one("sign", piecewise(torch.sign, torch.zeros_like), "sgn", value="(x > 0) - (x < 0)"),
    Operation(
        "relu",
        "x < 0 ? 0 : x",
        "c",
        derivatives=piecewise(torch.relu, lambda x: torch.sign(torch.relu(x)), torch.zeros_like),
        masks=True,
    ),
    _one(
        "neg",
        piecewise(lambda x: -x, lambda x: -torch.ones_like(x), torch.zeros_like),
        "negative",
        value="-x",
    ),
    _one("floor", piecewise(torch.floor, torch.zeros_like)),
    _one("ceil", piecewise(torch.ceil, torch.zeros_like)),
    _one("trunc", piecewise(torch.trunc, torch.zeros_like), "fix"),
    _one("round", piecewise(torch.round, torch.zeros_like), value="F(rint)(x)"),
    # powers
    _one("sqrt", power_of(0.5)),
    _one("rsqrt", power_of(-0.5), value="1 / F(sqrt)(x)"),
    _one("square", power_of(2), value="x * x"),
    _one("reciprocal", power_of(-1), value="1 / x"),
    # exponentials and logarithms
    _one("exp", rules.exp),
    _one("exp2", lambda x, n: math.log(2) ** n * torch.exp2(x), "special_exp2"),
    _one("expm1", lambda x, n: torch.exp(x) if n else torch.expm1(x), "special_expm1"),
    _one("log", rules.log),
    _one("log2", rules.logarithm(torch.log2, 2.0)),
    _one("log10", rules.logarithm(torch.log10, 10.0)),
    _one("log1p", lambda x, n: rules.log(1 + x, n) if n else torch.log1p(x), "special_log1p"),
    _one("sigmoid", rules.sigmoid, "expit", "special_expit", value="1 / (1 + F(exp)(-x))"),
    _one(
        "softplus",
        rules.softplus,
        value="(x > 0 ? x : 0) + F(log1p)(F(exp)(-size_of(x)))",
    ),
    # of an angle, and their inverses
    _one("sin", rules.sin),
    _one("cos", lambda x, n: rules.sin(x, n + 1)),
    _one("tan", by_own_slope(torch.tan, (1.0, 0.0, 1.0))),
    _one("asin", by_power(torch.asin, _below_one, (1.0, 0.0, -1.0), 0.5), "arcsin"),
    _one("acos", by_power(torch.acos, _below_one, (1.0, 0.0, -1.0), 0.5, -1.0), "arccos"),
    _one("atan", by_power(torch.atan, lambda x: 1 + x * x, (1.0, 0.0, 1.0), 1.0), "arctan"),
    # hyperbolic, and their inverses
    _one("sinh", lambda x, n: (torch.sinh, torch.cosh)[n % 2](x)),
    _one("cosh", lambda x, n: (torch.cosh, torch.sinh)[n % 2](x)),
    _one("tanh", by_own_slope(torch.tanh, (1.0, 0.0, -1.0)), value="tanh_at(x)"),
    _one("asinh", by_power(torch.asinh, lambda x: 1 + x * x, (1.0, 0.0, 1.0), 0.5), "arcsinh"),
    _one(
        "acosh",
        by_power(torch.acosh, lambda x: (x - 1) * (x + 1), (-1.0, 0.0, 1.0), 0.5),
        "arccosh",
    ),
    _one("atanh", by_power(torch.atanh, _below_one, (1.0, 0.0, -1.0), 1.0), "arctanh"),
    # others; C's library has no erfinv and digamma
    _one("erf", rules.erf, "special_erf"),
    _one("erfc", rules.erfc, "special_erfc"),
    _one("erfinv", rules.erfinv, "special_erfinv", value=""),
    _one(
        "sinc",
        rules.sinc,
        "special_sinc",
        value=f"x == 0 ? 1 : F(sin)((T){math.pi!r} * x) / ((T){math.pi!r} * x)",
    ),
    _one(
        "lgamma",
        lambda x, n: rules.polygamma(x, n - 1) if n else torch.lgamma(x),
        "special_gammaln",
        value="",
    ),
    _one("digamma", rules.polygamma, "special_digamma", "special_psi", value=""),
)

NAMED = {name: found for found in OPERATIONS for name in (found.name, *found.aliases)}
"""Operations by all that torch calls them; those with numbers as, say, `add_number`."""

FUNCTIONS: dict[str, Outer] = {
    name: found.derivatives for name, found in NAMED.items() if found.derivatives is not None
}
"""Functions of one column, by all names, with derivatives of every order."""
