"""The Black–Scholes equation for a European option, in time to maturity."""

import torch
from torch import Tensor

from pinnsig.problem import Box, Choice, Coefficient, Dirichlet, Initial, Problem


class BlackScholes(Problem):
    """-V_tau + sigma² S² V_SS / 2 + r S V_S - r V = 0 for the value V of a call or a put.

    S is the asset's price and K the strike, in one currency; tau is the time to maturity in years,
    r the interest rate and sigma the volatility, per year. The payoff is V(S, 0) = max(S - K, 0)
    for a call, max(K - S, 0) for a put. Prices end at S = 1, where the boundary value is that of
    `solution`; as the coefficients stand, it is the discounted payoff but for 4e-6.
    """

    domain = Box(S=(0.0, 1.0), tau=(0.0, 1.0))
    fields = ("V",)
    r = Coefficient(0.05)
    sigma = Coefficient(0.2, above=0.0)
    K = Coefficient(0.5, above=0.0)
    kind = Choice("call", "put")

    def residual(self, V, S):
        """-V_tau + sigma² S² V_SS / 2 + r S V_S - r V."""
        return -V.tau + self.sigma**2 * S**2 * V.SS / 2 + self.r * S * V.S - self.r * V

    def conditions(self):
        """The payoff at maturity, and the value at the lowest and the highest price."""
        yield Initial(V=self.discounted_payoff)
        yield Dirichlet(on="S", V=self.solution)

    def discounted_payoff(self, S: Tensor, tau: Tensor) -> Tensor:
        """max(S - K exp(-r tau), 0) for a call, the mirror for a put; shape (N,).

        It is the payoff at tau = 0, exact at S = 0, and the limit for large S.
        """
        return torch.relu(self._sign * (S - self.K * torch.exp(-self.r * tau)))

    def solution(self, S: Tensor, tau: Tensor) -> Tensor:
        """The closed form of Black and Scholes (1973), on S >= 0 without an upper end.

        V = c (S N(c d1) - K exp(-r tau) N(c d2)), c = 1 for a call, -1 for a put, where
        d1 = (log(S / K) + (r + sigma² / 2) tau) / (sigma sqrt(tau)), d2 = d1 - sigma sqrt(tau).

        Args:
            S: prices, shape (N,), float64.
            tau: times to maturity, shape (N,).

        Returns:
            V, shape (N,), with its limits at S = 0 and at tau = 0.
        """
        # the limits hold to rounding below this, where derivatives of log and sqrt would overflow
        inside = (S > 1e-60) & (tau > 1e-60)
        s, time = torch.where(inside, S, self.K), torch.where(inside, tau, 1.0)
        spread = self.sigma * torch.sqrt(time)
        d1 = (torch.log(s / self.K) + (self.r + self.sigma**2 / 2) * time) / spread
        normal, c = torch.special.ndtr, self._sign
        strike = self.K * torch.exp(-self.r * time)
        value = c * (s * normal(c * d1) - strike * normal(c * (d1 - spread)))
        return torch.where(inside, value, self.discounted_payoff(S, tau))

    @property
    def _sign(self) -> float:
        return 1.0 if self.kind == "call" else -1.0
