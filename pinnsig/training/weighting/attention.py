"""Residual-based attention: a factor for each collocation point."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.objective import Objective, Weights
from pinnsig.problem import INTERIOR, Sites
from pinnsig.training.weighting.base import Weighting


class Attention(Weighting):
    """Factors a_j on the residuals r_j: a_j <- memory * a_j + rate * |r_j| / max |r|.

    They start at `first`, stay below rate / (1 - memory), and start again at new points. The
    residuals are those of the evaluation before, so that it costs nothing. Anagnostopoulos,
    Toscano, Stergiopulos and Karniadakis, Comput. Methods Appl. Mech. Engrg. 421 (2024) 116805.

    Args:
        every: iterations between one update and the next.
        memory: share of the old factor, in [0, 1).
        rate: weight of the present residual, above 0.
        first: the factors at the start.

    Raises:
        SettingsError: a number out of its range.
    """

    name: ClassVar[str] = "attention"

    def __init__(
        self, every: int = 1, memory: float = 0.999, rate: float = 0.01, first: float = 1.0
    ) -> None:
        super().__init__(every)
        if not (0 <= memory < 1 and rate > 0 and first >= 0):
            raise SettingsError(
                f"attention: memory = {memory} must lie in [0, 1), rate = {rate} above 0, "
                f"first = {first} not below 0"
            )
        self.memory, self.rate, self.first = memory, rate, first
        self.sites: Sites | None = None
        self.factors: Tensor | None = None  # shape (N,)

    def start(self, objective: Objective) -> Weights:
        """See `Weighting.start`."""
        points, sites = objective.collocation, objective.sites[INTERIOR]
        if self.factors is None or sites is not self.sites:
            self.factors = points.new_full((len(points),), self.first)
        self.sites, self.factors = sites, self.factors.to(points)
        return Weights(objective.weights.terms, self.factors)

    def update(
        self, objective: Objective, present: Weights, sizes: Tensor | None, iteration: int
    ) -> Weights:
        """See `Weighting.update`."""
        if (iteration - 1) % self.every or sizes is None or self.factors is None:
            return present
        largest = sizes.max().clamp(min=torch.finfo(sizes.dtype).tiny)
        self.factors = (self.memory * self.factors).add_(sizes / largest, alpha=self.rate)
        return Weights(objective.weights.terms, self.factors)

    def shown(self) -> dict[str, float] | None:
        """See `Weighting.shown`."""
        return None

    def state(self) -> dict[str, Any]:
        """The factors."""
        return {"factors": self.factors}

    def load(self, state: dict[str, Any], objective: Objective) -> None:
        """See `Weighting.load`."""
        like = objective.collocation
        self.sites = objective.sites[INTERIOR]
        self.factors = state["factors"].to(like, copy=True)
