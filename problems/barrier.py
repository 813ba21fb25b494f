"""The Black-Scholes equation for a down-and-out call, which a barrier makes worthless."""

import math

import torch
from pinnsig.problems.black_scholes_lifted import (  # pyright: ignore[reportMissingImports]
    exp_beyond,
    lifted,
)
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem


class Barrier(Problem):
    """-V_tau + sigma² V_xx / 2 + (r - sigma² / 2) V_x - r V = 0 for the value V of the call.

    x = log(S / B) runs from the barrier B, where V = 0, up to S = e B; S is the asset's price, K
    the strike, both in one currency, and `barrier` is B / K. tau is the time to maturity in years,
    r the interest rate and sigma the volatility, per year. V(x, 0) = max(S - K, 0), and the value
    at the highest price is that of `solution`.

    The payoff's kink is lifted as in `BlackScholesLifted`: the first powers of the payoff spread as
    heat does, less their image beyond the barrier, so that payoff and barrier hold exactly; the
    network's n is the smooth rest.
    """

    domain = Box(x=(0.0, 1.0), tau=(0.0, 1.0))
    fields = ("V",)
    r = Coefficient(0.05)
    sigma = Coefficient(0.2, above=0.0)
    K = Coefficient(1.0, above=0.0)
    barrier = Coefficient(0.9, above=0.0, maximum=1.0)

    def residual(self, V):
        """-V_tau + sigma² V_xx / 2 + (r - sigma² / 2) V_x - r V."""
        half = self.sigma**2 / 2
        return -V.tau + half * V.xx + (self.r - half) * V.x - self.r * V

    def conditions(self):
        """The payoff, nothing at the barrier, and the value at the highest price."""
        yield Initial(V=lambda x: self.K * torch.relu(self.barrier * torch.exp(x) - 1))
        yield Dirichlet(on="x-", V=0.0)
        yield Dirichlet(on="x+", V=self.solution)

    def ansatz(self, n, x, tau):
        """The value from the smooth rest n."""
        s = self.sigma**2 * tau / 2

        def spread(x):
            y = x + math.log(self.barrier) + (self.r - self.sigma**2 / 2) * tau
            return self.K * torch.exp(-self.r * tau) * (lifted(y, s) + exp_beyond(torch.relu(y)))

        return spread(x) - self.image(x) * spread(-x) + self.K * s * x * n

    def image(self, x):
        """By what a solution at B² / S is multiplied to be one at S: exp((1 - 2 r / sigma²) x)."""
        return torch.exp((1 - 2 * self.r / self.sigma**2) * x)

    def solution(self, x: Tensor, tau: Tensor) -> Tensor:
        """The closed form of Merton (1973) by reflection, shape (N,).

        C(S) - (S / B)^(1 - 2 r / sigma²) C(B² / S), C being the value of a call without a barrier;
        see also Reiner and Rubinstein (1991).
        """
        later = tau > 1e-60  # below it the limit holds to rounding, where derivatives overflow
        time = torch.where(later, tau, 1.0)
        width = self.sigma * torch.sqrt(time)

        def call(x: Tensor) -> Tensor:
            d = (x + math.log(self.barrier) + (self.r + self.sigma**2 / 2) * time) / width
            asset = self.barrier * torch.exp(x) * torch.special.ndtr(d)
            return self.K * (asset - torch.exp(-self.r * time) * torch.special.ndtr(d - width))

        start = self.K * torch.relu(self.barrier * torch.exp(x) - 1)
        return torch.where(later, call(x) - self.image(x) * call(-x), start)
