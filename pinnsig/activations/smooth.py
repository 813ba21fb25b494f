"""Smooth activations outside the odd-sigmoid class: periodic ones, bells and soft ramps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from pinnsig.activations import ir
from pinnsig.activations.base import Activation
from pinnsig.activations.ir import Expr
from pinnsig.activations.library import TWO24, bell_rules, tanh_rules
from pinnsig.activations.registry import register_activation


@dataclass(frozen=True)
class Sin(Activation):
    """sin(x)."""

    @property
    def slope(self) -> float:
        """cos(0) = 1."""
        return 1.0

    @property
    def bound(self) -> float:
        """sin(pi/2) = 1."""
        return 1.0

    def _format(self, argument: str) -> str:
        return f"sin({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """sin, cos, -sin, -cos, sin, cos."""
        s, c = ir.sin(x), ir.cos(x)
        return s, c, -s, -c, s, c


@dataclass(frozen=True)
class Cos(Activation):
    """cos(x)."""

    @property
    def slope(self) -> float:
        """-sin(0) = 0."""
        return 0.0

    @property
    def bound(self) -> float:
        """cos(0) = 1."""
        return 1.0

    def _format(self, argument: str) -> str:
        return f"cos({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """cos, -sin, -cos, sin, cos, -sin."""
        s, c = ir.sin(x), ir.cos(x)
        return c, -s, -c, s, c, -s


@dataclass(frozen=True)
class Gaussian(Activation):
    """exp(-x^2)."""

    @property
    def slope(self) -> float:
        """0, at the top."""
        return 0.0

    @property
    def bound(self) -> float:
        """exp(0) = 1."""
        return 1.0

    def _format(self, argument: str) -> str:
        return f"gaussian({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """Hermite polynomials times exp(-x^2)."""
        return bell_rules(x, 1.0)


@dataclass(frozen=True)
class Sigmoid(Activation):
    """1/(1 + exp(-x)) = (1 + tanh(x/2))/2."""

    @property
    def slope(self) -> float:
        """1/4."""
        return 0.25

    @property
    def bound(self) -> float:
        """Limit 1 at infinity."""
        return 1.0

    def _format(self, argument: str) -> str:
        return f"sigmoid({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """The derivatives of tanh(x/2)/2."""
        return sigmoid_rules(x)


def sigmoid_rules(x: Expr) -> tuple[Expr, ...]:
    """Return the logistic function and its derivatives."""
    half = 0.5 * x
    e, r = ir.tanh_decay(half), ir.tanh_inverse(half)
    rest = enumerate(tanh_rules(half)[1:], start=2)
    return (ir.where_negative(x, e * r, r), *(0.5**n * d for n, d in rest))


@dataclass(frozen=True)
class SiLU(Activation):
    """x sigmoid(x), also named swish (Elfwing et al. 2018; Ramachandran et al. 2017)."""

    suits: ClassVar[str] = "he"

    @property
    def slope(self) -> float:
        """sigmoid(0) = 1/2."""
        return 0.5

    def _format(self, argument: str) -> str:
        return f"silu({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """f^(n) = n s^(n-1) + x s^(n) with s the logistic function."""
        x = ir.clamp(x)  # an infinite one would turn the zeros of a derivative into NaN
        s = sigmoid_rules(x)
        return (x * s[0], *(n * s[n - 1] + x * s[n] for n in range(1, 6)))


@dataclass(frozen=True)
class GELU(Activation):
    """x Phi(x) with Phi the distribution function of N(0, 1) (Hendrycks, Gimpel 2016)."""

    suits: ClassVar[str] = "he"

    @property
    def slope(self) -> float:
        """Phi(0) = 1/2."""
        return 0.5

    def _format(self, argument: str) -> str:
        return f"gelu({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """Polynomials times the density of N(0, 1), which is 0 in float64 from |x| = 40."""
        low = ir.clamp(x, -40.0, None)
        x = ir.clamp(low, None, 40.0)
        cdf = ir.normal_cdf(x)
        y = x * x
        half = ir.exp(y * -0.25)
        g = half * TWO24 * half  # as in `bell_rules`
        u = 1 / (math.sqrt(2 * math.pi) * TWO24)
        return (
            low * cdf,
            cdf + x * u * g,
            (y * -u + 2 * u) * g,
            (y * u - 4 * u) * x * g,
            ((y * -u + 7 * u) * y - 4 * u) * g,
            ((y * u - 11 * u) * y + 18 * u) * x * g,
        )


@dataclass(frozen=True)
class Softplus(Activation):
    """log(1 + exp(x)), whose slope is the logistic function."""

    suits: ClassVar[str] = "he"

    @property
    def slope(self) -> float:
        """sigmoid(0) = 1/2."""
        return 0.5

    def _format(self, argument: str) -> str:
        return f"softplus({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """max(x, 0) + log(1 + exp(-|x|)), without a step where torch's changes its formula."""
        rest = ir.log1p(ir.tanh_decay(0.5 * x))
        return (ir.clamp(x, 0.0, None) + rest, *sigmoid_rules(x)[:5])


sin = register_activation("sin", Sin())
cos = register_activation("cos", Cos())
gaussian = register_activation("gaussian", Gaussian())
sigmoid = register_activation("sigmoid", Sigmoid())
silu = register_activation("silu", SiLU())
gelu = register_activation("gelu", GELU())
softplus = register_activation("softplus", Softplus())
