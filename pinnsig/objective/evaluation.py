"""What an evaluation of the loss gives, and the work of one that a GPU can replay."""

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from pinnsig.core.cuda_graphs import GraphedCallable
from pinnsig.core.types import Column, Scalar, Terms, WeightedTerms
from pinnsig.objective.weights import Weights

if TYPE_CHECKING:
    from pinnsig.objective.loss import Objective


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation gives.

    Attributes:
        loss: with the weights that the evaluation was given.
        terms: mean squares without weights.
        sizes: where points are weighted, the 2-norms over the equations of the residuals at the
            collocation points, overwritten by the next evaluation.
    """

    loss: Scalar
    terms: Terms
    sizes: Column | None = None


def evaluation(found: WeightedTerms, weights: Weights, sizes: Column | None = None) -> Evaluation:
    """Return what mean squares mean; see `Objective.mean_squares`."""
    return Evaluation((weights.terms * found[1]).sum(), found[0], sizes)


class GradientEvaluation:
    """An evaluation with its gradient, whose arguments have fixed places: a GPU can replay it."""

    def __init__(self, objective: "Objective", like: Weights) -> None:
        points = None if like.points is None else like.points.clone()
        self.weights = Weights(like.terms.clone(), points)
        self.sizes = None if points is None else torch.zeros_like(points)
        self.objective: Objective = weakref.proxy(objective)  # which holds this
        self.recorded = GraphedCallable(self._run, like.terms.device)

    def _run(self) -> WeightedTerms:
        o = self.objective
        return o.mean_squares(o.flat.gradient, o.chunks(), self.weights, self.sizes)

    def __call__(self, weights: Weights) -> Evaluation:
        """Evaluate with these weights; see `Objective.evaluate`."""
        self.weights.terms.copy_(weights.terms)
        if self.weights.points is not None and weights.points is not None:
            self.weights.points.copy_(weights.points)
        found = self.recorded()
        assert found is not None
        return evaluation(found, weights, self.sizes)
