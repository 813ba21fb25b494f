"""Which partial derivatives are carried through a network, and how they combine.

A partial is named by its multi-index alpha: its order in each coordinate, so that u_xxt in the
coordinates (x, t) has alpha = (2, 1).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pinnsig.core.errors import DerivativeError
from pinnsig.core.names import Alpha, parse_partial, partial_name
from pinnsig.derivatives.multi_indices import below
from pinnsig.derivatives.product_rule import ProductTerm, leibniz, product_terms

__all__ = [
    "MAX_PARTIAL_ORDER",
    "Alpha",
    "Plan",
    "Product",
    "below",
    "faa_di_bruno",
    "leibniz",
    "parse_partial",
    "partial_name",
]

MAX_PARTIAL_ORDER = 4
"""Highest order of a partial; the weights' gradient then needs f's fifth derivative."""


@dataclass(frozen=True)
class Product:
    """One term of Faa di Bruno's formula: coefficient * f^(order)(h) * prod_j h_j^power_j."""

    coefficient: float
    order: int
    factors: tuple[tuple[Alpha, int], ...]


@lru_cache(maxsize=4096)
def faa_di_bruno(alpha: Alpha) -> tuple[Product, ...]:
    """The terms of d^alpha f(h(x)), by ascending order of f's derivative (alpha not zero).

    Each partition of the |alpha| single derivations gives f^(number of blocks) times the partials
    of h that its blocks name (Constantine and Savits, Trans. AMS 348 (1996), 503-520).
    """
    axes = [axis for axis, k in enumerate(alpha) for _ in range(k)]
    counts: Counter[tuple[Alpha, ...]] = Counter()
    for blocks in _partitions(axes):
        named = (tuple(block.count(axis) for axis in range(len(alpha))) for block in blocks)
        counts[tuple(sorted(named))] += 1
    products = [
        Product(float(n), len(blocks), tuple(sorted(Counter(blocks).items())))
        for blocks, n in counts.items()
    ]
    return tuple(sorted(products, key=lambda product: product.order))


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


@dataclass(frozen=True)
class Plan:
    """The partials that are carried together: closed under taking sub-partials.

    Attributes:
        coordinates: names of the coordinates.
        alphas: the multi-indices, K of them, the value first, then by ascending order.
    """

    coordinates: tuple[str, ...]
    alphas: tuple[Alpha, ...]

    @staticmethod
    def closing(coordinates: tuple[str, ...], wanted: Iterable[Alpha]) -> "Plan":
        """The smallest plan that holds the wanted partials.

        Raises:
            DerivativeError: a partial of more than the highest order.
        """
        zero = (0,) * len(coordinates)
        closed = {beta for alpha in (*wanted, zero) for beta in below(alpha)}
        ordered = sorted(closed, key=lambda alpha: (sum(alpha), tuple(-k for k in alpha)))
        if sum(ordered[-1]) > MAX_PARTIAL_ORDER:
            raise DerivativeError(
                f"partial {partial_name(ordered[-1], coordinates)} has order {sum(ordered[-1])}: "
                f"at most {MAX_PARTIAL_ORDER} can be had"
            )
        return Plan(coordinates, tuple(ordered))

    def __len__(self) -> int:
        return len(self.alphas)

    def __str__(self) -> str:
        return "{" + ", ".join(partial_name(a, self.coordinates) for a in self.alphas) + "}"

    @property
    def order(self) -> int:
        """Highest order of a partial."""
        return sum(self.alphas[-1])

    @cached_property
    def index(self) -> dict[Alpha, int]:
        """Place of each multi-index in the stack."""
        return {alpha: k for k, alpha in enumerate(self.alphas)}

    @cached_property
    def products(self) -> tuple[ProductTerm, ...]:
        """Leibniz's terms of a product z = a b: (k, coefficient, i, j), z_k += coefficient a_i b_j.

        The adjoint: of the cotangent g of z, a_i gets coefficient g_k b_j and b_j
        coefficient g_k a_i.
        """
        return product_terms(self.alphas)

    @cached_property
    def higher(self) -> tuple[tuple[int, float, int, tuple[tuple[int, int], ...]], ...]:
        """Faa di Bruno's terms of order two and more, over the whole stack.

        Each is (k, coefficient, order, ((j, power), ...)): it adds
        coefficient * f^(order)(h_0) * prod h_j^power to row k. The terms of order one are
        f'(h_0) h_k in every row k >= 1.
        """
        return tuple(
            (k, p.coefficient, p.order, tuple((self.index[a], power) for a, power in p.factors))
            for k, alpha in enumerate(self.alphas[1:], start=1)
            for p in faa_di_bruno(alpha)
            if p.order > 1
        )
