"""The Black-Scholes equation with the payoff's kink carried by heat kernels."""

import math

import torch
from pinnsig.problems.black_scholes import BlackScholes  # pyright: ignore[reportMissingImports]

from pinnsig.problem import Dirichlet

TERMS = 5
"""How many powers of the payoff at the kink are lifted."""


class BlackScholesLifted(BlackScholes):
    """The same equation, prices and closed form, but what the network learns has no kink.

    With s = sigma² tau / 2, y = log(S / K) + (r - sigma² / 2) tau and V = K exp(-r tau) W, the W of
    a call obeys the heat equation W_s = W_yy and starts from max(exp(y) - 1, 0), which is the sum
    of y^m / m! over m >= 1 where y > 0. What the first five of these powers become is known; the
    others stay as they are, and the network's n says how they move:

    V = K exp(-r tau) (the five + exp(y₊) - sum of y₊^m / m! over m <= 5) + exp(-r tau) s S n.

    So the payoff, and V = 0 at S = 0, hold exactly. n is what the closed form is not needed for:
    near the strike it starts as y₊⁴ / 24, and the slopes of all partials that the equation reads
    are bounded, up to tau = 0. With n = 0, V is off by 1e-4 of itself. A put is the call less the
    forward, S - K exp(-r tau).
    """

    def conditions(self):
        """The value at the highest price; all else holds by the ansatz."""
        yield Dirichlet(on="S+", V=self.solution)

    def ansatz(self, n, S, tau):
        """The value from the smooth rest n."""
        s = self.sigma**2 * tau / 2
        y = torch.log(S / self.K + 1e-30) + (self.r - self.sigma**2 / 2) * tau
        discount = torch.exp(-self.r * tau)
        above = (y + abs(y)) / 2
        call = self.K * discount * (lifted(y, s) + exp_beyond(above)) + discount * s * S * n
        return call if self.kind == "call" else call - S + self.K * discount


def lifted(y, s):
    """The solution of W_s = W_yy from the first `TERMS` powers of exp(y) - 1 for y > 0, else 0.

    The power y^m / m! for y > 0 becomes e_m = (4 s)^(m / 2) i^m erfc(-y / sqrt(4 s)) / 2, and the
    repeated integrals of erfc obey m e_m = y e_(m-1) + 2 s e_(m-2) (Abramowitz and Stegun 7.2.5).
    """
    root = torch.sqrt(4 * s + 1e-30)  # its derivative is finite at 0
    z = y / root
    before = torch.erfc(-z) / 2
    power = y * before + root * torch.exp(-z * z) / (2 * math.sqrt(math.pi))
    total = power
    for m in range(2, TERMS + 1):
        before, power = power, (y * power + 2 * s * before) / m
        total = total + power
    return total


def exp_beyond(y):
    """exp(y) without the first `TERMS` powers of its series."""
    series = 1.0
    for m in range(TERMS, 0, -1):
        series = 1 + y / m * series
    return torch.exp(y) - series
