"""Activations that differ in their factors alone, as one function on a tensor of several members.

In the joined function each member has its own numbers: x has shape (M, ...), and factors of shape
(M, 1, ...), by slot, take the place of `Scaled`'s and `Stretched`'s.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from pinnsig.activations.algebra import Derived, Scaled, Stretched, Sum
from pinnsig.activations.base import MAX_ORDER, Activation
from pinnsig.activations.ir import Expr, clamp, factor
from pinnsig.activations.printing import Factors

LARGEST = 1e6  # of a factor that is joined: its fifth power is far from float32's overflow


def structure(activation: Activation) -> Hashable:
    """What is left of an activation without its factors; those with the same can be joined."""
    if type(activation) is Sum:
        return tuple(structure(term) for term in activation.terms)
    for kind in (Scaled, Stretched):
        if _is(activation, kind):
            return structure(activation.inner)  # pyright: ignore[reportAttributeAccessIssue]
    return activation


def join(activations: Sequence[Activation]) -> Activation | None:
    """Activations of one structure as one, the m-th of which acts on x[m]; None of several ones.

    Factors keep their order, and one that a member lacks is 1, so that the arithmetic is that of
    the members' own functions.
    """
    if len({structure(activation) for activation in activations}) > 1:
        return None
    slots: list[tuple[float, ...]] = []
    inner = _join(activations, slots)
    return Joined(inner, tuple(slots)) if slots else inner


def _join(members: Sequence[Any], slots: list[tuple[float, ...]]) -> Activation:
    for kind, each in ((Scaled, ScaledEach), (Stretched, StretchedEach)):
        if any(_is(f, kind) for f in members):
            pairs = [(f.factor, f.inner) if _is(f, kind) else (1.0, f) for f in members]
            factors, inner = zip(*pairs, strict=True)
            slots.append(factors)
            return each(len(slots) - 1, max(factors), _join(inner, slots))
    if type(members[0]) is Sum:
        columns = zip(*(f.terms for f in members), strict=True)
        return Sum(tuple(_join(column, slots) for column in columns))
    return members[0]


def _is(activation: Activation, kind: type[Scaled | Stretched]) -> bool:
    return type(activation) is kind and activation.factor <= LARGEST


def joined_factors(activation: Activation) -> tuple[tuple[float, ...], ...]:
    """The factors of a joined activation by slot, each with one for every member."""
    return activation.factors if isinstance(activation, Joined) else ()


@dataclass(frozen=True)
class Each(Derived):
    """Base of those with a factor for each member, of which only the largest is known here."""

    slot: int
    largest: float = field(compare=False)
    inner: Activation

    @property
    def slope(self) -> float:
        """At least the members'."""
        return self.largest * self.inner.slope

    def _format(self, argument: str) -> str:
        return f"factor{self.slot}*({self.inner._format(argument)})"

    def _times(self, a: Expr, power: int = 1) -> Expr:
        product = a * factor(self.slot, power)
        return clamp(product) if self.singular else product


@dataclass(frozen=True)
class ScaledEach(Each):
    """c_m f(x[m])."""

    @property
    def bound(self) -> float:
        """At least the members'."""
        return self.largest * self.inner.bound

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """c_m f^(n)(x)."""
        return tuple(self._times(d) for d in self.inner.rules(x))


@dataclass(frozen=True)
class StretchedEach(Each):
    """f(a_m x[m])."""

    @property
    def bound(self) -> float:
        """sup |f|, which stretching does not change."""
        return self.inner.bound

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """a_m^n f^(n)(a_m x)."""
        value, *rest = self.inner.rules(x * factor(self.slot, 1))
        return (value, *(self._times(d, n) for n, d in enumerate(rest, start=1)))


@dataclass(frozen=True)
class Joined(Derived):
    """A joined activation and its members' factors; compared by structure, not by the factors."""

    inner: Activation
    factors: tuple[tuple[float, ...], ...] = field(compare=False)
    # on the device for good: work that is recorded there goes on reading them
    _columns: dict[Any, dict[tuple[int, int], Tensor]] = field(
        default_factory=dict, init=False, repr=False, compare=False, hash=False
    )

    @property
    def slope(self) -> float:
        """At least the members'."""
        return self.inner.slope

    @property
    def bound(self) -> float:
        """At least the members'."""
        return self.inner.bound

    def _format(self, argument: str) -> str:
        return self.inner._format(argument)

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        """Those of the structure, in its factors."""
        return self.inner.rules(x)

    def _factors(self, x: Tensor) -> Factors:
        key = x.ndim, x.dtype, x.device
        if key not in self._columns:
            shape = (-1, *[1] * (x.ndim - 1))
            self._columns[key] = {
                (slot, n): torch.tensor(
                    [math.prod([value] * n) for value in values], dtype=x.dtype, device=x.device
                ).view(shape)
                for slot, values in enumerate(self.factors)
                for n in range(1, MAX_ORDER + 1)
            }
        return self._columns[key]
