"""Activations as Triton source: device functions that return f, f', f'' and f''' at x.

These are the closed forms of `pinnsig.activations` in float32. Only operations that the compiler
and the interpreter both know are used, and comparisons rather than minima, which would hide NaN.
"""

from collections.abc import Callable
from typing import Any

from pinnsig.activations import Activation, Arctan, Erf, Gudermannian, Scaled
from pinnsig.activations import Softsign, Stretched, Sum, Tanh
from pinnsig.activations.softsigns import _polynomials

NameOf = Callable[[Activation], str]
"""Gives the name of the device function of an inner activation."""

Form = Callable[[Any, NameOf], str]
"""Gives the body of an activation's device function of x, ending in `return f, f1, f2, f3`."""

FORMS: dict[type[Activation], Form] = {}
"""How each class of activation is written."""

LARGEST = 3.4028234663852886e38  # of float32

# The polynomials are Chebyshev interpolants of (tanh(x)/x - 1)/x^2 on [0, 0.6] and of
# (arctan(y)/y - 1)/y^2 on [0, tan(pi/8)]; their errors are below float32's rounding.
HELPERS = f"""
@triton.jit
def tanh_of(x):
    # 1 - 2 e/(1 + e) has no digits left near 0
    a = tl.abs(x)
    e = tl.exp(-2.0 * a)
    far = 1.0 - 2.0 * e / (1.0 + e)
    y = x * x
    p = -0.05396155178 + y * (0.02178832200 + y * (-0.00841007081 + y * 0.00237076564))
    near = x + x * y * (-0.33333333231 + y * (0.13333312867 + y * p))
    return tl.where(a < 0.6, near, tl.where(x < 0.0, -far, far))


@triton.jit
def arctan_of(x):
    # arctan a = pi/4 + arctan((a - 1)/(a + 1)) = pi/2 - arctan(1/a) brings it to |y| <= tan(pi/8)
    a = tl.abs(x)
    y = tl.where(a > 0.41421356, (a - 1.0) / (a + 1.0), a)
    y = tl.where(a > 2.41421356, -1.0 / a, y)
    base = tl.where(a > 2.41421356, 1.5707963267948966, 0.7853981633974483)
    base = tl.where(a > 0.41421356, base, 0.0)
    y2 = y * y
    p = 0.11071348512 + y2 * (-0.08624553029 + y2 * 0.05047820825)
    p = -0.33333333279 + y2 * (0.19999977242 + y2 * (-0.14284150303 + y2 * p))
    value = base + (y + y * y2 * p)
    return tl.where(x < 0.0, -value, value)


@triton.jit
def bounded(x):
    return tl.where(x > {LARGEST}, {LARGEST}, tl.where(x < -{LARGEST}, -{LARGEST}, x))
"""


class NoFormError(Exception):
    """An activation that no form is registered for."""


def register_form(cls: type[Activation], form: Form | str) -> None:
    """Make a class of activations known to the fused kernels.

    Args:
        cls: the class; its subclasses are not included.
        form: the body as text, or a function of the activation that writes it.
    """
    FORMS[cls] = form if callable(form) else lambda _f, _name_of: form


def write_activation(activation: Activation) -> tuple[str, str]:
    """Source of the device functions of an activation, and the name of the outermost.

    Raises:
        NoFormError: it, or something in it, has no form.
    """
    names: dict[Activation, str] = {}
    parts = [HELPERS]

    def name_of(f: Activation) -> str:
        if f not in names:
            if type(f) not in FORMS:
                raise NoFormError(f"activation {f} has no kernel form")
            lines = FORMS[type(f)](f, name_of).strip().splitlines()
            body = "\n".join(f"    {line.strip()}" for line in lines)
            names[f] = f"activation{len(names)}"
            parts.append(f"\n\n@triton.jit\ndef {names[f]}(x):\n{body}\n")
        return names[f]

    outermost = name_of(activation)
    return "".join(parts), outermost


def _scaled(f: Scaled, name_of: NameOf) -> str:
    return _multiplied(f"{name_of(f.inner)}(x)", [f.factor] * 4, f.singular)


def _stretched(f: Stretched, name_of: NameOf) -> str:
    inner = f"{name_of(f.inner)}({min(f.factor, LARGEST)!r} * x)"
    return _multiplied(inner, [f.factor**n for n in range(4)], f.singular)


def _multiplied(call: str, factors: list[float], singular: bool) -> str:
    # an infinite factor would turn the zeros of a derivative into NaN
    terms = [f"{min(c, LARGEST)!r} * v{n}" for n, c in enumerate(factors)]
    bound = [singular or c > LARGEST for c in factors]
    return f"v0, v1, v2, v3 = {call}\nreturn {_listed(terms, bound)}"


