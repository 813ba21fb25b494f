"""Activations that differ in their factors alone, as one function on a tensor of several members.

In the joined function each member has its own numbers: x has shape (M, ...), and factors of shape
(M, 1, ...) take the place of `Scaled`'s and `Stretched`'s.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from pinnsig.activations.algebra import Scaled, Stretched, Sum, clamp
from pinnsig.activations.base import Activation

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
    return _join(activations, itertools.count())


def _join(members: Sequence[Any], slots: Iterator[int]) -> Activation:
    for kind, each in ((Scaled, ScaledEach), (Stretched, StretchedEach)):
        if any(_is(f, kind) for f in members):
            pairs = [(f.factor, f.inner) if _is(f, kind) else (1.0, f) for f in members]
            factors, inner = zip(*pairs, strict=True)
            return each(next(slots), factors, _join(inner, slots))
    if type(members[0]) is Sum:
        columns = zip(*(f.terms for f in members), strict=True)
        return Sum(tuple(_join(column, slots) for column in columns))
    return members[0]


def _is(activation: Activation, kind: type[Scaled | Stretched]) -> bool:
    return type(activation) is kind and activation.factor <= LARGEST


def joined_factors(activation: Activation) -> list[tuple[float, ...]]:
    """The factors of a joined activation by slot, each with one for every member."""
    found: dict[int, tuple[float, ...]] = {}

    def walk(f: Any) -> None:
        if isinstance(f, Each):
            found[f.slot] = f.factors
            walk(f.inner)
        elif isinstance(f, Sum):
            for term in f.terms:
                walk(term)

    walk(activation)
    return [found[slot] for slot in sorted(found)]


@dataclass(frozen=True)
class Each(Activation):
    """Base of those with a factor for each member; compared by structure, not by the factors."""

    slot: int
    factors: tuple[float, ...] = field(compare=False)
    inner: Activation
    # on the device for good: work that is recorded there goes on reading them
    _columns: dict[Any, Tensor] = field(
        default_factory=dict, init=False, repr=False, compare=False, hash=False
    )

    @property
    def slope(self) -> float:
        """At least the members'."""
        return max(self.factors) * self.inner.slope

    @property
    def odd_sigmoid(self) -> bool:
        """Whether f is."""
        return self.inner.odd_sigmoid

    @property
    def singular(self) -> bool:
        """Whether f is singular."""
        return self.inner.singular

    def _format(self, argument: str) -> str:
        return f"factor{self.slot}*({self.inner._format(argument)})"

    def _times(self, x: Tensor, power: int) -> Tensor:
        """x times the factors' power, in place."""
        key = power, x.dtype, x.device
        if key not in self._columns:
            values = [math.prod([factor] * power) for factor in self.factors]
            self._columns[key] = torch.tensor(values, dtype=x.dtype, device=x.device)
        return x.mul_(self._columns[key].view(-1, *[1] * (x.ndim - 1)))


@dataclass(frozen=True)
class ScaledEach(Each):
    """c_m f(x[m])."""

    @property
    def bound(self) -> float:
        """At least the members'."""
        return max(self.factors) * self.inner.bound

    def _derivatives(self, x: Tensor, order: int) -> tuple[Tensor, ...]:
        found = self.inner._derivatives(x, order)
        for derivative in found:
            self._times(derivative, 1)
            if self.singular:
                clamp(derivative)
        return found


@dataclass(frozen=True)
class StretchedEach(Each):
    """f(a_m x[m])."""

    @property
    def bound(self) -> float:
        """sup |f|, which stretching does not change."""
        return self.inner.bound

    def _derivatives(self, x: Tensor, order: int) -> tuple[Tensor, ...]:
        found = self.inner._derivatives(self._times(x.clone(), 1), order)
        for n, derivative in enumerate(found[1:], start=1):
            self._times(derivative, n)
            if self.singular:
                clamp(derivative)
        return found
