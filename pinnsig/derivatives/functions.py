"""Derivatives of every order of functions of one variable, in families that share a rule.

Formulas are written with torch's functions and arithmetic, so that symbols pass through them, too,
and what writes them down as C.
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


def by_own_slope(function: Callable[[Tensor], Tensor], slope: Coefficients) -> Outer:
    """A function y whose derivative is a polynomial in y: so are all of them."""

    @lru_cache
    def polynomial(n: int) -> Coefficients:
        found = Polynomial([0.0, 1.0])
        for _ in range(n):
            found = found.deriv() * Polynomial(slope)
        return tuple(float(c) for c in found.coef)

    return lambda x, n: _polynomial(polynomial(n), function(x))


def by_power(
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


def sin(x: Tensor, n: int) -> Tensor:
    """The derivatives of sin."""
    y = (torch.sin, torch.cos)[n % 2](x)
    return -y if n % 4 > 1 else y


def exp(x: Tensor, n: int) -> Tensor:
    """The derivatives of exp."""
    del n
    return torch.exp(x)


def log(x: Tensor, n: int) -> Tensor:
    """The derivatives of log."""
    return torch.log(x) if n == 0 else power_of(-1)(x, n - 1)


def logarithm(function: Callable[[Tensor], Tensor], base: float) -> Outer:
    """The derivatives of the logarithm to a base, which is `function`."""
    return lambda x, n: log(x, n) / math.log(base) if n else function(x)


sigmoid = by_own_slope(torch.sigmoid, (0.0, 1.0, -1.0))


def softplus(x: Tensor, n: int) -> Tensor:
    """The derivatives of softplus."""
    # torch's own rule takes a straight line from 20 on, which is wrong by 2e-9
    return sigmoid(x, n - 1) if n else torch.nn.functional.softplus(x, 1.0, 50.0)


def erf(x: Tensor, n: int) -> Tensor:
    """The derivatives of erf: Hermite polynomials times the Gaussian."""
    if n == 0:
        return torch.erf(x)
    below, hermite = torch.zeros_like(x), torch.ones_like(x)
    for k in range(n - 1):
        below, hermite = hermite, 2 * x * hermite - 2 * k * below
    return (-1) ** (n - 1) * 2 / math.sqrt(math.pi) * hermite * torch.exp(-x * x)


def erfc(x: Tensor, n: int) -> Tensor:
    """The derivatives of erfc."""
    return -erf(x, n) if n else torch.erfc(x)


@lru_cache
def _erfinv_polynomial(n: int) -> Coefficients:
    p = Polynomial([1.0])
    for k in range(1, n):
        p = p.deriv() + Polynomial([0.0, 2.0 * k]) * p
    return tuple(float(c) for c in p.coef)


def erfinv(x: Tensor, n: int) -> Tensor:
    """The derivatives of erfinv."""
    y = torch.erfinv(x)
    if n == 0:
        return y
    # y' = sqrt(pi) / 2 exp(y^2), and each derivative is a polynomial times its n-th power
    slope = math.sqrt(math.pi) / 2 * torch.exp(y * y)
    return _polynomial(_erfinv_polynomial(n), y) * slope**n


SERIES = 24
"""Terms of sinc's Taylor series, which holds all digits up to `NEAR`."""
NEAR = 4.0


def sinc(x: Tensor, n: int) -> Tensor:
    """sin(z) / z with z = pi x: a series near 0, s_n = (sin^(n)(z) - n s_(n-1)) / z beyond."""
    if n == 0:
        return torch.sinc(x)
    z = math.pi * x
    near = abs(z) < NEAR
    # each branch gets arguments that suit it, so that neither spoils the other's gradient
    inner, outer = torch.where(near, z, 0.0 * z), torch.where(near, 0.0 * z + NEAR, z)
    series = torch.zeros_like(z)
    for k in reversed(range((n + 1) // 2, SERIES)):  # (-1)^k z^2k / (2k + 1)!, n times
        factor = (-1) ** k * math.perm(2 * k, n) / math.factorial(2 * k + 1)
        series = series * inner * inner + factor
    series = series * inner if n % 2 else series
    far = torch.sin(outer) / outer
    for k in range(1, n + 1):
        far = (sin(outer, k) - k * far) / outer
    return math.pi**n * torch.where(near, series, far)


def polygamma(x: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma; by zeta, as torch's own trigamma has nine digits only."""
    if n == 0:
        return torch.digamma(x)
    return (-1) ** (n + 1) * math.factorial(n) * torch.special.zeta(1.0 + n, x)


def piecewise(*pieces: Callable[[Tensor], Tensor]) -> Outer:
    """A function whose derivatives are given, the last one for all higher orders."""
    return lambda x, n: pieces[min(n, len(pieces) - 1)](x)


def power_of(exponent: float | Tensor) -> Outer:
    """x -> x ** exponent, which is one number."""

    def outer(x: Tensor, n: int) -> Tensor:
        if n == 0:
            return x**exponent
        coefficient = math.prod(exponent - k for k in range(n))
        if not isinstance(coefficient, Tensor) and coefficient == 0:
            return torch.zeros_like(x)
        return coefficient * x ** (exponent - n)

    return outer
