"""C source for the elementwise part of a layer, written out for one plan and activation."""

from collections.abc import Callable, Iterator
from itertools import count

from pinnsig.activations import Activation, Scaled, Softsign, Stretched, Sum, Tanh
from pinnsig.jets.plan import Plan

NATIVE_ORDER = 3
"""Derivatives that the native forms give: enough for plans of order two and their gradient."""

# exp(y) for y <= 0 and tanh for small arguments by polynomials, so that compilers vectorise them
# (Cephes library, single precision: errors of about one unit in the last place)
PRELUDE = """
static inline T exp_negative(T y) {
    y = y < -87.0f ? -87.0f : y;
    T n = (y * 1.44269504088896f + 12582912.0f) - 12582912.0f;
    T r = (y - n * 0.693359375f) - n * -2.12194440e-4f;
    T p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    union { int i; float f; } power;
    power.i = ((int)n + 127) << 23;
    return p * power.f;
}
static inline T tanh_of(T x, T e, T inverse) {
    T y = x * x;
    T p = -5.70498872745e-3f;
    p = p * y + 2.06390887954e-2f;
    p = p * y - 5.37397155531e-2f;
    p = p * y + 1.33314422036e-1f;
    p = p * y - 3.33332819422e-1f;
    p = p * y * x + x;
    T far = (1.0f - e) * inverse;
    far = x < 0 ? -far : far;
    T size = x < 0 ? -x : x;
    return size < 0.625f ? p : far;
}
"""

Names = Iterator[int]


def _tanh(activation: Activation, x: str, names: Names) -> tuple[list[str], list[str]]:
    del activation
    i = next(names)
    lines = [
        f"T e{i} = exp_negative(-2.0f * ({x} < 0 ? -{x} : {x}));",
        f"T r{i} = 1.0f / (1.0f + e{i});",
        f"T t{i} = tanh_of({x}, e{i}, r{i});",
        f"T s{i} = 4.0f * e{i} * r{i} * r{i};",
    ]
    return lines, [f"t{i}", f"s{i}", f"(-2.0f * t{i} * s{i})", f"(s{i} * (4.0f - 6.0f * s{i}))"]


def _softsign(activation: Activation, x: str, names: Names) -> tuple[list[str], list[str]]:
    del activation
    i = next(names)
    lines = [
        # beyond this the square would overflow, and all is as flat as it will be
        f"T x{i} = {x} > 1e15f ? 1e15f : ({x} < -1e15f ? -1e15f : {x});",
        f"T r{i} = 1.0f / sqrtf(1.0f + x{i} * x{i});",
        f"T c{i} = r{i} * r{i} * r{i};",
        f"T q{i} = c{i} * r{i} * r{i};",
    ]
    third = f"(q{i} * (12.0f - 15.0f * r{i} * r{i}))"
    return lines, [f"(x{i} * r{i})", f"c{i}", f"(-3.0f * x{i} * q{i})", third]


Form = Callable[[Activation, str, Names], tuple[list[str], list[str]]]

# Activations with a form of their own in C; any other one is given as derivatives from torch
FORMS: dict[Activation, Form] = {Tanh(): _tanh, Softsign(2.0): _softsign}


def native_form(activation: Activation, order: int) -> tuple[list[str], list[str]] | None:
    """Lines of C, and expressions for the derivatives at x; None where there is no such form."""
    if order > NATIVE_ORDER:
        return None
    try:
        return _form(activation, "x", count())
    except LookupError:
        return None


def _form(activation: Activation, x: str, names: Names) -> tuple[list[str], list[str]]:
    if isinstance(activation, Scaled):
        lines, found = _form(activation.inner, x, names)
        return lines, [f"({activation.factor!r}f * {value})" for value in found]
    if isinstance(activation, Stretched):
        i, a = next(names), activation.factor
        lines, found = _form(activation.inner, f"y{i}", names)
        powers = [f"({a**n!r}f * {value})" for n, value in enumerate(found)]
        return [f"T y{i} = {a!r}f * {x};", *lines], powers
    if isinstance(activation, Sum):
        parts = [_form(term, x, names) for term in activation.terms]
        sums = zip(*(found for _, found in parts), strict=True)
        lines = [line for part, _ in parts for line in part]
        return lines, [f"({' + '.join(terms)})" for terms in sums]
    return FORMS[activation](activation, x, names)


