"""Which partial derivatives are carried through a network, and how they combine.

A partial is named by its multi-index alpha: its order in each coordinate, so that u_xxt in the
coordinates (x, t) has alpha = (2, 1).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pinnsig.core.errors import DerivativeError
from pinnsig.core.names import Alpha, parse_partial, partial_name
from pinnsig.derivatives.composition_rule import composition_formula
from pinnsig.derivatives.formula import Formula
from pinnsig.derivatives.multi_indices import below
from pinnsig.derivatives.product_rule import product_formula

__all__ = ["MAX_PARTIAL_ORDER", "Alpha", "Plan", "parse_partial", "partial_name"]

MAX_PARTIAL_ORDER = 4
"""Highest order of a partial; the weights' gradient then needs f's fifth derivative."""


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
    def composition(self) -> Formula:
        """The stack of f(h) from the stack "h" and f's derivatives "f", by Faa di Bruno."""
        return composition_formula(self.alphas)

    @cached_property
    def composition_adjoint(self) -> Formula:
        """The cotangent of "h"; it reads one derivative of f more."""
        return self.composition.adjoint("h", function="f")

    @cached_property
    def product(self) -> Formula:
        """The stack of a product of the stacks "a" and "b", by Leibniz."""
        return product_formula(self.alphas)

    @cached_property
    def product_adjoint(self) -> Formula:
        """The cotangent of "a"; that of "b" is the same with the factors changed over."""
        return self.product.adjoint("a")
