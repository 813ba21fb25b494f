"""The generalised softsign family of the paper, appendix B.1, for every real k >= 1."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.activations.base import MAX_ORDER, OddSigmoid
from pinnsig.core.errors import ActivationError

_LARGEST_K = 1e6


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

    def _derivatives(self, x: Tensor, order: int) -> tuple[Tensor, ...]:
        # |x| = low / g with both at most 1, and one of them 1, so that no power overflows:
        # r = low^k / p and s = g^k / p with p = 1 + (low g)^k in [1, 2].
        k = self.k
        a = x.abs()
        low, g = a.clamp(max=1), a.clamp_(min=1).reciprocal()
        low_k, g_k = low**k, g**k
        p = (low_k * g_k).add_(1)
        root = p ** (-1 / k)
        value = x.clamp(-1, 1).mul_(root)
        if order == 0:
            return (value,)
        inverse = p.reciprocal_()
        r, s = low_k.mul_(inverse), g_k.mul_(inverse)
        slope = root.mul_(g).mul_(s)
        out, sign, g_m = [value, slope], x.sign(), torch.ones_like(g)
        for m, row in enumerate(_polynomials(k, order - 1)[1:], start=1):
            # The lowest j with a term r^j, taken out of P_m as (low^k / p)^j, absorbs x^-m.
            lowest = next(j for j, b in enumerate(row) if b != 0)
            exponent = k * lowest - m
            total = _homogeneous(row[lowest:], r, s).mul_(g_m.mul_(g)).mul_(slope)
            total.mul_(inverse**lowest)
            if exponent != 0:
                total.mul_(low**exponent)
            if exponent < 0:
                largest = torch.finfo(x.dtype).max
                total.clamp_(-largest, largest).masked_fill_(x == 0, 0)
            out.append(total.mul_(sign) if m % 2 else total)
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


def _homogeneous(coefficients: list[float], r: Tensor, s: Tensor) -> Tensor:
    """Return sum_i c_i r^i s^(n-i), free of cancellation at both ends, as a new tensor."""
    total = torch.full_like(r, coefficients[-1])
    s_i = s
    for c in reversed(coefficients[:-1]):
        total.mul_(r).add_(s_i, alpha=c)
        s_i = s_i * s
    return total


def softsign(k: float) -> Softsign:
    """Return softsign_k, x / (1 + |x|^k)^(1/k) (appendix B.1).

    Raises:
        ActivationError: unless 1 <= k <= 1e6.
    """
    return Softsign(k)


softsign1 = softsign(1)
softsign2 = softsign(2)
softsign3 = softsign(3)
