"""Iterations that take some of the points each: for more points than one evaluation should have."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import SettingsError
from pinnsig.objective import Objective
from pinnsig.problem import Sites
from pinnsig.training.points import Draw

Order = NDArray[np.intp]


@dataclass(frozen=True)
class MiniBatches:
    """At most so many points of each term for every iteration; smaller terms are taken whole.

    The points of a term come in an order drawn anew for each epoch, one batch after another, and
    what an iteration takes depends on seed, phase and iteration alone. A mean over them has the
    mean over all as its expectation.

    Args:
        size: how many.
        seed: of the orders.
        draw: gives points of some terms for each iteration, as many each time, which are kept
            nowhere; those of other terms are taken from the loss.

    Raises:
        SettingsError: no points at all.
    """

    size: int
    seed: int
    draw: Draw | None = None
    _orders: dict[str, tuple[tuple[int, int], Order]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SettingsError(f"batch = {self.size} must be at least 1")

    def take(self, loss: Objective, phase: int, iteration: int) -> dict[str, Sites]:
        """Return the points of an iteration.

        Args:
            loss: at all points.
            phase: its number, from 0.
            iteration: of the phase, from 1.
        """
        # a number that no other draw of the run has
        drawn = self.draw((phase + 1 << 32) + iteration) if self.draw is not None else {}
        strides = {block.name: block.stride for block in loss.blocks}
        return {
            name: drawn.get(name) or self._some(name, own, strides[name], phase, iteration)
            for name, own in loss.sites.items()
            if name in strides
        }

    def ends_epoch(self, loss: Objective, iteration: int) -> bool:
        """Whether as many points have been seen again as the loss has of its largest term.

        Where each iteration sees as many, it is every tenth one: the whole loss takes time, too.
        """
        most = max(len(sites.points) for sites in loss.sites.values())
        length = most / self.size if most > self.size else 10
        return iteration // length > (iteration - 1) // length

    def _some(self, name: str, own: Sites, stride: int, phase: int, iteration: int) -> Sites:
        groups, wanted = len(own.points) // stride, max(self.size // stride, 1)
        if wanted >= groups:
            return own
        start, parts = (iteration - 1) * wanted, []
        while wanted:
            epoch, place = divmod(start, groups)
            part = self._order(name, groups, phase, epoch)[place : place + wanted]
            parts.append(part)
            start, wanted = start + len(part), wanted - len(part)
        chosen = np.concatenate(parts)
        rows = (chosen[:, None] * stride + np.arange(stride)).ravel()
        extra: Mapping[str, NDArray] = {key: column[rows] for key, column in own.extra.items()}
        return replace(own, points=own.points[rows], extra=dict(extra))

    def _order(self, name: str, groups: int, phase: int, epoch: int) -> Order:
        """The order of an epoch; the last one of each term is kept."""
        kept = self._orders.get(name)
        if kept is None or kept[0] != (phase, epoch) or len(kept[1]) != groups:
            self._orders.pop(name, None)  # two of them need not be held
            stream = np.random.SeedSequence(self.seed, spawn_key=(phase, epoch, *name.encode()))
            order = np.random.default_rng(stream).permutation(groups)
            kept = self._orders[name] = (phase, epoch), order
        return kept[1]
