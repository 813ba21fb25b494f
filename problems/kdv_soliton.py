"""Solitons of the Korteweg-de Vries equation: one that travels, or two that collide."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Choice, Dirichlet, Initial, Problem


class KdVSoliton(Problem):
    """u_t + 6 u u_x + u_xxx = 0 on -10 <= x <= 10, with one soliton or a fast one past a slow one.

    The start, u on both sides and u_x on the right are the solution's. A soliton
    k² / 2 sech²(k (x - k² t) / 2) has the speed k²: 2 of a single one; 6 and 2 of a pair, of which
    the fast one comes in on the left, meets the slow one about x = -6, t = 1, and leaves on the
    right; both are then as they were, but shifted. Everything is dimensionless. Source: Urbán,
    Stefanou and Pons (2025), Unveiling the optimization process of physics informed neural
    networks, where x is larger by 10. The solution is the closed form of Hirota (1971), Exact
    solution of the Korteweg-de Vries equation for multiple collisions of solitons.
    """

    domain = Box(x=(-10.0, 10.0), t=(0.0, 5.0))
    solitons = Choice("pair", "one")

    def residual(self, u):
        """u_t + 6 u u_x + u_xxx."""
        return u.t + 6 * u * u.x + u.xxx

    def conditions(self):
        """The solution's start, its values on both sides and its slope on the right."""
        yield Initial(u=self.solution)
        yield Dirichlet(on="x-", u=self.solution)
        yield Dirichlet(on="x+", u=self.solution, u_x=self.slope)

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """2 (log F)_xx, twice the variance of the rates of F's terms, shape (N,)."""
        return 2 * central_moment(x, t - 2.5, TERMS[self.solitons], 2)

    def slope(self, x: Tensor, t: Tensor) -> Tensor:
        """u_x = 2 (log F)_xxx, twice the third central moment of the rates, shape (N,)."""
        return 2 * central_moment(x, t - 2.5, TERMS[self.solitons], 3)


Term = tuple[float, float, float]
"""k, w and s of s exp(k x - w (t - 2.5))."""


def soliton(k: float, x: float) -> Term:
    """The term of a soliton of speed k², which is at x when t = 0 if there is no other."""
    return k, k**3, math.exp(-k * (x + 2.5 * k**2))


def pair(fast: Term, slow: Term) -> tuple[Term, ...]:
    """The terms whose sum F is of two solitons."""
    (k, w, s), (k2, w2, s2) = fast, slow
    apart, together = k - k2, k + k2
    both = (together, w + w2, s * s2 * apart)
    return (0.0, 0.0, apart), (k, w, s * together), (k2, w2, s2 * together), both


FAST, SLOW = soliton(math.sqrt(6), -12.0), soliton(math.sqrt(2), -8.0)
TERMS = {"one": ((0.0, 0.0, 1.0), SLOW), "pair": pair(FAST, SLOW)}


def central_moment(x: Tensor, t: Tensor, terms: tuple[Term, ...], order: int) -> Tensor:
    """The mean of (k - mean of k)^order over the terms of F, weighted by themselves, shape (N,)."""
    weights = [s * torch.exp(k * x - w * t) for k, w, s in terms]
    total = sum(weights[1:], weights[0])
    mean = sum(k * weight for (k, *_), weight in zip(terms, weights, strict=True)) / total
    parts = [(k - mean) ** order * v for (k, *_), v in zip(terms, weights, strict=True)]
    return sum(parts[1:], parts[0]) / total
