"""Functions of one variable that jets pass through, with derivatives of every order needed."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Outer = Callable[[Tensor, int], Tensor]
"""`outer(x, n)`: the n-th derivative of the function at x, elementwise."""


def _sin(x: Tensor, n: int) -> Tensor:
    y = (torch.sin, torch.cos)[n % 2](x)
    return -y if n % 4 > 1 else y


def _exp(x: Tensor, n: int) -> Tensor:
    del n
    return torch.exp(x)


def _log(x: Tensor, n: int) -> Tensor:
    return torch.log(x) if n == 0 else power_of(-1)(x, n - 1)


def _tanh(x: Tensor, n: int) -> Tensor:
    y = torch.tanh(x)
    # each derivative is a polynomial in y, and y' = 1 - y^2
    coefficients = [0.0, 1.0]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(coefficients)][1:]
        coefficients = [*slope, 0.0, 0.0]
        for k, c in enumerate(slope):
            coefficients[k + 2] -= c
    total = torch.zeros_like(y)
    for c in reversed(coefficients):
        total = total * y + c
    return total


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


def _abs(x: Tensor, n: int) -> Tensor:
    return (torch.abs, torch.sign, torch.zeros_like)[min(n, 2)](x)


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
    "exp": _exp,
    "log": _log,
    "sqrt": power_of(0.5),
    "square": power_of(2),
    "reciprocal": power_of(-1),
    "tanh": _tanh,
    "sinh": lambda x, n: (torch.sinh, torch.cosh)[n % 2](x),
    "cosh": lambda x, n: (torch.cosh, torch.sinh)[n % 2](x),
    "erf": _erf,
    "erfc": _erfc,
    "abs": _abs,
    "neg": lambda x, n: (-x, -torch.ones_like(x), torch.zeros_like(x))[min(n, 2)],
}
