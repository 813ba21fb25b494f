"""Passes over the points: residuals of chunks, computed in threads, and the way back."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from pinnsig.core.threads import run_jobs
from pinnsig.derivatives import Engine, ForwardPass
from pinnsig.model import Model
from pinnsig.model.fields import features_of
from pinnsig.objective.blocks import Block, BoundTerms
from pinnsig.objective.chunks import Chunk, Cutter
from pinnsig.objective.residuals import Cotangents, Evaluator, Residuals

Take = Callable[[Chunk, Residuals, bool], tuple[Tensor, Cotangents | None]]
"""What is made of a chunk's residuals; see `Passes.run`."""


class Passes:
    """Takes the points of a model's blocks through its network and its problem's code.

    Args:
        model: the network, the problem, and its learned coefficients.
        engine: how partials are taken.
        blocks: all of the problem's.
        zeros: shape (2, terms), of the type that sums have.
    """

    def __init__(
        self, model: Model, engine: Engine, blocks: Sequence[Block], zeros: Tensor
    ) -> None:
        self.model, self.engine, self.zeros = model, engine, zeros
        parameters = list(model.parameters())
        self.cutter = Cutter(blocks, parameters, layers=engine.layers(model.network))
        self._evaluator = Evaluator(model.bound(), blocks, parameters[0])
        self._conditions = model.problem.terms()
        self.notices = self._evaluator.notices

    def run(self, gradient: Tensor | None, chunks: Sequence[Chunk], take: Take) -> Tensor:
        """Compute the residuals of chunks, and pull back what is made of them.

        Args:
            gradient: shape (P,), overwritten with the sum of what is pulled back; None for none.
            chunks: which ones.
            take: given a chunk, its residuals and whether to pull, gives two sums for each
                residual, shape (2, residuals), and what was pulled.

        Returns:
            The sums by term, shape (2, terms).
        """
        threads = self.cutter.threads()
        groups = self.cutter.groups(tuple(chunks), threads)
        coefficients = self.model.coefficients()
        # the threads stop at these; what lies behind them belongs to no single thread
        leaves = {name: value.detach().requires_grad_() for name, value in coefficients.items()}
        total = self.zeros.clone()
        spare: list[Tensor] = []  # what groups have summed in, and others may

        def work(group: int) -> tuple[Tensor, Tensor | None]:
            sums, slope = self.zeros.clone(), gradient
            if gradient is not None and group:  # the first goes straight into its place
                slope = spare.pop().zero_() if spare else torch.zeros_like(gradient)
            bound = self._bound_terms(leaves)
            with torch.set_grad_enabled(slope is not None):
                for chunk in groups[group]:
                    sums[:, chunk.terms] += self._visit(chunk, bound, leaves, take, slope)
            return sums, slope

        def collect(found: tuple[Tensor, Tensor | None]) -> None:
            sums, slope = found
            total.add_(sums)
            if gradient is not None and slope is not None and slope is not gradient:
                gradient.add_(slope)
                spare.append(slope)

        if gradient is not None:
            gradient.zero_()
        run_jobs(work, len(groups), threads, collect, single=threads == 1)
        if gradient is not None:
            self._chain(gradient, coefficients)
        return total

    def _bound_terms(self, leaves: Mapping[str, Tensor]) -> BoundTerms:
        """A problem of a thread's own, with conditions that read what is learned."""
        conditions = None if leaves else self._conditions
        return BoundTerms.of(self.model.problem.bound(leaves), conditions)

    def _visit(
        self,
        chunk: Chunk,
        bound: BoundTerms,
        leaves: Mapping[str, Tensor],
        take: Take,
        slope: Tensor | None,
    ) -> Tensor:
        """Sums over a chunk, shape (2, 1) or (2, terms of its block); what is pulled is added."""
        block, features, known = chunk.block, features_of(bound.problem), list(leaves.values())
        inputs = chunk.known_inputs(features)
        network = self.model.network
        carried = self.engine.carry(network, features, chunk.points, block.plan, inputs)
        residuals = self._evaluator.at(chunk, carried.table, bound, known)
        sums, found = take(chunk, residuals, slope is not None)
        if slope is not None and found is not None:
            _add(found, carried, known, slope)
        return block.by_term(sums)

    def _chain(self, gradient: Tensor, coefficients: dict[str, Tensor]) -> None:
        """From slopes in the learned coefficients, last in the vector, to those in parameters."""
        for i, (name, value) in enumerate(coefficients.items(), start=-len(coefficients)):
            (slope,) = torch.autograd.grad(value, self.model.unknowns[name])
            gradient[i] *= slope


def _add(found: Cotangents, carried: ForwardPass, leaves: Sequence[Tensor], slope: Tensor) -> None:
    """Add to `slope` what cotangents of table and leaves mean to parameters and leaves."""
    table, direct = found
    behind = len(slope) - len(leaves)
    through: Sequence[Tensor | None] = ()
    if table is not None:
        through = carried.add_gradient(table, slope[:behind], leaves)
    for cotangents in (direct, through):
        for i, value in enumerate(cotangents, start=behind):
            if value is not None:
                slope[i] += value
