"""Activations in C: derivatives up to order five, as `pinnsig.activations` writes them.

Those modules say why each formula is as it is. A new activation is one entry in `FORMS`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from pinnsig.activations import (
    Activation,
    Arctan,
    Erf,
    Gudermannian,
    Scaled,
    Softsign,
    Stretched,
    Sum,
    Tanh,
)
from pinnsig.activations.base import MAX_ORDER
from pinnsig.activations.softsigns import _polynomials

LARGEST = 1e30
"""Factors beyond this, or below its inverse, are left to torch, which guards against overflow."""


@dataclass(frozen=True)
class NativeForm:
    """Lines of C, and expressions for f and its derivatives at x that use them."""

    lines: list[str]
    derivatives: list[str]


Names = Iterator[int]
Form = Callable[[Any, str, Names], NativeForm]


def native_form(activation: Activation) -> NativeForm | None:
    """The activation as C; None where it, or something in it, has no such form."""
    try:
        return _form(activation, "x", count())
    except LookupError:
        return None


def _form(activation: Activation, x: str, names: Names) -> NativeForm:
    return FORMS[type(activation)](activation, x, names)


def _scaled(f: Scaled, x: str, names: Names) -> NativeForm:
    inner = _form(f.inner, x, names)
    return NativeForm(inner.lines, [_times(f.factor, d) for d in inner.derivatives])


def _stretched(f: Stretched, x: str, names: Names) -> NativeForm:
    y = f"y{next(names)}"
    inner = _form(f.inner, y, names)
    powers = [_times(f.factor**n, d) for n, d in enumerate(inner.derivatives)]
    return NativeForm([f"T {y} = {_times(f.factor, x)};", *inner.lines], powers)


def _sum(f: Sum, x: str, names: Names) -> NativeForm:
    parts = [_form(term, x, names) for term in f.terms]
    sums = zip(*(part.derivatives for part in parts), strict=True)
    lines = [line for part in parts for line in part.lines]
    return NativeForm(lines, [f"({' + '.join(terms)})" for terms in sums])


def _times(factor: float, value: str) -> str:
    if not 1 / LARGEST < factor < LARGEST:
        raise LookupError(f"a factor of {factor}")
    return f"((T){factor!r} * {value})"


def _tanh(f: Tanh, x: str, names: Names) -> NativeForm:
    del f
    i = next(names)
    t, s = f"t{i}", f"s{i}"
    lines = [
        f"T e{i}, r{i}, {t} = tanh_of({x}, &e{i}, &r{i});",
        f"T {s} = 4 * e{i} * r{i} * r{i};",
    ]
    second = f"(-2 * {t} * {s})"
    fourth = f"((4 * {t} * {t} - 8 * {s}) * {second})"
    fifth = f"((16 - 120 * {t} * {t} * {s}) * {s})"
    return NativeForm(lines, [t, s, second, f"((4 - 6 * {s}) * {s})", fourth, fifth])


def _gudermannian(f: Gudermannian, x: str, names: Names) -> NativeForm:
    del f
    i = next(names)
    t, c = f"t{i}", f"c{i}"
    lines = [
        f"T e{i}, r{i}, h{i} = tanh_of((T)0.5 * {x}, &e{i}, &r{i});",
        f"T {t} = 2 * h{i} / (1 + h{i} * h{i});",
        f"T {c} = 2 * e{i} / (1 + e{i} * e{i});",
        f"T u{i} = {t} * {t}, v{i} = {c} * {c};",
    ]
    second = f"(-{t} * {c})"
    third, fourth = f"((u{i} - v{i}) * {c})", f"((u{i} - 5 * v{i}) * {second})"
    fifth = f"(((v{i} - 5 * u{i}) * v{i} * 4 + 1) * {c})"
    return NativeForm(lines, [f"(2 * arctan_of(h{i}))", c, second, third, fourth, fifth])


def _arctan(f: Arctan, x: str, names: Names) -> NativeForm:
    del f
    i = next(names)
    u, v, w = f"u{i}", f"v{i}", f"w{i}"
    lines = [
        f"T a{i} = size_of({x}), b{i} = a{i} > LARGEST ? LARGEST : a{i};",
        f"T {u} = 1 / (1 + b{i} * b{i}), {v} = signed_as(b{i} * {u}, {x});",
        f"T {w} = b{i} * {u} * b{i};",
    ]
    third, fourth = f"((6 * {w} - 2 * {u}) * {u} * {u})", f"(24 * ({u} - {w}) * {u} * {u} * {v})"
    fifth = f"((5 * ({w} - 2 * {u}) * {w} + {u} * {u}) * {u} * 24 * {u} * {u})"
    return NativeForm(lines, [f"arctan_of({x})", u, f"(-2 * {v} * {u})", third, fourth, fifth])


def _erf(f: Erf, x: str, names: Names) -> NativeForm:
    i = next(names)
    unit, y, g = f.slope * 2.0**-24, f"y{i}", f"g{i}"
    lines = [
        f"T b{i} = {x} > 28 ? 28 : ({x} < -28 ? -28 : {x}), {y} = b{i} * b{i};",
        f"T h{i} = exp_of((T)-0.5 * {y}), {g} = (T){unit!r} * (h{i} * 16777216 * h{i});",
    ]
    return NativeForm(
        lines,
        [
            f"erf_of({x})",
            g,
            f"(-2 * b{i} * {g})",
            f"((4 * {y} - 2) * {g})",
            f"((12 - 8 * {y}) * b{i} * {g})",
            f"(((16 * {y} - 48) * {y} + 12) * {g})",
        ],
    )


def _softsign(f: Softsign, x: str, names: Names) -> NativeForm:
    """As in `Softsign._derivatives`, written out for its k."""
    if not f.k.is_integer():
        raise LookupError("a power that is no product")
    i, k = next(names), int(f.k)
    a, low, g, p, q = f"a{i}", f"low{i}", f"g{i}", f"p{i}", f"q{i}"
    lines = [
        f"T {a} = size_of({x}), {low} = {a} > 1 ? 1 : {a}, {g} = 1 / ({a} > 1 ? {a} : 1);",
        *_power(f"lk{i}", low, k),
        *_power(f"gk{i}", g, k),
        f"T {p} = 1 + lk{i} * gk{i}, {q} = 1 / {p};",
        *_root(f"root{i}", p, q, k),
        f"T r{i} = lk{i} * {q}, s{i} = gk{i} * {q}, c{i} = root{i} * {g} * s{i};",
    ]
    value = f"signed_as({low} * root{i}, {x})"
    derivatives = [value, f"c{i}"]
    for m, row in enumerate(_polynomials(f.k, MAX_ORDER - 1)[1:], start=1):
        lowest = next(j for j, b in enumerate(row) if b != 0)
        *others, total = (f"(T){b!r}" for b in row[lowest:])
        for n, c in enumerate(reversed(others), start=1):
            total = f"({total} * r{i} + {c}{f' * s{i}' * n})"
        product = f"{total}{f' * {g}' * m} * c{i}{f' * {q}' * lowest}"
        if exponent := k * lowest - m:
            lines += _power(f"l{i}_{m}", low, exponent)
            product += f" * l{i}_{m}"
        derivatives.append(f"signed_as({product}, {x})" if m % 2 else f"({product})")
    return NativeForm(lines, derivatives)


def _power(name: str, base: str, exponent: int) -> list[str]:
    lines = [f"T {name} = {base};"]
    for bit in f"{exponent:b}"[1:]:
        lines.append(f"{name} *= {name}{f' * {base}' if bit == '1' else ''};")
    return lines


def _root(name: str, p: str, inverse: str, k: int) -> list[str]:
    """Lines that set name = p^(-1/k) for 1 <= p <= 2."""
    if k == 1:
        return [f"T {name} = {inverse};"]
    if k == 2:
        return [f"T {name} = __builtin_sqrt({inverse});"]
    fit = np.polynomial.Chebyshev.interpolate(lambda y: (1.5 + y / 2) ** (-1 / k), 10)
    coefficients = fit.convert(kind=np.polynomial.Polynomial).coef
    *lower, total = (f"(T){float(c)!r}" for c in coefficients)
    for c in reversed(lower):
        total = f"({total} * (2 * {p} - 3) + {c})"
    # a step of Newton's method takes it from eight digits to all of them
    power = _power(f"{name}k", name, k)
    return [f"T {name} = {total};", *power, f"{name} += {name} * (1 - {p} * {name}k) / {k};"]


FORMS: dict[type[Activation], Form] = {
    Scaled: _scaled,
    Stretched: _stretched,
    Sum: _sum,
    Tanh: _tanh,
    Gudermannian: _gudermannian,
    Arctan: _arctan,
    Erf: _erf,
    Softsign: _softsign,
}
