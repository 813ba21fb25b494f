"""Functions of one variable that jets pass through, with derivatives of every order needed.

Formulas are written with torch's functions and arithmetic, so that symbols pass through them, too.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from numpy.polynomial import Polynomial
from torch import Tensor

Outer = Callable[[Tensor, int], Tensor]
"""`outer(x, n)`: the n-th derivative of the function at x, elementwise."""

Coefficients = tuple[float, ...]
"""Of a polynomial, the constant first."""


def _polynomial(coefficients: Coefficients, x: Any) -> Any:
    """Its value at x, by Horner's rule."""
    *lower, total = coefficients
    for c in reversed(lower):
        total = total * x + c
    return total if lower else torch.zeros_like(x) + total


def _by_own_slope(function: Callable[[Tensor], Tensor], slope: Coefficients) -> Outer:
    """A function y whose derivative is a polynomial in y: so are all of them."""

    @lru_cache
    def polynomial(n: int) -> Coefficients:
        found = Polynomial([0.0, 1.0])
        for _ in range(n):
            found = found.deriv() * Polynomial(slope)
        return tuple(float(c) for c in found.coef)

    return lambda x, n: _polynomial(polynomial(n), function(x))


def _by_power(
    function: Callable[[Tensor], Tensor],
    quadratic: Callable[[Tensor], Tensor],
    coefficients: Coefficients,
    exponent: float,
    factor: float = 1.0,
) -> Outer:
    """A function whose derivative is factor * q(x)^-exponent.

    The n-th derivative of q^-a is p_n q^(-a - n), with p_n+1 = p_n' q - (a + n) q' p_n.

    Args:
        function: itself.
        quadratic: q, without loss of digits where it is small.
        coefficients: those of q.
        exponent, factor: as above.
    """
    q = Polynomial(coefficients)

    @lru_cache
    def numerator(n: int) -> Coefficients:
        p = Polynomial([factor])
        for k in range(n):
            p = p.deriv() * q - (exponent + k) * q.deriv() * p
        return tuple(float(c) for c in p.trim().coef)

    def outer(x: Tensor, n: int) -> Tensor:
        if n == 0:
            return function(x)
        return _polynomial(numerator(n - 1), x) * quadratic(x) ** (1 - exponent - n)

    return outer


def _sin(x: Tensor, n: int) -> Tensor:
    y = (torch.sin, torch.cos)[n % 2](x)
    return -y if n % 4 > 1 else y


def _exp(x: Tensor, n: int) -> Tensor:
    del n
    return torch.exp(x)


def _log(x: Tensor, n: int) -> Tensor:
    return torch.log(x) if n == 0 else power_of(-1)(x, n - 1)


def _logarithm(function: Callable[[Tensor], Tensor], base: float) -> Outer:
    return lambda x, n: _log(x, n) / math.log(base) if n else function(x)


def _softplus(x: Tensor, n: int) -> Tensor:
    # torch's own rule takes a straight line from 20 on, which is wrong by 2e-9
    return FUNCTIONS["sigmoid"](x, n - 1) if n else torch.nn.functional.softplus(x, 1.0, 50.0)


def _erf(x: Tensor, n: int) -> Tensor:
    if n == 0:
        return torch.erf(x)
    # each derivative is a Hermite polynomial times the Gaussian
    below, hermite = torch.zeros_like(x), torch.ones_like(x)
    for k in range(n - 1):
        below, hermite = hermite, 2 * x * hermite - 2 * k * below
    return (-1) ** (n - 1) * 2 / math.sqrt(math.pi) * hermite * torch.exp(-x * x)


def _erfc(x: Tensor, n: int) -> Tensor:
    return -_erf(x, n) if n else torch.erfc(x)


@lru_cache
def _erfinv_polynomial(n: int) -> Coefficients:
    p = Polynomial([1.0])
    for k in range(1, n):
        p = p.deriv() + Polynomial([0.0, 2.0 * k]) * p
    return tuple(float(c) for c in p.coef)


def _erfinv(x: Tensor, n: int) -> Tensor:
    y = torch.erfinv(x)
    if n == 0:
        return y
    # y' = sqrt(pi) / 2 exp(y^2), and each derivative is a polynomial times its n-th power
    slope = math.sqrt(math.pi) / 2 * torch.exp(y * y)
    return _polynomial(_erfinv_polynomial(n), y) * slope**n


SERIES = 24
"""Terms of sinc's Taylor series, which holds all digits up to `NEAR`."""
NEAR = 4.0


