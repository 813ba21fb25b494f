"""Activations as Triton source: device functions that return f, f', f'' and f''' at x.

A new activation is one `register_form` line. Only operations that the compiler and the
interpreter both know are used, and comparisons rather than minima, which would hide NaN.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pinnsig.activations import Activation, Scaled, Stretched, Sum
from pinnsig.activations.joined import ScaledEach, StretchedEach, joined_factors

Call = Callable[[Activation, str], str]
"""Gives the call of an inner activation's device function at an argument."""

Form = Callable[[Any, Call], str]
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
    FORMS[cls] = form if callable(form) else lambda _f, _call: form
    write_activation.cache_clear()


def factor_names(activation: Activation) -> list[str]:
    """The factors of a joined activation, which its device functions take after x."""
    return [f"factor{slot}" for slot in range(len(joined_factors(activation)))]


@lru_cache(maxsize=256)
def write_activation(activation: Activation) -> tuple[str, str]:
    """Source of the device functions of an activation, and the name of the outermost.

    Raises:
        NoFormError: it, or something in it, has no form.
    """
    names: dict[Activation, str] = {}
    parts = [HELPERS]
    factors = "".join(f", {name}" for name in factor_names(activation))

    def name_of(f: Activation) -> str:
        if f not in names:
            if type(f) not in FORMS:
                raise NoFormError(f"activation {f} has no kernel form")
            written = FORMS[type(f)](f, lambda inner, x: f"{name_of(inner)}({x}{factors})")
            body = "\n".join(f"    {line.strip()}" for line in written.strip().splitlines())
            names[f] = f"activation{len(names)}"
            parts.append(f"\n\n@triton.jit\ndef {names[f]}(x{factors}):\n{body}\n")
        return names[f]

    outermost = name_of(activation)
    return "".join(parts), outermost


def _scaled(f: Scaled, call: Call) -> str:
    return _multiplied(call(f.inner, "x"), [f.factor] * 4, f.singular)


def _stretched(f: Stretched, call: Call) -> str:
    inner = call(f.inner, f"{min(f.factor, LARGEST)!r} * x")
    return _multiplied(inner, [f.factor**n for n in range(4)], f.singular)


def _multiplied(inner: str, factors: list[float], singular: bool) -> str:
    # an infinite factor would turn the zeros of a derivative into NaN
    terms = [f"{min(c, LARGEST)!r} * v{n}" for n, c in enumerate(factors)]
    bound = [singular or c > LARGEST for c in factors]
    return f"v0, v1, v2, v3 = {inner}\nreturn {_listed(terms, bound)}"


def _scaled_each(f: ScaledEach, call: Call) -> str:
    terms = [f"factor{f.slot} * v{n}" for n in range(4)]
    return f"v0, v1, v2, v3 = {call(f.inner, 'x')}\nreturn {_listed(terms, [f.singular] * 4)}"


def _stretched_each(f: StretchedEach, call: Call) -> str:
    c = f"factor{f.slot}"
    terms = [" * ".join([f"v{n}", *[c] * n]) for n in range(4)]
    bound = [False, *[f.singular] * 3]
    return f"v0, v1, v2, v3 = {call(f.inner, f'{c} * x')}\nreturn {_listed(terms, bound)}"


def _sum(f: Sum, call: Call) -> str:
    lines = [
        f"{', '.join(f'v{i}_{n}' for n in range(4))} = {call(term, 'x')}"
        for i, term in enumerate(f.terms)
    ]
    totals = [" + ".join(f"v{i}_{n}" for i in range(len(f.terms))) for n in range(4)]
    return "\n".join([*lines, f"return {_listed(totals, [f.singular] * 4)}"])


def _listed(terms: list[str], bound: list[bool]) -> str:
    return ", ".join(f"bounded({t})" if b else t for t, b in zip(terms, bound, strict=True))


register_form(Scaled, _scaled)
register_form(Stretched, _stretched)
register_form(ScaledEach, _scaled_each)
register_form(StretchedEach, _stretched_each)
register_form(Sum, _sum)