def _sum(f: Sum, name_of: NameOf) -> str:
    lines = [
        f"{', '.join(f'v{i}_{n}' for n in range(4))} = {name_of(term)}(x)"
        for i, term in enumerate(f.terms)
    ]
    totals = [" + ".join(f"v{i}_{n}" for i in range(len(f.terms))) for n in range(4)]
    return "\n".join([*lines, f"return {_listed(totals, [f.singular] * 4)}"])


def _listed(terms: list[str], bound: list[bool]) -> str:
    return ", ".join(f"bounded({t})" if b else t for t, b in zip(terms, bound, strict=True))


def _softsign(f: Softsign, _name_of: NameOf) -> str:
    """As in `Softsign._derivatives`, written out for its k."""
    lines = [
        "a = tl.abs(x)",
        "low = tl.where(a > 1.0, 1.0, a)",
        "g = 1.0 / tl.where(a > 1.0, a, 1.0)",
        "sign = tl.where(x > 0.0, 1.0, tl.where(x < 0.0, -1.0, 0.0))",
        *_power("low_k", "low", f.k),
        *_power("g_k", "g", f.k),
        "p = 1.0 + low_k * g_k",
        "inverse = 1.0 / p",
        "root = inverse" if f.k == 1 else f"root = tl.exp({-1 / f.k!r} * tl.log(p))",
        "r = low_k * inverse",
        "s = g_k * inverse",
        "slope = root * g * s",
    ]
    for m, row in enumerate(_polynomials(f.k, 2)[1:], start=1):
        lowest = next(j for j, b in enumerate(row) if b != 0)
        *others, total = (repr(b) for b in row[lowest:])
        for i, c in enumerate(reversed(others), start=1):
            total = f"({total} * r + {c}{' * s' * i})"
        lines.append(f"d{m} = {total}{' * g' * m} * slope{' * inverse' * lowest}")
        exponent = f.k * lowest - m
        if exponent != 0:
            lines += [*_power("q", "low", exponent), f"d{m} = d{m} * q"]
        if exponent < 0:
            lines.append(f"d{m} = tl.where(x == 0.0, 0.0, bounded(d{m}))")
    value = "tl.where(a > 1.0, sign, x) * root"
    return "\n".join([*lines, f"return {value}, slope, d1 * sign, d2"])


def _power(name: str, base: str, exponent: float) -> list[str]:
    """Lines that set name = base^exponent, for 0 <= base <= 1 and exponent not 0."""
    if exponent != int(exponent) or not 0 < exponent <= 16:
        return [f"{name} = tl.exp({exponent!r} * tl.log(tl.where({base} < 1e-37, 1e-37, {base})))"]
    lines = [f"{name} = {base}"]
    for bit in f"{int(exponent):b}"[1:]:
        lines.append(f"{name} = {name} * {name}" + (f" * {base}" if bit == "1" else ""))
    return lines


register_form(Scaled, _scaled)
register_form(Stretched, _stretched)
register_form(Sum, _sum)
register_form(Softsign, _softsign)
register_form(
    Tanh,
    """
    t = tanh_of(x)
    e = tl.exp(-2.0 * tl.abs(x))
    q = 1.0 / (1.0 + e)
    s = 4.0 * e * q * q
    return t, s, -2.0 * t * s, (4.0 * t * t - 2.0 * s) * s
    """,
)
register_form(
    Gudermannian,
    """
    e = tl.exp(-tl.abs(x))
    c = 2.0 * e / (1.0 + e * e)
    half = tanh_of(0.5 * x)
    t = 2.0 * half / (1.0 + half * half)
    return 2.0 * arctan_of(half), c, -t * c, (t * t - c * c) * c
    """,
)
register_form(
    Arctan,
    """
    u = 1.0 / (1.0 + x * x)
    b = bounded(x)
    v = b * u
    return arctan_of(x), u, -2.0 * v * u, (6.0 * v * b - 2.0 * u) * u * u
    """,
)
# f' is carried 2^24 times larger: its product with a polynomial is normal where f' is not
UNIT = Erf().slope * 2.0**-24
register_form(
    Erf,
    f"""
    b = tl.where(x > 28.0, 28.0, tl.where(x < -28.0, -28.0, x))
    y = b * b
    half = tl.exp(-0.5 * y)
    g = half * {2.0**24} * half
    return tl.erf(x), g * {UNIT!r}, b * {-2 * UNIT!r} * g, (y * {4 * UNIT!r} - {2 * UNIT!r}) * g
    """,
)
