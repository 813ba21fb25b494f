"""New points while training: drawn afresh, or where the residual is large."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from pinnsig.core.errors import SettingsError
from pinnsig.objective import Objective
from pinnsig.problem import INTERIOR, Sites

Array = NDArray[np.float64]
Draw = Callable[[int], dict[str, Sites]]
"""Points by term, from the number of the draw."""

DrawInside = Callable[[int, int], Sites]
"""Collocation points, from the number of the draw and how many."""


class NewPoints(ABC):
    """How points change; a function of the run's seed, the number of the draw and the network."""

    @abstractmethod
    def __call__(self, objective: Objective, number: int) -> dict[str, Sites]:
        """The points of every term from now on.

        Args:
            objective: the loss at the present points and parameters.
            number: how many draws there were before; the first points were number 0.
        """


@dataclass(frozen=True)
class Fresh(NewPoints):
    """All points drawn anew, in the way the first ones were; data stay what they are."""

    draw: Draw

    def __call__(self, objective: Objective, number: int) -> dict[str, Sites]:
        """See `NewPoints`."""
        terms = objective.model.problem.terms()
        measured = [n for n in objective.sites if n in terms and terms[n].given]
        return {**self.draw(number), **{name: objective.sites[name] for name in measured}}


@dataclass(frozen=True)
class ResidualBased(NewPoints):
    """Collocation points where the residual is large, by the density of Wu et al.

    From a large set of candidates, points are drawn with probabilities proportional to
    |r|^k / mean(|r|^k) + c, without putting any back. With `added` = 0 they replace all
    collocation points (RAD); else so many join them (RAR-D). Points of conditions stay. For
    systems, |r| is the 2-norm over the equations. Candidates at which it is not finite are never
    taken; where too few others are left, the points stay as they are. Wu, Zhu, Tan, Kartha and Lu,
    Comput. Methods Appl. Mech. Engrg. 403 (2023) 115671.

    Args:
        draw: gives candidates.
        seed: of the choice among them.
        candidates: how many; None means ten for each point that is chosen.
        k: the density's power.
        c: the density's offset.
        added: how many points join the present ones; 0 replaces them.

    Raises:
        SettingsError: a number out of its range.
    """

    draw: DrawInside
    seed: int
    candidates: int | None = None
    k: float = 1.0
    c: float = 1.0
    added: int = 0

    def __post_init__(self) -> None:
        if self.k < 0 or self.c < 0 or self.added < 0:
            raise SettingsError(
                f"k = {self.k}, c = {self.c} and added = {self.added} must not be below 0"
            )

    def __call__(self, objective: Objective, number: int) -> dict[str, Sites]:
        """See `NewPoints`."""
        present = objective.sites[INTERIOR].points
        count = self.added or len(present)
        candidates = self.candidates or 10 * count
        if candidates < count:
            raise SettingsError(f"{candidates} candidates are fewer than the {count} points chosen")
        pool = self.draw(number, candidates).points
        sizes = objective.residual_sizes(torch.as_tensor(pool)).double().cpu().numpy()
        if np.count_nonzero(np.isfinite(sizes)) < count:
            return dict(objective.sites)
        stream = np.random.SeedSequence(self.seed, spawn_key=(number, *b"chosen"))
        chosen = choose(sizes, count, self.k, self.c, np.random.default_rng(stream))
        points = pool[chosen]
        if self.added:
            points = np.concatenate([present, points])
        return {**objective.sites, INTERIOR: replace(objective.sites[INTERIOR], points=points)}


def choose(
    sizes: Array, count: int, k: float, c: float, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Which candidates are taken: `count` different indices, drawn by |r|^k / mean(|r|^k) + c.

    Args:
        sizes: |r|, at least `count` of them finite; the others are not taken.
        count, k, c: as above.
        generator: of the choice.
    """
    usable = np.flatnonzero(np.isfinite(sizes))
    finite = sizes[usable]
    largest = finite.max(initial=0.0)
    power = (finite / largest) ** k if largest > 0 else np.zeros_like(finite)
    mean = power.mean()
    density = (power / mean if mean > 0 else np.ones_like(power)) + c
    if np.count_nonzero(density) < count:  # zero almost everywhere: the rest is as good as any
        density = density + density.sum() * 1e-12 / len(density)
    chosen = generator.choice(len(finite), count, replace=False, p=density / density.sum())
    return usable[chosen]
