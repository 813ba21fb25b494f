"""Smooth functions that stand for distances: R-functions, of coordinates that jets can follow.

Source: Rvachev 1963; Sukumar and Srivastava, Comput. Methods Appl. Mech. Engrg. 389 (2022) 114333.
They are made of arithmetic and torch's functions alone, so that tensors, jets and symbols pass
through them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import torch

At = Mapping[str, Any]
"""Coordinates by name: tensors or jets."""

Formula = Callable[[At], Any]
"""Of coordinates, shape (N,)."""

TINY = 1e-12  # of a size: keeps corners, where two formulas vanish, from being 0 / 0
ROUGH = 1e-6  # of a size: what may be beyond a boundary by rounding alone


class Piece(NamedTuple):
    """A piece of a boundary: where `zero` vanishes and `room` is not negative.

    Attributes:
        zero: positive on the domain's side, with a slope of 1 along the normal.
        room: None where `zero` vanishes nowhere else.
    """

    zero: Formula
    room: Formula | None = None

    def within(self, other: Formula) -> "Piece":
        """What of it is where another formula is not negative."""
        return Piece(self.zero, other if self.room is None else both((self.room, other)))


def negative(formula: Formula) -> Formula:
    """Return a formula with the other sign."""
    return lambda at: -formula(at)


def both(formulas: Sequence[Formula]) -> Formula:
    """Return what is positive where all are: the R-conjunction a + b - sqrt(a^2 + b^2)."""
    return lambda at: reduce(_and, (formula(at) for formula in formulas))


def either(first: Formula, second: Formula) -> Formula:
    """Return what is positive where one of two is: the R-disjunction a + b + sqrt(a^2 + b^2)."""

    def formula(at: At) -> Any:
        a, b = first(at), second(at)
        return a + b + torch.sqrt(a * a + b * b + TINY**2)

    return formula


def joined(formulas: Sequence[Formula], size: float) -> Formula:
    """Return what vanishes where one of several does: R-equivalence with m = 1, 1 / sum(1 / a).

    Args:
        formulas: positive inside; some at least.
        size: of the domain.
    """

    def formula(at: At) -> Any:
        total = formulas[0](at)
        for other in formulas[1:]:
            value = other(at)
            total = total * value / (total + value + TINY * size)
        return total

    return formula


def trimmed(piece: Piece, size: float) -> Formula:
    """Return what vanishes on a piece alone, and is positive elsewhere.

    sqrt(f^2 + (sqrt(t^2 + f^4) - t)^2 / 4), of the zero f and the room t. Where t is positive this
    is |f| times a smooth function, and is taken as f on the boundary, so that slopes are those from
    inside.

    Args:
        piece: of a boundary.
        size: of the domain, which makes lengths of all terms.
    """
    zero, room = piece
    if room is None:
        return zero

    def formula(at: At) -> Any:
        f, t = zero(at), room(at)
        is_near = t > 0
        # each branch gets arguments that suit it, so that neither spoils the other's derivatives
        inner, outer = torch.where(is_near, t, 0.0 * t + size), torch.where(is_near, 0.0 * t, t)
        square = f * f / size
        root = torch.sqrt(inner * inner + square * square)
        factor = f * square / (2.0 * size * (root + inner))
        upright = torch.where(f > -ROUGH * size, f, -f)
        near = upright * torch.sqrt(1.0 + factor * factor)
        beyond = 0.5 * (torch.sqrt(outer * outer + square * square + (TINY * size) ** 2) - outer)
        far = torch.sqrt(f * f + beyond * beyond + (TINY * size) ** 2)
        return torch.where(is_near, near, far)

    return formula


def _and(a: Any, b: Any) -> Any:
    return a + b - torch.sqrt(a * a + b * b + TINY**2)
