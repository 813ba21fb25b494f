"""The Black-Scholes equation for a put on a basket of two assets."""

import math

import numpy as np
import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Problem

CHUNK = 2**13
"""How many prices are worked out at a time, to bound the memory."""


class Basket(Problem):
    """The value V of max(K - w_1 S_1 - w_2 S_2, 0), for all prices at once.

    V_tau = sum over i of (sigma_i² (D_i D_i V - D_i V) / 2 + r D_i V) + rho sigma_1 sigma_2 D_1 D_2
    V - r V, where D_i = S_i d/dS_i. S_1, S_2 are the assets' prices and K the strike, in one
    currency; tau is the time to maturity in years, r the interest rate, sigma_1, sigma_2 the
    volatilities, per year, and rho the correlation. The coordinates are x = S_1 / (S_1 + K) and y
    likewise, so that D_1 = x (1 - x) d/dx: at the ends, where a price is nothing or without limit,
    the equation stands by itself and asks for no condition.

    The payoff's kink is lifted along its normal. Near it the basket moves like one asset with the
    variance that the assets have half way to the kink, and V is K times the put of Black and
    Scholes (1973) with this variance plus tau n, where n is what the network learns. So the payoff
    holds exactly; with n = 0, V is off by 4e-3 of itself.
    """

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0), tau=(0.0, 1.0))
    fields = ("V",)
    r = Coefficient(0.05)
    sigma_1 = Coefficient(0.2, above=0.0)
    sigma_2 = Coefficient(0.3, above=0.0)
    rho = Coefficient(0.5, minimum=-0.9, maximum=0.9)
    w_1 = Coefficient(0.5, above=0.0)
    w_2 = Coefficient(0.5, above=0.0)
    K = Coefficient(1.0, above=0.0)

    def residual(self, V, x, y):
        """What the equation leaves of V over K."""
        p, q = x * (1 - x), y * (1 - y)
        first, second = p * V.x, q * V.y
        moves = self.sigma_1**2 * (p**2 * V.xx - 2 * x * first) + self.sigma_2**2 * (
            q**2 * V.yy - 2 * y * second
        )
        both = self.rho * self.sigma_1 * self.sigma_2 * p * q * V.xy
        drift = self.r * (first + second - V)
        return (moves / 2 + both + drift - V.tau) / self.K

    def ansatz(self, n, x, y, tau):
        """The value from the smooth rest n."""
        a, b = (w * z / (1 - z + 1e-30) for w, z in ((self.w_1, x), (self.w_2, y)))
        basket = a + b + 1e-30
        far = torch.log(basket)
        share = a / basket
        turn = -torch.tanh(far) / (4 * self.variance(share))
        share = share / (share + (1 - share) * torch.exp(-turn * self.variance_slope(share)))
        width = torch.sqrt(self.variance(share) * tau + 1e-30)
        d = (far + self.r * tau) / width
        strike = torch.exp(-self.r * tau) * torch.erfc((d - width / 2) / 2**0.5)
        return self.K * ((strike - basket * torch.erfc((d + width / 2) / 2**0.5)) / 2 + tau * n)

    def variance(self, share):
        """Of the basket's return in a year, where the first asset has this share of its value."""
        one, two = self.sigma_1 * share, self.sigma_2 * (1 - share)
        return one**2 + 2 * self.rho * one * two + two**2

    def variance_slope(self, share):
        """The slope of `variance`."""
        one, two, both = self.sigma_1**2, self.sigma_2**2, self.rho * self.sigma_1 * self.sigma_2
        return 2 * (one * share + both * (1 - 2 * share) - two * (1 - share))

    def solution(self, x: Tensor, y: Tensor, tau: Tensor) -> Tensor:
        """By quadrature, shape (N,); its error is below 1e-9 K."""
        names = ("r", "sigma_1", "sigma_2", "rho")
        market = {name: float(getattr(self, name)) for name in names}
        found = []
        for at, on, time in zip(x.split(CHUNK), y.split(CHUNK), tau.split(CHUNK), strict=True):
            a, b = (w * z / (1 - z + 1e-30) for w, z in ((self.w_1, at), (self.w_2, on)))
            later = (time > 1e-30) & (a + b < 1e20)
            price = put(*(torch.where(later, z, 0.5) for z in (a, b, time)), **market)
            found.append(torch.where(later, price, torch.relu(1 - a - b)))
        return self.K * torch.cat(found)


def put(
    a: Tensor,
    b: Tensor,
    tau: Tensor,
    *,
    r: float,
    sigma_1: float,
    sigma_2: float,
    rho: float,
    nodes: int = 96,
) -> Tensor:
    """Return the expected max(1 - A - B, 0), discounted, where A and B start at a and b.

    The logarithms at maturity are normal. Once the part that moves less is known, the put on the
    other one is a closed form with another strike, which is integrated by the nodes of Gauss and
    Legendre, up to where the strike is nothing or to 9 standard deviations.

    Args:
        a: the first assets' value over the strike, shape (N,).
        b: the second assets'.
        tau: time to maturity, above 0.
        r: interest rate.
        sigma_1: volatility of A.
        sigma_2: volatility of B.
        rho: their correlation.
        nodes: how many.

    Returns:
        Prices, shape (N,).
    """
    swap = sigma_1 * a < sigma_2 * b
    inner, outer = torch.where(swap, b, a), torch.where(swap, a, b)
    one, two = tau.new_tensor([sigma_1, sigma_2])
    s, q = torch.where(swap, two, one), torch.where(swap, one, two)
    places, weights = (torch.from_numpy(z) for z in np.polynomial.legendre.leggauss(nodes))
    root, normal = torch.sqrt(tau), torch.special.ndtr
    s, inner, outer = s[:, None], inner.clamp(min=1e-60)[:, None], outer.clamp(min=1e-60)
    top = -(torch.log(outer) + (r - q**2 / 2) * tau) / (q * root)  # where the outer part is 1
    half = (top.clamp(-9, 9) + 9)[:, None] / 2
    z = half * (1 + places) - 9
    outer, q, root, time = outer[:, None], q[:, None], root[:, None], tau[:, None]
    strike = 1 - outer * torch.exp((r - q**2 / 2) * time + q * root * z)
    strike = strike.clamp(min=1e-60)
    width = s * root * (1 - rho**2) ** 0.5
    forward = inner * torch.exp((r - (rho * s) ** 2 / 2) * time + rho * s * root * z)
    d = torch.log(forward / strike) / width
    known = strike * normal(width / 2 - d) - forward * normal(-width / 2 - d)
    density = torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return torch.exp(-r * tau) * (half * weights * density * known).sum(1)
