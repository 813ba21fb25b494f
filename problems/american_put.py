"""The American put, which may be exercised at any time: a problem with a free boundary."""

import math
from functools import lru_cache

import numpy as np
import torch
from numpy.polynomial import chebyshev
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Problem

CHUNK = 2**12
"""How many prices are worked out at a time, to bound the memory."""


class AmericanPut(Problem):
    """min(V - (K - S), V_tau - sigma² S² V_SS / 2 - r S V_S + r V) = 0 for all prices S at once.

    V is the value of the put and K the strike, in one currency; tau is the time to maturity in
    years, r the interest rate and sigma the volatility, per year. V = max(K - S, 0) at tau = 0. The
    coordinate is x = S / (S + K), so that S V_S = x (1 - x) V_x: at the ends, where S is nothing or
    without limit, the equation stands by itself and asks for no condition.

    That one of two numbers is zero and the other is not negative is said by the smooth function of
    Fischer (1992) and Burmeister, a + b = sqrt(a² + b²). V is the European put of Black and Scholes
    (1973) and K r tau n, the premium for early exercise; n is what the network learns.
    """

    domain = Box(x=(0.0, 1.0), tau=(0.0, 1.0))
    fields = ("V",)
    r = Coefficient(0.05, above=0.0)
    sigma = Coefficient(0.2, above=0.0)
    K = Coefficient(1.0, above=0.0)

    def residual(self, V, x):
        """Of the two, over K and per year: the time value where it is held, and the equation."""
        move = x * (1 - x)
        spread = self.sigma**2 / 2 * (move**2 * V.xx - 2 * x * move * V.x)
        held = (V.tau - spread - self.r * (move * V.x - V)) / self.K
        time_value = (1 - x) * V / self.K - (1 - 2 * x)
        return held + time_value - torch.hypot(held, time_value)

    def ansatz(self, n, x, tau):
        """The European put and a premium."""
        S = x / (1 - x + 1e-30)
        width = self.sigma * torch.sqrt(tau + 1e-30)
        d = (torch.log(S + 1e-30) + self.r * tau) / width
        strike = torch.exp(-self.r * tau) * torch.erfc((d - width / 2) / 2**0.5)
        european = (strike - S * torch.erfc((d + width / 2) / 2**0.5)) / 2
        return self.K * (european + self.r * tau * n)

    def solution(self, x: Tensor, tau: Tensor) -> Tensor:
        """By the integral equation of the front, shape (N,); its error is below 5e-9 K."""
        found = reference(float(self.r), float(self.sigma))
        return self.K * found(x / (1 - x + 1e-30), tau)


class Front:
    """The price at which to exercise, and the put's value by it; the strike is 1.

    The front B(tau) obeys a Volterra equation (Kim 1990). As Andersen, Lake and Offengenden (2016)
    do, log(B)² is a polynomial in sqrt(tau) through Chebyshev's nodes, found by iterating the
    equation that V is 1 - S at the front; the value is that of the European put and the interest
    on the strike while the price is below the front.

    Args:
        r: interest rate, above 0.
        sigma: volatility.
        until: the last time to maturity.
        degree: of the polynomial.
        nodes: of the quadratures.
    """

    def __init__(
        self, r: float, sigma: float, until: float = 1.0, degree: int = 48, nodes: int = 96
    ) -> None:
        self.r, self.sigma, self.root = r, sigma, math.sqrt(until)
        self.places, self.weights = _double_exponential(nodes)
        xi = np.cos(math.pi * np.arange(degree + 1) / degree)
        tau = torch.from_numpy((self.root * (1 + xi) / 2) ** 2)[:-1]  # but tau = 0, where B is 1
        powers = chebyshev.chebvander(xi, degree)
        lowest = 2 * r / (2 * r + sigma**2)  # the front of a put without maturity (Merton 1973)
        B = torch.exp(-sigma * torch.sqrt(2 * tau)).clamp(min=lowest)
        for _ in range(200):
            squares = np.append(torch.log(B).numpy() ** 2, 0.0)
            self.coefficients = np.linalg.solve(powers, squares).tolist()
            before, B = B, self._improved(B, tau).clamp(lowest, 1.0)
            if (B - before).abs().max() < 1e-13:
                break

    def __call__(self, S: Tensor, tau: Tensor) -> Tensor:
        """The put's value at prices S and times tau of shape (N,), shape (N,)."""
        parts = zip(S.split(CHUNK), tau.split(CHUNK), strict=True)
        return torch.cat([self._value(*part) for part in parts])

    def at(self, root: Tensor) -> Tensor:
        """The logarithm of the front where sqrt(tau) is `root`, of any shape."""
        z = 2 * root / self.root - 1
        before, total = torch.zeros_like(z), torch.zeros_like(z)
        for c in self.coefficients[:0:-1]:  # Clenshaw's recurrence
            before, total = total, 2 * z * total - before + c
        return -torch.sqrt((z * total - before + self.coefficients[0]).clamp(min=1e-30))

    def _value(self, S: Tensor, tau: Tensor) -> Tensor:
        front = torch.exp(self.at(torch.sqrt(tau)))
        held = (tau > 1e-30) & (front < S)
        S_, time = torch.where(held, S, 1.0), torch.where(held, tau, 1.0)
        x, normal = torch.log(S_), torch.special.ndtr
        low, high = self._d(x, time)
        european = torch.exp(-self.r * time) * normal(-low) - S_ * normal(-high)
        past, front, weights = self._history(time)
        d, _ = self._d(x[:, None] - front, past)
        premium = (weights * torch.exp(-self.r * past) * normal(-d)).sum(1)
        return torch.where(held, european + self.r * premium, torch.relu(1 - S))

    def _improved(self, B: Tensor, tau: Tensor) -> Tensor:
        """The front at times tau from an earlier guess: what makes V there 1 - B."""
        past, front, weights = self._history(tau)
        d, _ = self._d(torch.log(B)[:, None] - front, past)
        normal = torch.special.ndtr
        interest = (weights * torch.exp(-self.r * past) * normal(d)).sum(1)
        low, high = self._d(torch.log(B), tau)
        return (torch.exp(-self.r * tau) * normal(low) + self.r * interest) / normal(high)

    def _history(self, tau: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Times before each tau, shape (N, nodes): how long, the front's logarithm, weights.

        The times are tau sin² and tau cos² of equal angles, for which nothing is left of the square
        roots at both ends.
        """
        sine, cosine = torch.sin(self.places), torch.cos(self.places)
        weights = tau[:, None] * self.weights * 2 * sine * cosine
        return tau[:, None] * sine**2, self.at(torch.sqrt(tau)[:, None] * cosine), weights

    def _d(self, x: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
        width = self.sigma * torch.sqrt(tau)
        middle = (x + self.r * tau) / width
        return middle - width / 2, middle + width / 2


@lru_cache(maxsize=8)
def reference(r: float, sigma: float) -> Front:
    """Return the front for a market; see `Front`."""
    return Front(r, sigma)


def _density(z: Tensor) -> Tensor:
    return torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _double_exponential(nodes: int) -> tuple[Tensor, Tensor]:
    """Places and weights on (0, pi / 2), close to both ends (Takahasi and Mori 1974)."""
    t = torch.linspace(-3.2, 3.2, nodes, dtype=torch.float64)
    share = torch.sigmoid(math.pi * torch.sinh(t))
    slope = math.pi * torch.cosh(t) * share * torch.sigmoid(-math.pi * torch.sinh(t))
    return math.pi / 2 * share, math.pi / 2 * slope * (t[1] - t[0])
