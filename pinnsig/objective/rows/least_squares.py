"""The loss as a sum of squares: scaled residuals, their Jacobian by rows, and its pullback."""

from collections.abc import Iterator

import torch
from torch import Tensor

from pinnsig.core.types import Flat, Jacobian, RowValues
from pinnsig.objective import Objective, Weights
from pinnsig.objective.chunks import Chunk
from pinnsig.objective.residuals import Cotangents, Residuals
from pinnsig.objective.rows.jacobian import jacobian_blocks


class LeastSquares:
    """Residuals r with loss = |r|^2 at the parameters as they stand, in the order of their rows.

    Args:
        objective: what is minimised.
        weights: with which it is minimised; None for the objective's own.

    Source: Nocedal and Wright, Numerical Optimization (2006), chapter 10.
    """

    def __init__(self, objective: Objective, weights: Weights | None = None) -> None:
        self.objective = objective
        self.weights = weights or objective.weights
        self.starts: dict[str, int] = {}  # where each block's rows begin
        start = 0
        for block in objective.blocks:
            self.starts[block.name] = start
            start += block.rows
        self.count = start

    def residuals(self) -> RowValues:
        """Return r."""
        found = self.objective.flat.values.new_empty(self.count)

        def take(
            chunk: Chunk, residuals: Residuals, backward: bool
        ) -> tuple[Tensor, Cotangents | None]:
            del backward
            scaled = residuals.values * self._scales(chunk)
            for i, rows in enumerate(self._places(chunk)):
                found[rows] = scaled[i]
            return self.objective.means.new_zeros(2, residuals.count), None

        self.objective.passes.run(None, self.objective.chunks(), take)
        return found

    def pullback(self, cotangent: RowValues) -> Flat:
        """Return J^T u for a cotangent u of r."""

        def take(
            chunk: Chunk, residuals: Residuals, backward: bool
        ) -> tuple[Tensor, Cotangents | None]:
            del backward
            own = torch.stack([cotangent[rows] for rows in self._places(chunk)])
            pulled = residuals.pullback(own * self._scales(chunk))
            return self.objective.means.new_zeros(2, residuals.count), pulled

        gradient = torch.zeros_like(self.objective.flat.values)
        self.objective.passes.run(gradient, self.objective.chunks(), take)
        return gradient

    def blocks(
        self, most: int, out: Jacobian | None = None
    ) -> Iterator[tuple[slice, RowValues, Jacobian]]:
        """See `pinnsig.optim.Rows.blocks`; J is scaled in place."""
        for rows in jacobian_blocks(self.objective, most, out, self.weights):
            scale = rows.weights.sqrt().to(rows.residual)
            yield rows.rows, rows.residual * scale, rows.jacobian.mul_(scale.unsqueeze(1))

    def _scales(self, chunk: Chunk) -> Tensor:
        """Roots of the weights of a chunk's residuals, shape (residuals, 1) or (residuals, M)."""
        of_terms = (self.weights.terms * self.objective.means)[chunk.terms].sqrt()
        scales = of_terms.expand(chunk.block.residuals).to(chunk.points).unsqueeze(1)
        if self.weights.points is None or not chunk.block.is_interior:
            return scales
        return scales * self.weights.points[chunk.span]

    def _places(self, chunk: Chunk) -> list[slice]:
        """Where the rows of each of a chunk's residuals stand among all."""
        block, stride = chunk.block, chunk.block.stride
        length = len(block) // stride
        start, stop = chunk.span.start // stride, chunk.span.stop // stride
        first = self.starts[block.name]
        return [
            slice(first + i * length + start, first + i * length + stop)
            for i in range(block.residuals)
        ]
