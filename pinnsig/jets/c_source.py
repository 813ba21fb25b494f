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


TILE = 512
"""Elements worked on at once: rows of narrow layers go together, so that vectors are full."""


def write_source(plan: Plan, scalar: str, native: tuple[list[str], list[str]] | None) -> str:
    """The functions `forward` and `backward` of a layer.

    Both take N, W and pointers: bias (or its gradient), h, z (or the gradient, turned in place),
    and without a native form the derivatives of the activation, each of shape (N, W).
    """
    given = [] if native else list(range(plan.order + 1))
    given_back = [] if native else list(range(1, plan.order + 2))
    forward = _function(
        plan,
        "void forward(long n, long w, const T *bias, T *h, T *z",
        given,
        first="for (long i = 0; i < length; i++) tile[i] = bias[i % w];",
        # without a native form the bias is in h already
        body=[
            f"T x = h0[i]{' + tile[i]' if native else ''};",
            *(["h0[i] = x;"] if native else []),
            *_derivatives(native, range(plan.order + 1)),
            *_read("h", range(1, len(plan))),
            *_forward_terms(plan),
        ],
        last="",
    )
    backward = _function(
        plan,
        "void backward(long n, long w, T *bias, T *h, T *z",
        given_back,
        first="for (long i = 0; i < length; i++) tile[i] = 0;",
        body=[
            "T x = h0[i];",
            *_derivatives(native, range(1, plan.order + 2)),
            *_read("h", range(1, len(plan))),
            *_read("z", range(len(plan))),
            *_backward_terms(plan),
        ],
        last="for (long i = 0; i < length; i++) bias[i % w] += tile[i];",
    )
    prelude = PRELUDE if native else ""
    return f"#include <math.h>\ntypedef {scalar} T;\n{prelude}{forward}{backward}"


def _function(
    plan: Plan, head: str, given: list[int], first: str, body: list[str], last: str
) -> str:
    """A loop over tiles; inside, every row of the stacks has a pointer of its own."""
    rows = range(len(plan))
    pointers = [f"T *restrict {a}{k} = {a} + {k} * n * w + start;" for a in "hz" for k in rows]
    pointers += [f"const T *restrict f{m} = g{m} + start;" for m in given]
    inner = "\n            ".join(body)
    outer = "\n        ".join(pointers)
    return f"""
{head}{"".join(f", const T *g{m}" for m in given)}) {{
    if (n == 0 || w == 0) return;
    long together = w < {TILE} ? {TILE} / w : 1;
    if (together > n) together = n;
    long length = together * w;
    T tile[length];
    {first}
    for (long start = 0; start < n * w; start += length) {{
        long count = n * w - start < length ? n * w - start : length;
        {outer}
#pragma GCC ivdep
        for (long i = 0; i < count; i++) {{
            {inner}
        }}
    }}
    {last}
}}
"""


def _derivatives(native: tuple[list[str], list[str]] | None, orders: range) -> list[str]:
    if native is None:
        return [f"T d{n} = f{n}[i];" for n in orders]
    lines, found = native
    return [*lines, *(f"T d{n} = {found[n]};" for n in orders)]


def _read(stack: str, rows: range) -> list[str]:
    return [f"T v{stack}{k} = {stack}{k}[i];" for k in rows]


def _forward_terms(plan: Plan) -> list[str]:
    sums = {k: [f"d1 * vh{k}"] for k in range(1, len(plan))}
    for k, coefficient, order, factors in plan.higher:
        sums[k].append(" * ".join([f"(T){coefficient!r}", f"d{order}", *_powers(factors)]))
    return ["z0[i] = d0;", *(f"z{k}[i] = {' + '.join(s)};" for k, s in sums.items())]


def _backward_terms(plan: Plan) -> list[str]:
    rows = range(1, len(plan))
    sums = {0: ["d1 * vz0", *(f"d2 * vh{k} * vz{k}" for k in rows)]}
    sums |= {k: [f"d1 * vz{k}"] for k in rows}
    for k, coefficient, order, factors in plan.higher:
        whole = [f"(T){coefficient!r}", f"vz{k}", *_powers(factors)]
        sums[0].append(" * ".join([*whole, f"d{order + 1}"]))
        for place, (j, power) in enumerate(factors):
            fewer = [(i, p - (q == place)) for q, (i, p) in enumerate(factors)]
            scale = f"(T){coefficient * power!r}"
            sums[j].append(" * ".join([scale, f"vz{k}", f"d{order}", *_powers(tuple(fewer))]))
    made = [f"T o{k} = {' + '.join(s)};" for k, s in sums.items()]
    return [*made, *(f"z{k}[i] = o{k};" for k in sums), "tile[i] += o0;"]


def _powers(factors: tuple[tuple[int, int], ...]) -> list[str]:
    return [f"vh{j}" for j, power in factors for _ in range(power)]
