"""The generalised softsign family of the paper, appendix B.1, for every real k >= 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pinnsig.activations import ir
from pinnsig.activations.base import MAX_ORDER, OddSigmoid
from pinnsig.activations.ir import Expr, const, where_negative
from pinnsig.activations.registry import register_activation
from pinnsig.core.errors import ActivationError

_LARGEST_K = 1e6
ONE = const(1.0)


@dataclass(frozen=True)
class Softsign(OddSigmoid):
    """softsign_k(x) = x / (1 + |x|^k)^(1/k) (appendix B.1).

    With r = |x|^k / (1 + |x|^k) and s = 1 - r, f' = (1 + |x|^k)^(-1-1/k) and
    x^m f^(m+1) = P_m(r, s) f' for homogeneous polynomials P_m of degree m.

    What is returned at x = 0, where f^(n) need not exist: for odd k, the one-sided limit for odd
    n and the mean of both limits, 0, for even n. For k < 4 that is no integer, the derivatives
    of order n > k + 1 diverge: they are 0 at x = 0 itself, and beside it at most the largest
    finite number of the dtype in size.

    Raises:
        ActivationError: unless 1 <= k <= 1e6; above, f is a clipped identity to all digits.
    """

    k: float

    def __post_init__(self) -> None:
        if not 1 <= self.k <= _LARGEST_K:
            raise ActivationError(f"softsign_k needs 1 <= k <= {_LARGEST_K:.0f}, not {self.k!r}")
        object.__setattr__(self, "k", float(self.k))

    @property
    def slope(self) -> float:
        """(1 + 0)^(-1-1/k) = 1."""
        return 1.0

    @property
    def bound(self) -> float:
        """Limit 1 at infinity."""
        return 1.0

    @property
    def singular(self) -> bool:
        """Whether some derivative diverges at 0: for k < 4 that is no integer."""
        return not self.k.is_integer() and self.k < MAX_ORDER - 1

    def _format(self, argument: str) -> str:
        k = int(self.k) if self.k.is_integer() else self.k
        return f"softsign{k}({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """P_m(r, s) f' / x^m."""
        # |x| = low / g with both at most 1, and one of them 1, so that no power overflows:
        # r = low^k / p and s = g^k / p with p = 1 + (low g)^k in [1, 2].
        k, whole = self.k, math.floor(self.k)
        a = abs(x)
        low, g = ir.clamp(a, None, 1.0), 1 / ir.clamp(a, 1.0, None)
        if k == whole:
            low_k, g_k, part = ir.power(low, k), ir.power(g, k), ONE
        else:
            w, inside = low * g, a - 1
            part = ir.power(w, k - whole)  # the only power that is no product
            w_k = part * ir.power(w, whole)
            low_k, g_k = where_negative(inside, w_k, ONE), where_negative(inside, ONE, w_k)
            part = where_negative(inside, part, ONE)
        p = low_k * g_k + 1
        root, inverse = ir.root(p, k), 1 / p
        r, s = low_k * inverse, g_k * inverse
        slope = root * g * s
        sign = ir.sign(x)
        out = [sign * low * root, slope]
        for m, row in enumerate(_polynomials(k, MAX_ORDER - 1)[1:], start=1):
            # The lowest j with a term r^j, taken out of P_m as (low^k / p)^j, absorbs x^-m; only
            # for an integer k can it be another than 1.
            lowest = next(j for j, b in enumerate(row) if b != 0)
            total = _homogeneous(row[lowest:], r, s) * ir.power(g, m) * slope
            total = total * ir.power(inverse, lowest)
            if (exponent := k * lowest - m) >= 0:
                total = total * (part * ir.power(low, math.floor(exponent)))
            else:
                # one by one: each quotient is nearer to the result, and none leaves the range
                quotient = part
                for _ in range(m - whole):
                    quotient = quotient / low
                total = ir.zero_at_zero(x, ir.clamp(total * quotient))
            out.append(total * sign if m % 2 else total)
        return tuple(out)


def _polynomials(k: float, degree: int) -> list[list[float]]:
    """Return rows b with P_m = sum_j b[m][j] r^j s^(m-j), m = 0..degree.

    From x r' = k r s = -x s': the rows obey P_{m+1} = x P_m' - ((k+1) r + m (r + s)) P_m. For an
    integer k the terms that would leave a negative power of x get the factor k j - m = 0.
    """
    rows = [[1.0]]
    for m in range(degree):
        row = [0.0] * (m + 2)
        for j, b in enumerate(rows[-1]):
            row[j] += b * (k * j - m)
            row[j + 1] -= b * (k * (m - j + 1) + m + 1)
        rows.append(row)
    return rows


def _homogeneous(coefficients: list[float], r: Expr, s: Expr) -> Expr:
    """Return sum_i c_i r^i s^(n-i), free of cancellation at both ends."""
    total: Expr = const(coefficients[-1])
    s_i = s
    for c in reversed(coefficients[:-1]):
        total = total * r + c * s_i
        s_i = s_i * s
    return total


def softsign(k: float) -> Softsign:
    """Return softsign_k, x / (1 + |x|^k)^(1/k) (appendix B.1).

    Raises:
        ActivationError: unless 1 <= k <= 1e6.
    """
    return Softsign(k)


register_activation("softsign", softsign)
softsign1 = register_activation("softsign1", softsign(1))
softsign2 = register_activation("softsign2", softsign(2))
softsign3 = register_activation("softsign3", softsign(3))
