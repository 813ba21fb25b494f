"""Faa di Bruno's formula: the partials of f(h) from those of h, and its adjoint."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pinnsig.derivatives.formula import Formula, Row, Term
from pinnsig.derivatives.multi_indices import Alpha

__all__ = ["Composition", "composition_formula", "faa_di_bruno"]


@dataclass(frozen=True)
class Composition:
    """One term of Faa di Bruno's formula: coefficient * f^(order)(h) * prod_j h_j^power_j."""

    coefficient: float
    order: int
    factors: tuple[tuple[Alpha, int], ...]


@lru_cache(maxsize=4096)
def faa_di_bruno(alpha: Alpha) -> tuple[Composition, ...]:
    """The terms of d^alpha f(h(x)), by ascending order of f's derivative (alpha not zero).

    Each partition of the |alpha| single derivations gives f^(number of blocks) times the partials
    of h that its blocks name (Constantine and Savits, Trans. AMS 348 (1996), 503-520).
    """
    axes = [axis for axis, k in enumerate(alpha) for _ in range(k)]
    counts: Counter[tuple[Alpha, ...]] = Counter()
    for blocks in _partitions(axes):
        named = (tuple(block.count(axis) for axis in range(len(alpha))) for block in blocks)
        counts[tuple(sorted(named))] += 1
    terms = [
        Composition(float(n), len(blocks), tuple(sorted(Counter(blocks).items())))
        for blocks, n in counts.items()
    ]
    return tuple(sorted(terms, key=lambda term: term.order))


def _partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """Every way to split labelled items into non-empty blocks."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for blocks in _partitions(rest):
        yield [[first], *blocks]
        for i, block in enumerate(blocks):
            yield [*blocks[:i], [first, *block], *blocks[i + 1 :]]


def composition_formula(alphas: Sequence[Alpha]) -> Formula:
    """The stack of f(h) from "f", f's derivatives at row 0 of h, and the stack "h".

    Args:
        alphas: the stack's partials, closed under sub-partials, the value first.
    """
    place = {alpha: k for k, alpha in enumerate(alphas)}
    terms = [Term(0, (Row("f", 0),))]
    for k, alpha in enumerate(alphas[1:], start=1):
        for term in faa_di_bruno(alpha):
            rows = [Row("h", place[beta]) for beta, power in term.factors for _ in range(power)]
            terms.append(Term(k, (Row("f", term.order), *sorted(rows)), term.coefficient))
    return Formula(tuple(terms))
