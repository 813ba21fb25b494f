"""The Black-Scholes equation with the payoff's kink carried by heat kernels."""

import math

import torch

from pinnsig.problem import Dirichlet
from pinnsig.problems.black_scholes import BlackScholes

TERMS = 4
"""How many powers of the payoff at the kink are lifted; the rest is smooth to that order."""


class BlackScholesLifted(BlackScholes):
    """The same equation, prices and closed form; what the network learns has no kink.

    With s = sigma² tau / 2, y = log(S / K) + (r - sigma² / 2) tau and V = K exp(-r tau) W for a
    call, W is a solution of the heat equation W_s = W_yy that starts from max(exp(y) - 1, 0).
    The first four powers of y > 0 in it are followed in closed form; the others, of order y⁵,
    stay as they are and the network's n says how they move:

    V = K exp(-r tau) (sum of the four + exp(y₊) - sum of y₊^m / m!) + exp(-r tau) s S n.

    n is not the closed form: at s = 0 it is y₊³ / 6 and higher powers, so that its second partials
    are bounded for all s >= 0. The payoff and V = 0 at S = 0 hold exactly. A put is the call less
    the forward, S - K exp(-r tau).
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