def _sinc(x: Tensor, n: int) -> Tensor:
    """sin(z) / z with z = pi x: a series near 0, s_n = (sin^(n)(z) - n s_(n-1)) / z beyond."""
    if n == 0:
        return torch.sinc(x)
    z = math.pi * x
    near = z.abs() < NEAR
    # each branch gets arguments that suit it, so that neither spoils the other's gradient
    inner, outer = torch.where(near, z, 0.0 * z), torch.where(near, 0.0 * z + NEAR, z)
    series = torch.zeros_like(z)
    for k in reversed(range((n + 1) // 2, SERIES)):  # (-1)^k z^2k / (2k + 1)!, n times
        factor = (-1) ** k * math.perm(2 * k, n) / math.factorial(2 * k + 1)
        series = series * inner * inner + factor
    series = series * inner if n % 2 else series
    far = torch.sin(outer) / outer
    for k in range(1, n + 1):
        far = (_sin(outer, k) - k * far) / outer
    return math.pi**n * torch.where(near, series, far)


def _polygamma(x: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma; by zeta, as torch's own trigamma has nine digits only."""
    if n == 0:
        return torch.digamma(x)
    return (-1) ** (n + 1) * math.factorial(n) * torch.special.zeta(1.0 + n, x)


def _piecewise(*pieces: Callable[[Tensor], Tensor]) -> Outer:
    """A function whose derivatives are given, the last one for all higher orders."""
    return lambda x, n: pieces[min(n, len(pieces) - 1)](x)


def _is_positive(x: Tensor) -> Tensor:
    return 0.5 * (1 + torch.sign(x)) * abs(torch.sign(x))


def power_of(exponent: float) -> Outer:
    """x -> x ** exponent."""

    def outer(x: Tensor, n: int) -> Tensor:
        coefficient = math.prod(exponent - k for k in range(n))
        if coefficient == 0:
            return torch.zeros_like(x)
        return coefficient * x ** (exponent - n) if n else x**exponent

    return outer


FUNCTIONS: dict[str, Outer] = {
    "sin": _sin,
    "cos": lambda x, n: _sin(x, n + 1),
    "tan": _by_own_slope(torch.tan, (1.0, 0.0, 1.0)),
    "exp": _exp,
    "exp2": lambda x, n: math.log(2) ** n * torch.exp2(x),
    "expm1": lambda x, n: torch.exp(x) if n else torch.expm1(x),
    "log": _log,
    "log2": _logarithm(torch.log2, 2.0),
    "log10": _logarithm(torch.log10, 10.0),
    "log1p": lambda x, n: _log(1 + x, n) if n else torch.log1p(x),
    "sqrt": power_of(0.5),
    "rsqrt": power_of(-0.5),
    "square": power_of(2),
    "reciprocal": power_of(-1),
    "tanh": _by_own_slope(torch.tanh, (1.0, 0.0, -1.0)),
    "sigmoid": _by_own_slope(torch.sigmoid, (0.0, 1.0, -1.0)),
    "softplus": _softplus,
    "sinh": lambda x, n: (torch.sinh, torch.cosh)[n % 2](x),
    "cosh": lambda x, n: (torch.cosh, torch.sinh)[n % 2](x),
    "asin": _by_power(torch.asin, lambda x: (1 - x) * (1 + x), (1.0, 0.0, -1.0), 0.5),
    "acos": _by_power(torch.acos, lambda x: (1 - x) * (1 + x), (1.0, 0.0, -1.0), 0.5, -1.0),
    "atan": _by_power(torch.atan, lambda x: 1 + x * x, (1.0, 0.0, 1.0), 1.0),
    "asinh": _by_power(torch.asinh, lambda x: 1 + x * x, (1.0, 0.0, 1.0), 0.5),
    "acosh": _by_power(torch.acosh, lambda x: (x - 1) * (x + 1), (-1.0, 0.0, 1.0), 0.5),
    "atanh": _by_power(torch.atanh, lambda x: (1 - x) * (1 + x), (1.0, 0.0, -1.0), 1.0),
    "erf": _erf,
    "erfc": _erfc,
    "erfinv": _erfinv,
    "sinc": _sinc,
    "lgamma": lambda x, n: _polygamma(x, n - 1) if n else torch.lgamma(x),
    "digamma": _polygamma,
    "abs": _piecewise(torch.abs, torch.sign, torch.zeros_like),
    "sign": _piecewise(torch.sign, torch.zeros_like),
    **{
        function.__name__: _piecewise(function, torch.zeros_like)
        for function in (torch.floor, torch.ceil, torch.trunc, torch.round)
    },
    "relu": _piecewise(torch.relu, _is_positive, torch.zeros_like),
    "neg": lambda x, n: (-x, -torch.ones_like(x), torch.zeros_like(x))[min(n, 2)],
}

FUNCTIONS |= {
    alias: FUNCTIONS[name]
    for alias, name in {
        "negative": "neg", "absolute": "abs", "arcsin": "asin", "arccos": "acos",
        "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
        "expit": "sigmoid", "special_expit": "sigmoid", "special_erf": "erf",
        "special_erfc": "erfc", "special_erfinv": "erfinv", "special_exp2": "exp2",
        "special_expm1": "expm1", "special_log1p": "log1p", "special_sinc": "sinc",
        "special_gammaln": "lgamma", "special_digamma": "digamma", "special_psi": "digamma",
        "sgn": "sign", "fix": "trunc",
    }.items()
}  # fmt: skip
