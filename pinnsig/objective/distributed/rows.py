"""Rows of the Jacobian where they are: with the process whose points they belong to."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pinnsig.core.ranks import ordered_sum
from pinnsig.core.types import Flat, RowValues
from pinnsig.objective.distributed.follower import Holding
from pinnsig.objective.distributed.leader import DealtObjective
from pinnsig.objective.loss import Objective
from pinnsig.objective.rows import LeastSquares, row_squares
from pinnsig.objective.weights import Weights


class DealtRows:
    """The residuals of `LeastSquares`, of which each process has those at its points.

    Args:
        objective: what is minimised.
        weights: with which it is minimised; None for the objective's own.

    Attributes:
        count: how many rows there are in all.
        places: where each process's rows stand among all, one tensor for each; -1 for those that
            count for nothing.
    """

    def __init__(self, objective: DealtObjective, weights: Weights | None = None) -> None:
        self.objective = objective
        self.weights = weights or objective.weights
        self.count = objective.rows
        self.places = [_places(objective, rank) for rank in range(objective.ranks.size)]

    def residuals(self) -> RowValues:
        """Return r, in the order of all rows."""
        found = self.objective.ask(_residuals, *self.objective.asked(self.weights))
        return self.placed([part for (part,) in found])

    def pullback(self, cotangent: RowValues) -> Flat:
        """Return J^T u for a cotangent u of r."""
        terms, points = self.objective.asked(self.weights)
        found = self.objective.ask(
            _pullback, terms, lambda rank: [self.own(cotangent, rank), *points(rank)]
        )
        return ordered_sum(part for (part,) in found).to(cotangent)

    def own(self, values: Tensor, rank: int) -> Tensor:
        """Return the values of one process's rows, 0 for those that count for nothing."""
        places = self.places[rank].to(values.device)
        return torch.where(places < 0, 0.0, values[places.clamp(min=0)])

    def placed(self, parts: Sequence[Tensor]) -> Tensor:
        """Return values of all rows, shape (N, ...), from those of each process."""
        first = parts[0]
        whole = first.new_empty(self.count, *first.shape[1:])
        for places, part in zip(self.places, parts, strict=True):
            kept = places >= 0
            whole[places[kept].to(first.device)] = part[kept.to(first.device)]
        return whole


def _places(objective: DealtObjective, rank: int) -> Tensor:
    """Of all rows: blocks, their residuals, and groups of points in order."""
    found, first = [], 0
    for block in objective.blocks:
        length = len(objective.sites[block.name].points) // block.stride
        span = objective.spans[rank][block.name]
        start, stop = span.start // block.stride, span.stop // block.stride
        for i in range(block.residuals):
            own = torch.arange(start, stop) + first + i * length
            found.append(own if stop > start else torch.tensor([-1]))
        first += block.residuals * length
    return torch.cat(found)


def least_squares(
    objective: Objective, weights: Weights | None = None
) -> "LeastSquares | DealtRows":
    """Return the residuals of an objective, of one process or of several."""
    if isinstance(objective, DealtObjective):
        return DealtRows(objective, weights)
    return LeastSquares(objective, weights)


def mean_row_squares(objective: Objective, rows: int, sample: int) -> Tensor:
    """Return the mean squared length of the rows of each term, shape (terms,), on the host.

    Args:
        objective: whose rows.
        rows: that are held at a time.
        sample: about so many points of each term tell.
    """
    if isinstance(objective, DealtObjective):
        share = max(sample // objective.ranks.size, 1)
        sums = ordered_sum(part for (part,) in objective.ask(_row_squares, (rows, share)))
    else:
        sums = row_squares(objective, rows, sample)
    return sums[0] / sums[1]


def _residuals(holding: Holding, terms: list[float], points: list[Tensor]) -> list[Tensor]:
    return [LeastSquares(holding.objective, holding.weights(terms, points)).residuals()]


def _pullback(holding: Holding, terms: list[float], tensors: list[Tensor]) -> list[Tensor]:
    cotangent, *points = tensors
    squares = LeastSquares(holding.objective, holding.weights(terms, points))
    return [squares.pullback(cotangent)]


def _row_squares(holding: Holding, about: tuple[int, int], tensors: list[Tensor]) -> list[Tensor]:
    del tensors
    return [row_squares(holding.objective, *about)]
