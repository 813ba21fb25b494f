"""The odd-sigmoid functions of the paper, appendix B.1, with closed forms for all derivatives.

Each family writes its derivatives through one or two decaying sub-expressions that keep their
relative accuracy from 0 to the far tail, times a polynomial in a bounded variable. Products
are ordered so that no factor overflows, and none underflows before the result does. Of the
many forms of each polynomial, those taken have no cancellation at x = 0 or in the tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pinnsig.activations import ir
from pinnsig.activations.base import OddSigmoid
from pinnsig.activations.ir import Expr
from pinnsig.activations.registry import register_activation

TWO24 = 2.0**24


@dataclass(frozen=True)
class Tanh(OddSigmoid):
    """tanh(x) (appendix B.1); with t = tanh(x), s = sech^2(x): f' = s, f'' = -2 t s, ..."""

    @property
    def slope(self) -> float:
        """sech^2(0) = 1."""
        return 1.0

    @property
    def bound(self) -> float:
        """tanh(inf) = 1."""
        return 1.0

    def _format(self, argument: str) -> str:
        return f"tanh({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """Polynomials in t and s."""
        return tanh_rules(x)


def tanh_rules(x: Expr) -> tuple[Expr, ...]:
    """Return tanh and its derivatives."""
    t, e, r = ir.tanh(x), ir.tanh_decay(x), ir.tanh_inverse(x)
    s = 4 * (e * r * r)  # 1 - t^2 would lose every digit where tanh saturates
    u, second = t * t, t * s * -2
    return (
        t,
        s,
        second,
        (4 * u - 2 * s) * s,
        (4 - 12 * s) * second,
        (16 - 120 * (u * s)) * s,
    )


@dataclass(frozen=True)
class Gudermannian(OddSigmoid):
    """gd(x) = arctan(sinh(x)) = 2 arctan(tanh(x/2)) (appendix B.1); with c = sech(x): f' = c."""

    @property
    def slope(self) -> float:
        """sech(0) = 1."""
        return 1.0

    @property
    def bound(self) -> float:
        """arctan(inf) = pi/2."""
        return math.pi / 2

    def _format(self, argument: str) -> str:
        return f"gd({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """Polynomials in t = tanh(x) and c."""
        half = 0.5 * x
        h, e = ir.tanh(half), ir.tanh_decay(half)
        c = 2 * e / (e * e + 1)
        t = 2 * h / (h * h + 1)
        u, v = t * t, c * c
        second = -(t * c)
        return (
            2 * ir.arctan(h),
            c,
            second,
            (u - v) * c,
            (u - 5 * v) * second,
            ((v - 5 * u) * v * 4 + 1) * c,
        )


@dataclass(frozen=True)
class Erf(OddSigmoid):
    """erf(x) (appendix B.1); f^(n+1) = (-1)^n H_n(x) f', with f' = (2/sqrt(pi)) exp(-x^2).

    The rounding of x^2 leaves a relative error of about x^2 eps / 2 in every derivative, half
    of what the rounding of x itself causes.
    """

    @property
    def slope(self) -> float:
        """2/sqrt(pi)."""
        return 2 / math.sqrt(math.pi)

    @property
    def bound(self) -> float:
        """erf(inf) = 1."""
        return 1.0

    def _format(self, argument: str) -> str:
        return f"erf({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """erf(x), and Hermite polynomials times exp(-x^2)."""
        return (ir.erf(x), *bell_rules(x, self.slope)[:5])


def bell_rules(x: Expr, size: float) -> tuple[Expr, ...]:
    """Return size exp(-x^2) and its derivatives, (-1)^n H_n(x) exp(-x^2)."""
    # exp(-28^2) is 0 in float64 too, so the bound only keeps the polynomials finite
    x = ir.clamp(x, -28.0, 28.0)
    y = x * x
    half = ir.exp(y * -0.5)
    # carried 2^24 times larger: its product with a polynomial is normal where it itself is not
    g = half * TWO24 * half
    u = size / TWO24
    return (
        g * size * (1 / TWO24),
        x * (-2 * u) * g,
        (y * (4 * u) - 2 * u) * g,
        (y * (-8 * u) + 12 * u) * x * g,
        ((y * (16 * u) - 48 * u) * y + 12 * u) * g,
        ((y * (-32 * u) + 160 * u) * y - 120 * u) * x * g,
    )


@dataclass(frozen=True)
class Arctan(OddSigmoid):
    """arctan(x) (appendix B.1); polynomials in u = 1/(1 + x^2) = f' and x u."""

    @property
    def slope(self) -> float:
        """1/(1 + 0) = 1."""
        return 1.0

    @property
    def bound(self) -> float:
        """arctan(inf) = pi/2."""
        return math.pi / 2

    def _format(self, argument: str) -> str:
        return f"arctan({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """Polynomials in u, v = x u and w = x^2 u."""
        # where x^2 overflows u is 0, and so must be v, even at an infinite x
        b = ir.clamp(x)
        u = 1 / (b * b + 1)
        v = b * u
        w, u2 = v * b, u * u
        return (
            ir.arctan(x),
            u,
            v * u * -2,
            (6 * w - 2 * u) * u2,
            (u - w) * 24 * u2 * v,
            ((w - 2 * u) * w * 5 + u2) * u * 24 * u2,
        )


tanh = register_activation("tanh", Tanh())
erf = register_activation("erf", Erf())
arctan = register_activation("arctan", Arctan())
arctan_normalised = register_activation("arctan_normalised", (2 / math.pi) * arctan)
gd = register_activation("gd", Gudermannian())
