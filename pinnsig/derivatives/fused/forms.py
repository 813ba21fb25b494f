"""Activations in Triton: their rules, printed as a device function that returns f, f', f'', f'''.

Only operations that the compiler and the interpreter both know are used, and comparisons rather
than minima, which would hide NaN.
"""

from functools import lru_cache
from typing import ClassVar

from pinnsig.activations import Activation
from pinnsig.activations.ir import BY_PRODUCTS, FLOAT32_LARGEST, Expr, X, rewrite
from pinnsig.activations.joined import joined_factors
from pinnsig.activations.source import SourcePrinter

ORDER = 3
SMALLEST = 2.0**-126  # Triton takes a smaller number for one of float64

# The polynomials are Chebyshev interpolants of (tanh(x)/x - 1)/x^2 on [0, 0.6], of
# (arctan(y)/y - 1)/y^2 on [0, tan(pi/8)], of (artanh(s)/s - 1)/s^2 on [0, 3 - sqrt(8)] and of
# exp(x^2) erfc(x) in (x - 3)/(x + 3) for x >= 0; their errors are below float32's rounding.
HELPERS = """
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
def log1p_of(e):
    # log(1 + e) = 2 artanh(e/(2 + e)), for 0 <= e <= 1
    far = e > 0.41421356
    s = tl.where(far, e - 1.0, e) / tl.where(far, e + 3.0, e + 2.0)
    y = s * s
    value = 2.0 * (s + s * y * (0.333333425 + y * (0.199943789 + y * 0.14790493)))
    return tl.where(far, 0.69314718 + value, value)


@triton.jit
def cdf_of(x):
    a = tl.abs(x)
    y = 0.70710678 * a
    t = (y - 3.0) / (y + 3.0)
    p = 2.61787898e-5 + t * 5.44225139e-5
    p = 0.00426932149 + t * (0.000717949953 + t * (-0.000594454367 + t * p))
    p = -0.150115706 + t * (0.0716657309 + t * (-0.0243948785 + t * p))
    p = 0.179001151 + t * (-0.326233566 + t * (0.245603807 + t * p))
    half = tl.exp(-0.25 * a * a)
    tail = 0.5 * half * p * half
    return tl.where(x < 0.0, tail, 1.0 - tail)


@triton.jit
def power_of(x, e):
    return tl.exp(e * tl.log(tl.where(x < 1e-37, 1e-37, x)))
"""


def factor_names(activation: Activation) -> list[str]:
    """The factors of a joined activation, which its device functions take after x."""
    return [f"factor{slot}" for slot in range(len(joined_factors(activation)))]


@lru_cache(maxsize=256)
def write_activation(activation: Activation) -> tuple[str, str]:
    """Source of an activation's device function, with what it calls, and the function's name."""
    rules = rewrite(activation.rules(X)[: ORDER + 1], BY_PRODUCTS)
    printer = _TritonPrinter()
    results = ", ".join(printer.write(rules))
    body = "\n".join(f"    {line}" for line in [*printer.lines, f"return {results}"])
    arguments = ", ".join(["x", *factor_names(activation)])
    return f"{HELPERS}\n\n@triton.jit\ndef activation({arguments}):\n{body}\n", "activation"


class _TritonPrinter(SourcePrinter):
    declaration = "{} = {}"
    repeating = SourcePrinter.repeating | {"sign"}

    _FORMATS: ClassVar = {
        "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "({} / {})",
        "neg": "(-{})", "abs": "tl.abs({})", "sqrt": "tl.sqrt({})", "exp": "tl.exp({})",
        "sin": "tl.sin({})", "cos": "tl.cos({})", "tanh": "tanh_of({})",
        "arctan": "arctan_of({})", "erf": "tl.erf({})", "normal_cdf": "cdf_of({})",
        "log1p": "log1p_of({})",
        "sign": "tl.where({0} > 0.0, 1.0, tl.where({0} < 0.0, -1.0, {0}))",
        "where_negative": "tl.where({} < 0.0, {}, {})",
        "zero_at_zero": "tl.where({} == 0.0, 0.0, {})",
    }  # fmt: skip

    def leaf(self, e: Expr) -> str:
        if e.op == "factor":
            slot, power = e.value
            return " * ".join([f"factor{slot}"] * power)
        return "x" if e.op == "x" else _number(e.value)

    def operation(self, e: Expr, args: list[str]) -> str:
        if e.op == "clamp":
            return _clamp(args[0], *e.value)
        if e.op == "power":
            if 0 < e.value <= 16 and e.value == int(e.value):
                return self.repeated(args[0], int(e.value))
            return f"power_of({args[0]}, {e.value!r})"
        if e.op == "root":
            return f"power_of({args[0]}, {-1 / e.value!r})"
        return self._FORMATS[e.op].format(*args)


def _number(value: float) -> str:
    if 0 < abs(value) < SMALLEST:
        return "0.0"
    return repr(min(max(value, -FLOAT32_LARGEST), FLOAT32_LARGEST))


def _clamp(a: str, low: float | None, high: float | None) -> str:
    text = a if low is None else f"tl.where({a} < {_number(low)}, {_number(low)}, {a})"
    return text if high is None else f"tl.where({a} > {_number(high)}, {_number(high)}, {text})"
