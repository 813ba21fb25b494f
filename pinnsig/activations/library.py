"""The odd-sigmoid functions of the paper, appendix B.1, with closed forms for all derivatives.

Each family writes its derivatives through one or two decaying sub-expressions that keep their
relative accuracy from 0 to the far tail, times a polynomial in a bounded variable. Products
are ordered so that no factor overflows, and none underflows before the result does. Of the
many forms of each polynomial, those taken have no cancellation at x = 0 or in the tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.activations.base import OddSigmoid


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

    def _derivatives(self, x: Tensor, order: int) -> tuple[Tensor, ...]:
        t = torch.tanh(x)
        if order == 0:
            return (t,)
        # 1 - t^2 would lose every digit where tanh saturates.
        e = x.abs().mul_(-2).exp_()
        s = (e + 1).square_().reciprocal_().mul_(e).mul_(4)
        out = [t, s]
        if order >= 2:
            out.append((t * s).mul_(-2))
        if order >= 3:
            t2 = t * t
            out.append((t2 * 4).sub_(s, alpha=2).mul_(s))
            if order >= 4:
                out.append((t2 * 4).sub_(s, alpha=8).mul_(out[2]))
            if order >= 5:
                out.append(t2.mul_(s).mul_(-120).add_(16).mul_(s))
        return tuple(out)


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

    def _derivatives(self, x: Tensor, order: int) -> tuple[Tensor, ...]:
        value = x.sinh().atan_()
        if order == 0:
            return (value,)
        e = x.abs().neg_().exp_()
        c = (e * e).add_(1).reciprocal_().mul_(e).mul_(2)
        out = [value, c]
        if order >= 2:
            t = torch.tanh(x)
            out.append((t * c).neg_())
            if order >= 3:
                t2, c2 = t.square_(), c * c
                out.append((t2 - c2).mul_(c))
                if order >= 4:
                    out.append(t2.sub(c2, alpha=5).mul_(out[2]))
                if order >= 5:
                    out.append(c2.sub(t2, alpha=5).mul_(c2).mul_(4).add_(1).mul_(c))
        return tuple(out)


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

    def _derivatives(self, x: Tensor, order: int) -> tuple[Tensor, ...]:
        value = torch.erf(x)
        if order == 0:
            return (value,)
        # exp(-28^2) is 0 in float64 too, so the bound only keeps the polynomials finite.
        x = x.clamp(-28, 28)
        x2 = x * x
        # f' is carried 2^24 times larger: its product with H_n is normal where f' is not.
        unit = self.slope * 2.0**-24
        half = (x2 * -0.5).exp_()
        g = (half * 2.0**24).mul_(half)
        out = [value, g * self.slope * 2.0**-24]
        if order >= 2:
            out.append((x * (-2 * unit)).mul_(g))
        if order >= 3:
            out.append((x2 * (4 * unit)).sub_(2 * unit).mul_(g))
        if order >= 4:
            out.append((x2 * (-8 * unit)).add_(12 * unit).mul_(x).mul_(g))
        if order >= 5:
            out.append((x2 * (16 * unit)).sub_(48 * unit).mul_(x2).add_(12 * unit).mul_(g))
        return tuple(out)


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

    def _derivatives(self, x: Tensor, order: int) -> tuple[Tensor, ...]:
        value = torch.atan(x)
        if order == 0:
            return (value,)
        u = (x * x).add_(1).reciprocal_()
        out = [value, u]
        if order >= 2:
            # Where x^2 overflows u is 0, and so must be v, even at an infinite x.
            largest = torch.finfo(x.dtype).max
            x = x.clamp(-largest, largest)
            v = x * u
            out.append((v * u).mul_(-2))
            if order >= 3:
                u2, w = u * u, v * x
                out.append((w * 6).sub_(u, alpha=2).mul_(u2))
                if order >= 4:
                    out.append((u - w).mul_(24).mul_(u2).mul_(v))
                if order >= 5:
                    inner = w.sub(u, alpha=2).mul_(w).mul_(5).add_(u2)
                    out.append(inner.mul_(u).mul_(24).mul_(u2))
        return tuple(out)


tanh = Tanh()
gd = Gudermannian()
erf = Erf()
arctan = Arctan()
arctan_normalised = (2 / math.pi) * arctan
