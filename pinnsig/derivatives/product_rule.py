"""Leibniz's rule: the partials of a product from those of its factors."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from pinnsig.core.names import Alpha
from pinnsig.derivatives.multi_indices import below

__all__ = ["ProductTerm", "leibniz", "product_terms"]


@lru_cache(maxsize=4096)
def leibniz(alpha: Alpha) -> tuple[tuple[float, Alpha, Alpha], ...]:
    """The terms (coefficient, beta, alpha - beta) of d^alpha (a b)."""
    return tuple(
        (
            float(math.prod(map(math.comb, alpha, beta))),
            beta,
            tuple(a - b for a, b in zip(alpha, beta, strict=True)),
        )
        for beta in below(alpha)
    )


class ProductTerm(NamedTuple):
    """One term of a product of two stacks: it adds coefficient * a_i * b_j to row k."""

    k: int
    coefficient: float
    i: int
    j: int


def product_terms(alphas: Sequence[Alpha]) -> tuple[ProductTerm, ...]:
    """Leibniz's terms over a whole stack of partials, closed under sub-partials."""
    place = {alpha: k for k, alpha in enumerate(alphas)}
    return tuple(
        ProductTerm(place[alpha], coefficient, place[left], place[right])
        for alpha in alphas
        for coefficient, left, right in leibniz(alpha)
    )
