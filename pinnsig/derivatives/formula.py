"""Formulas on stacks of partials as data: differentiated once, evaluated or printed everywhere.

Faa di Bruno's and Leibniz's formulas are sums of products of rows: of stacks, which have a row for
each partial of a plan, and of the list of a function's derivatives.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

COTANGENT = "g"
"""The stack of cotangents of a formula's result."""


class Row(NamedTuple):
    """A row of a stack."""

    stack: str
    k: int


class Term(NamedTuple):
    """It adds coefficient * product of factors to a row of the result."""

    row: int
    factors: tuple[Row, ...]
    coefficient: float = 1.0


class Group(NamedTuple):
    """factor * sum of (coefficient * product of rows)."""

    factor: Row
    summands: tuple[tuple[float, tuple[Row, ...]], ...]


@dataclass(frozen=True, eq=False)
class Formula:
    """The rows of a result as sums of terms."""

    terms: tuple[Term, ...]

    @cached_property
    def rows(self) -> dict[int, tuple[Group, ...]]:
        """Each row of the result, ascending, by what its terms have in common as first factor."""
        groups: dict[int, list[Group]] = {}
        for (row, factor, _), members in groupby(sorted(self.terms), _common):
            summands = tuple((term.coefficient, term.factors[1:]) for term in members)
            groups.setdefault(row, []).append(Group(factor, summands))
        return {row: tuple(found) for row, found in groups.items()}

    def adjoint(self, stack: str, function: str = "") -> "Formula":
        """The formula of the cotangent of a stack, from the result's, `COTANGENT`.

        Args:
            stack: what is differentiated by.
            function: the list of derivatives of a function at row 0 of that stack, if there is one.
        """
        found: dict[tuple[int, tuple[Row, ...]], float] = {}
        for term in self.terms:
            for place, factor in enumerate(term.factors):
                if factor.stack == stack:
                    row, slope = factor.k, ()
                elif factor.stack == function:
                    row, slope = 0, (Row(function, factor.k + 1),)
                else:
                    continue
                others = (*term.factors[:place], *slope, *term.factors[place + 1 :])
                key = row, (*others, Row(COTANGENT, term.row))
                found[key] = found.get(key, 0.0) + term.coefficient
        return Formula(tuple(Term(*key, c) for key, c in found.items()))

    def write(
        self, name: Callable[[str, int], str], number: Callable[[float], str] = repr
    ) -> dict[int, str]:
        """The rows of the result as text in any language that has + and *.

        Args:
            name: how a row of a stack is called.
            number: how a coefficient is written.
        """

        def product(coefficient: float, factors: Sequence[Row]) -> str:
            names = [name(*factor) for factor in factors]
            # numbers go last, so that compilers see what products have in common
            return " * ".join(
                names if coefficient == 1 and names else [*names, number(coefficient)]
            )

        def group(factor: Row, summands: Sequence[tuple[float, tuple[Row, ...]]]) -> str:
            if len(summands) == 1:
                ((coefficient, factors),) = summands
                return product(coefficient, (factor, *factors))
            return f"{name(*factor)} * ({' + '.join(product(*summand) for summand in summands)})"

        return {row: " + ".join(group(*g) for g in groups) for row, groups in self.rows.items()}

    def evaluate(self, stacks: Mapping[str, Sequence[Tensor] | Tensor], out: Tensor) -> None:
        """Write the rows of the result to `out`, in ascending order.

        `out` may be one of the stacks if later rows of the result do not read a row of it, and its
        own only as the first group of `rows`.
        """
        for row, groups in self.rows.items():
            result = out[row]
            for n, (factor, summands) in enumerate(groups):
                left = stacks[factor.stack][factor.k]
                right, scale = _sum(summands, stacks)
                if right is None:
                    right, scale = left.new_tensor(scale), 1.0
                if n:
                    result.addcmul_(left, right, value=scale)
                else:
                    torch.mul(left, right if scale == 1 else right * scale, out=result)


def _common(term: Term) -> tuple[int, Row, bool]:
    return term.row, term.factors[0], len(term.factors) > 1


def _sum(
    summands: Sequence[tuple[float, tuple[Row, ...]]],
    stacks: Mapping[str, Sequence[Tensor] | Tensor],
) -> tuple[Tensor | None, float]:
    """A tensor, None for ones, and a number whose product is the sum."""

    def product(factors: Sequence[Row]) -> Tensor | None:
        total = None
        for stack, k in factors:
            row = stacks[stack][k]
            total = row if total is None else total * row
        return total

    (scale, factors), *others = summands
    total = product(factors)
    if total is None or not others:
        return total, scale
    total = total * scale
    for coefficient, (*factors, last) in others:
        left, right = product(factors), stacks[last.stack][last.k]
        if left is None:
            total.add_(right, alpha=coefficient)
        else:
            total.addcmul_(left, right, value=coefficient)
    return total, 1.0
