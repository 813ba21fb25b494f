"""Causal weights: times are trained only once those before them are."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.objective import Objective, Weights
from pinnsig.problem import INTERIOR, Sites
from pinnsig.training.weighting.base import Weighting

EPSILONS = (1.0, 10.0, 100.0, 1e3, 1e4)


class Causal(Weighting):
    """Weights w_i = exp(-epsilon sum_{k < i} L_k / L) on the squared residuals of time bin i.

    L_k is the mean square of the residuals in bin k, and L that over all bins at the start, so that
    epsilon has no units (in the paper L = 1). Once the smallest weight is above `threshold`, the
    next epsilon is taken; with the last one met, all weights are 1 but for what is not trained.
    During first-order phases weights follow every iteration, by the residuals of the evaluation
    before; in others they are found when a phase begins and when points are drawn anew, for a line
    search needs a function that stays. Wang, Sankaran and Perdikaris, arXiv:2203.07404 (2022).

    Args:
        inner: finds weights of terms beside it; None leaves those that the user gave.
        bins: of time.
        epsilons: in the order in which they are taken.
        threshold: of the smallest weight, in (0, 1).
        every: iterations between one update and the next.

    Raises:
        SettingsError: a number out of its range, or weights of points that are another scheme's.
    """

    name: ClassVar[str] = "causal"

    def __init__(
        self,
        inner: Weighting | None = None,
        bins: int = 32,
        epsilons: tuple[float, ...] = EPSILONS,
        threshold: float = 0.99,
        every: int = 1,
    ) -> None:
        super().__init__(every)
        if not (bins >= 2 and epsilons and min(epsilons) > 0 and 0 < threshold < 1):
            raise SettingsError(
                f"causal: bins = {bins} must be at least 2, epsilons = {epsilons} above 0, "
                f"threshold = {threshold} in (0, 1)"
            )
        if inner is not None and inner.name == "attention":
            raise SettingsError("causal weights and attention both weight points: choose one")
        self.inner, self.bins, self.epsilons, self.threshold = inner, bins, epsilons, threshold
        self.number = 0  # of the present epsilon
        self.reference: float | None = None
        self.sites: Sites | None = None
        self.factors: Tensor | None = None  # on residuals, shape (N,)

    @property
    def epsilon(self) -> float:
        """The present one."""
        return self.epsilons[self.number]

    def start(self, objective: Objective) -> Weights:
        """See `Weighting.start`; new points get weights by the residuals there."""
        terms = objective.weights.terms
        if self.inner is not None:
            terms = self.inner.start(objective).terms
        sites = objective.sites[INTERIOR]
        if self.factors is None or sites is not self.sites:
            self.sites = sites
            self.renew(objective, objective.residual_sizes(objective.collocation))
        assert self.factors is not None
        self.factors = self.factors.to(objective.collocation)
        return Weights(terms, self.factors)

    def renew(self, objective: Objective, sizes: Tensor) -> None:
        """Find the factors from the residuals' sizes at the collocation points, shape (N,)."""
        domain = objective.model.problem.domain
        if domain.time is None:
            raise SettingsError(
                f"causal weights need time, and {', '.join(domain.names)} are no time (t)"
            )
        low, high = domain.interval(domain.time)
        times = objective.collocation[:, domain.names.index(domain.time)]
        share = (times - low) / (high - low) * self.bins
        bins = share.long().clamp(0, self.bins - 1)
        squares = sizes.double().square()
        sums = squares.new_zeros(self.bins).index_add_(0, bins, squares)
        counts = torch.bincount(bins, minlength=self.bins).clamp(min=1)
        losses = sums / counts
        if self.reference is None:
            self.reference = float(losses.mean()) or 1.0
        before = (losses.cumsum(0) - losses) / self.reference
        least = torch.exp(-self.epsilon * before[-1])
        if float(least) > self.threshold and self.number < len(self.epsilons) - 1:
            self.number += 1
        self.factors = torch.exp(-0.5 * self.epsilon * before)[bins].to(times)

    def update(
        self, objective: Objective, present: Weights, sizes: Tensor | None, iteration: int
    ) -> Weights:
        """See `Weighting.update`."""
        if self.inner is not None:
            present = self.inner.update(objective, present, sizes, iteration)
        if (iteration - 1) % self.every == 0 and sizes is not None and sizes.isfinite().all():
            self.renew(objective, sizes)
        return Weights(present.terms, self.factors)

    def shown(self) -> dict[str, float] | None:
        """See `Weighting.shown`; those of terms."""
        return None if self.inner is None else self.inner.shown()

    def state(self) -> dict[str, Any]:
        """The factors, the present epsilon, and the losses that they are measured by."""
        inner = None if self.inner is None else self.inner.state()
        return {"factors": self.factors, "number": self.number, "reference": self.reference,
                "inner": inner}  # fmt: skip

    def load(self, state: dict[str, Any], objective: Objective) -> None:
        """See `Weighting.load`."""
        if self.inner is not None:
            self.inner.load(state["inner"], objective)
        self.sites = objective.sites[INTERIOR]
        self.factors = state["factors"].to(objective.collocation, copy=True)
        self.number, self.reference = state["number"], state["reference"]