def write_source(plan: Plan, scalar: str, native: tuple[list[str], list[str]] | None) -> str:
    """The functions `forward` and `backward` of a layer.

    Both take N, W and pointers: bias (or its gradient), h, z (or the gradient, turned in place),
    and without a native form the derivatives of the activation, each of shape (N, W).
    """
    order = plan.order
    forward = _derivatives(native, range(order + 1))
    backward = _derivatives(native, range(1, order + 2))
    given = [] if native else [f"const T *restrict f{n}" for n in range(order + 1)]
    given_back = [] if native else [f"const T *restrict f{n}" for n in range(1, order + 2)]
    bias = "+ bias[j]" if native else ""
    store = "h[i] = x;" if native else ""
    prelude = PRELUDE if native else ""
    return f"""
#include <math.h>
typedef {scalar} T;
{prelude}
void forward({
        ", ".join(
            ["long n", "long w", "const T *restrict bias", "T *restrict h", "T *restrict z", *given]
        )
    }) {{
    long size = n * w;
    for (long row = 0; row < n; row++)
        for (long j = 0; j < w; j++) {{
            long i = row * w + j;
            T x = h[i] {bias};
            {store}
            {_lines([*forward, *_rows(plan), *_forward_terms(plan)])}
        }}
}}
void backward({
        ", ".join(
            [
                "long n",
                "long w",
                "T *restrict bias",
                "const T *restrict h",
                "T *restrict z",
                *given_back,
            ]
        )
    }) {{
    long size = n * w;
    for (long row = 0; row < n; row++)
        for (long j = 0; j < w; j++) {{
            long i = row * w + j;
            T x = h[i];
            {_lines([*backward, *_rows(plan), *_backward_terms(plan)])}
        }}
}}
"""


def _lines(lines: list[str]) -> str:
    return "\n            ".join(lines)


def _derivatives(native: tuple[list[str], list[str]] | None, orders: range) -> list[str]:
    if native is None:
        return [f"T d{n} = f{n}[i];" for n in orders]
    lines, found = native
    return [*lines, *(f"T d{n} = {found[n]};" for n in orders)]


def _rows(plan: Plan) -> list[str]:
    return [f"T h{k} = h[{k} * size + i];" for k in range(1, len(plan))]


def _forward_terms(plan: Plan) -> list[str]:
    sums = {k: [f"d1 * h{k}"] for k in range(1, len(plan))}
    for k, coefficient, order, factors in plan.higher:
        sums[k].append(" * ".join([f"(T){coefficient!r}", f"d{order}", *_powers(factors)]))
    return ["z[i] = d0;", *(f"z[{k} * size + i] = {' + '.join(s)};" for k, s in sums.items())]


def _backward_terms(plan: Plan) -> list[str]:
    rows = range(1, len(plan))
    sums = {0: ["d1 * g0", *(f"d2 * h{k} * g{k}" for k in rows)]}
    sums |= {k: [f"d1 * g{k}"] for k in rows}
    for k, coefficient, order, factors in plan.higher:
        whole = [f"(T){coefficient!r}", f"g{k}", *_powers(factors)]
        sums[0].append(" * ".join([*whole, f"d{order + 1}"]))
        for place, (j, power) in enumerate(factors):
            fewer = [(i, p - (q == place)) for q, (i, p) in enumerate(factors)]
            scale = f"(T){coefficient * power!r}"
            sums[j].append(" * ".join([scale, f"g{k}", f"d{order}", *_powers(tuple(fewer))]))
    read = [f"T g{k} = z[{k} * size + i];" for k in range(len(plan))]
    made = [f"T o{k} = {' + '.join(s)};" for k, s in sums.items()]
    return [*read, *made, *(f"z[{k} * size + i] = o{k};" for k in sums), "bias[j] += o0;"]


def _powers(factors: tuple[tuple[int, int], ...]) -> list[str]:
    return [f"h{j}" for j, power in factors for _ in range(power)]
