"""Solitons of the Korteweg-de Vries equation: one that travels, or two that collide."""

import torch
from torch import Tensor

from pinnsig.problem import Box, Choice, Dirichlet, Initial, Problem


class KdVSoliton(Problem):
    """u_t + 6 u u_x + u_xxx = 0 on -10 <= x <= 10, with one soliton or a fast one past a slow one.

    The start, u on both sides and u_x on the right are the solution's. A soliton
    k² / 2 sech²(k (x - k² t) / 2) has the speed k²: 4 of a single one; 4 and 1 of a pair, which
    meet about x = 0 in the middle of the time and come out as they were, but shifted. Everything
    is dimensionless. The solution is the closed form of Hirota (1971), Exact solution of the
    Korteweg-de Vries equation for multiple collisions of solitons.
    """

    domain = Box(x=(-10.0, 10.0), t=(0.0, 3.0))
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
        return 2 * central_moment(x, t - 1.5, TERMS[self.solitons], 2)

    def slope(self, x: Tensor, t: Tensor) -> Tensor:
        """u_x = 2 (log F)_xxx, twice the third central moment of the rates, shape (N,)."""
        return 2 * central_moment(x, t - 1.5, TERMS[self.solitons], 3)


TERMS = {
    "one": ((0, 0, 1), (2, 8, 1)),
    "pair": ((0, 0, 1), (1, 1, 3), (2, 8, 3), (3, 9, 1)),
}
"""F is a sum of s exp(k x - w t), and these are k, w and s: symmetric in x and t together."""


def central_moment(x: Tensor, t: Tensor, terms: tuple[tuple[int, ...], ...], order: int) -> Tensor:
    """The mean of (k - mean of k)^order over the terms of F, weighted by themselves, shape (N,)."""
    weights = [s * torch.exp(k * x - w * t) for k, w, s in terms]
    total = sum(weights[1:], weights[0])
    mean = sum(k * weight for (k, *_), weight in zip(terms, weights, strict=True)) / total
    parts = [(k - mean) ** order * v for (k, *_), v in zip(terms, weights, strict=True)]
    return sum(parts[1:], parts[0]) / total
