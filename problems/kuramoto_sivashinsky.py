"""The Kuramoto-Sivashinsky equation, which turns chaotic."""

import math
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, PeriodicReference, Problem


class KuramotoSivashinsky(Problem):
    """u_t + T (alpha u u_x + beta u_xx + gamma u_xxxx) = 0, periodic on 0 <= x <= 2 pi, chaotic.

    u(x, 0) = cos(x) (1 + sin(x)); t is time over T, and everything is dimensionless. Source: Wang,
    Sankaran and Perdikaris (2024), Respecting causality for training physics-informed neural
    networks, with alpha = 100 / 16, beta = 100 / 16² and gamma = 100 / 16⁴, there up to T = 0.5 and
    in their package jaxpi up to T = 1. Here T = 0.2 unless it is set: the start steepens, and
    ripples grow; chaos proper comes after 0.4. The network sees x as sin(x) and cos(x), so that it
    is periodic exactly, and the ansatz meets the start. The error of `solution` is below 1e-8.
    """

    domain = Box(x=(0.0, 2 * math.pi), t=(0.0, 1.0))
    T = Coefficient(0.2, above=0.0, maximum=1.0)
    alpha = Coefficient(100 / 16)
    beta = Coefficient(100 / 16**2, minimum=0.0)
    gamma = Coefficient(100 / 16**4, above=0.0)

    def residual(self, u):
        """u_t + T (alpha u u_x + beta u_xx + gamma u_xxxx)."""
        return u.t + self.T * (self.alpha * u * u.x + self.beta * u.xx + self.gamma * u.xxxx)

    def conditions(self):
        """Two waves to start from."""
        yield Initial(u=lambda x: torch.cos(x) * (1 + torch.sin(x)))

    def features(self, x, t):
        """A point of the circle, and the time."""
        return torch.sin(x), torch.cos(x), t

    def ansatz(self, n, x, t):
        """The start plus t n."""
        return torch.cos(x) * (1 + torch.sin(x)) + t * n

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """By Fourier modes, shape (N,)."""
        return reference(**{name: float(value) for name, value in self.values().items()})(x, t)


@lru_cache(maxsize=8)
def reference(
    T: float, alpha: float, beta: float, gamma: float, finer: int = 1
) -> PeriodicReference:
    """The numerical solution, on `finer` times as many points and steps."""
    return PeriodicReference(
        start=lambda x: torch.cos(x) * (1 + torch.sin(x)),
        linear=lambda k: T * (beta * k**2 - gamma * k**4),
        source=lambda u, *_: u**2,
        outer=lambda k: -0.5j * T * alpha * k,
        interval=(0.0, 2 * math.pi),
        until=1.0,
        points=finer * 384,
        steps=finer * math.ceil(10_000 * T),
    )
