"""The activations of the library as Triton source: the closed forms of `pinnsig.activations`.

Those modules say why each formula is written as it is.
"""

from pinnsig.activations import Arctan, Erf, Gudermannian, Softsign, Tanh
from pinnsig.activations.softsigns import _polynomials
from pinnsig.derivatives.fused.forms import Call, register_form


def _softsign(f: Softsign, _call: Call) -> str:
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
