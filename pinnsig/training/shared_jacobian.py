"""Products with a Jacobian whose rows stay in the processes whose points they belong to."""

from typing import Any

import torch
from torch import Tensor

from pinnsig.core.ranks import ordered_sum
from pinnsig.objective.distributed import DealtRows, Holding
from pinnsig.objective.rows import LeastSquares
from pinnsig.optim import SharedRows
from pinnsig.optim.gauss_newton.linearization import (
    HeldLinearization,
    Linearization,
    LocalLinearization,
    StreamedLinearization,
    wide_dtype,
)

MODEL = "linearization"
"""Where a process keeps its own."""


class SharedJacobian(SharedRows):
    """The answer to a request for the Jacobian, over several processes."""

    def __init__(self, rows: DealtRows) -> None:
        self.rows, self.count = rows, rows.count
        self.shares = rows.objective.ranks.size

    def linearization(self, held: bool, block: int, group: int) -> Linearization:
        """See `SharedRows.linearization`."""
        return DealtLinearization(self.rows, held, block, group)


class DealtLinearization(Linearization):
    """Each process has a linearisation of its own rows; products are summed, or put in order.

    Args:
        rows: the residuals.
        held, block, group: see `SharedRows.linearization`.
    """

    def __init__(self, rows: DealtRows, held: bool, block: int, group: int) -> None:
        self.rows, self.objective, self.group = rows, rows.objective, group
        terms, points = self.objective.asked(rows.weights)
        found = self.objective.ask(_linearize, (terms, held, block), points)
        self.residual = rows.placed([part for (part,) in found])

    def pullback(self, cotangent: Tensor) -> Tensor:
        """See `Linearization`."""
        found = self.objective.ask(_pullback, None, lambda rank: [self.rows.own(cotangent, rank)])
        return ordered_sum(part for (part,) in found).to(self.residual)

    def push(self, tangent: Tensor) -> Tensor:
        """See `Linearization`."""
        found = self.objective.ask(_push, None, lambda rank: [tangent])  # noqa: ARG005
        return self.rows.placed([part for (part,) in found])

    def gram(self) -> Tensor:
        """See `Linearization`."""
        return ordered_sum(part for (part,) in self.objective.ask(_gram)).to(self.residual)

    def kernel(self) -> Tensor:
        """See `Linearization`: each process sends its rows around, which the others multiply."""
        total = self.residual.new_zeros(self.rows.count, self.rows.count)
        for source, places in enumerate(self.rows.places):
            for first in range(0, len(places), self.group):
                last = min(first + self.group, len(places))
                columns = places[first:last]
                parts = self.objective.ask(_against, (source, first, last))
                for own, (part,) in zip(self.rows.places, parts, strict=True):
                    if part.numel():
                        self._fill(total, own, columns, part)
        return total

    def _fill(self, total: Tensor, rows: Tensor, columns: Tensor, part: Tensor) -> None:
        down, across = rows >= 0, columns >= 0
        kept = part[down.to(part.device)][:, across.to(part.device)]
        i, j = rows[down].to(part.device), columns[across].to(part.device)
        total[i.unsqueeze(1), j] = kept
        total[j.unsqueeze(1), i] = kept.T


# --- what every process does ----------------------------------------------------------------------


def _linearize(
    holding: Holding, about: tuple[list[float], bool, int], points: list[Tensor]
) -> list[Tensor]:
    terms, held, block = about
    squares = LeastSquares(holding.objective, holding.weights(terms, points))
    values = holding.objective.flat.values
    size = len(values)
    before: Any = holding.kept.pop(MODEL, None)  # its memory is free again
    del before
    room = values.new_empty(min(block, squares.count), size)
    if held:
        wide = wide_dtype(values.device)
        jacobian = torch.empty(squares.count, size, dtype=wide, device=values.device)
        model: LocalLinearization = HeldLinearization(squares, jacobian, room)
    else:
        model = StreamedLinearization(squares, room, block)
    holding.kept[MODEL] = model
    return [model.residual]


def _pullback(holding: Holding, about: None, tensors: list[Tensor]) -> list[Tensor]:
    del about
    return [holding.kept[MODEL].pullback(tensors[0])]


def _push(holding: Holding, about: None, tensors: list[Tensor]) -> list[Tensor]:
    del about
    return [holding.kept[MODEL].push(tensors[0])]


def _gram(holding: Holding, about: None, tensors: list[Tensor]) -> list[Tensor]:
    del about, tensors
    return [holding.kept[MODEL].gram()]


def _against(holding: Holding, about: tuple[int, int, int], tensors: list[Tensor]) -> list[Tensor]:
    """J_own J_source^T for some rows of one process; nothing where that comes later."""
    del tensors
    source, first, last = about
    model: LocalLinearization = holding.kept[MODEL]
    size = len(holding.objective.flat)
    if holding.ranks.rank == source:
        rows = model.rows_between(first, last).contiguous()
    else:
        rows = model.residual.new_empty(last - first, size)
    holding.ranks.broadcast(rows, source)
    if holding.ranks.rank < source:
        return [rows.new_empty(0)]
    return [model.against(rows)]
