"""A block's residuals from a table of partials, and the way back to what they depend on."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ResidualSums, ResidualValues, Scalar, Table
from pinnsig.derivatives import Jet, Trace, output_jets, symbol_jets
from pinnsig.derivatives.compiled import Program, ProgramCotangents, find_interpreter
from pinnsig.model.fields import fields_of
from pinnsig.objective.blocks import Block, BoundTerms
from pinnsig.objective.chunks import Chunk
from pinnsig.problem import Problem

Cotangents = tuple[Table | None, Sequence[Scalar | None]]
"""Of a table of partials, and of what else residuals depend on."""


class Residuals(ABC):
    """Residuals with their way back.

    Attributes:
        count: how many there are, R.
    """

    count: int

    @cached_property
    @abstractmethod
    def values(self) -> ResidualValues:
        """The residuals, outside autograd."""

    @abstractmethod
    def pullback(self, cotangents: ResidualValues) -> Cotangents:
        """Return the cotangents of the table and of the leaves, from those of the residuals."""

    @abstractmethod
    def squares(
        self, factors: ResidualSums, backward: bool
    ) -> tuple[ResidualSums, Cotangents | None]:
        """Return sums of squares, and if wanted what factors times the residuals pull.

        Args:
            factors: of the type that squares are summed in.
            backward: whether anything is pulled.
        """


class Evaluator:
    """Runs the code of a problem's residuals, on a CPU as programs where symbols can follow it.

    Whether symbols can is tried once, at a few points; where they cannot at some later time,
    tensors take over for that time.

    Args:
        problem: whose fields they are computed from.
        blocks: all that will be evaluated.
        like: a tensor that sets type and device.

    Attributes:
        notices: a line for each block that symbols cannot follow.
    """

    def __init__(self, problem: Problem, blocks: Sequence[Block], like: Tensor) -> None:
        self._reasons: dict[str, str] = {}
        self.interpreter = find_interpreter(like.dtype) if like.device.type == "cpu" else None
        self.followed: set[str] = set()  # names of blocks
        self.notices: list[str] = []
        if self.interpreter is not None:
            bound = BoundTerms.of(problem)
            self.followed = {block.name for block in blocks if self._follows(block, bound, like)}
            self.notices = [
                f"{name}: its code is run by torch's operations, which take some 2.5 times as long "
                f"as compiled ones; in the way is {self._reasons[name]}"
                for name, reached in ((block.name, block.stride == 1) for block in blocks)
                # pairs of points are taken apart by torch anyway
                if reached and name in self._reasons
            ]

    def at(
        self, chunk: Chunk, table: Table, bound: BoundTerms, leaves: Sequence[Scalar]
    ) -> Residuals:
        """The residuals of a chunk's block.

        Args:
            chunk: points of a block.
            table: the partials of the network's outputs there, a leaf.
            bound: the problem with its coefficients' values.
            leaves: what else the residuals may depend on.
        """
        program = self._trace(chunk, table, bound) if chunk.block.name in self.followed else None
        if program is not None:
            return _Programmed(program, leaves)
        found = self._run(chunk, output_jets(table, chunk.block.plan), bound)
        return _Graphed(found, table, leaves)

    def _run(self, chunk: Chunk, outputs: list[Jet], bound: BoundTerms) -> list[Tensor]:
        at = chunk.at()
        fields = fields_of(bound.problem, outputs, at)
        residual = bound.residuals.get(chunk.block.name)
        if residual is None:
            raise ProblemError(
                f"{type(bound.problem).__name__}.conditions gives other conditions each time it is "
                f"called: {chunk.block.name!r} was among them, and is none of them now"
            )
        return list(residual(fields, at, chunk.extra()).values())

    def _follows(self, block: Block, bound: BoundTerms, like: Tensor) -> bool:
        some = Chunk(block, slice(0, min(2 * block.stride, len(block))), slice(0))
        table = like.new_zeros(len(block.plan), len(some), len(bound.problem.outputs))
        return len(some) > 0 and self._trace(some, table, bound) is not None

    def _trace(self, chunk: Chunk, table: Table, bound: BoundTerms) -> Program | None:
        trace = Trace(chunk.points[:, 0])
        assert self.interpreter is not None
        try:
            found = self._run(chunk, symbol_jets(trace, table.shape[2], chunk.block.plan), bound)
            results = trace.close(found)
        except Exception as error:  # also a fault of the code, which shows with tensors, too
            self._reasons.setdefault(chunk.block.name, str(error))
            return None
        return Program(trace, results, table.detach().contiguous(), self.interpreter)


class _Graphed(Residuals):
    """By autograd, through the tensors of the code."""

    def __init__(self, found: list[Tensor], table: Table, leaves: Sequence[Scalar]) -> None:
        self.found, self.sources = found, [table, *leaves]
        self.count = len(found)

    @cached_property
    def values(self) -> ResidualValues:
        """See `Residuals.values`."""
        return torch.stack([r.detach() for r in self.found])

    def pullback(self, cotangents: ResidualValues) -> Cotangents:
        """See `Residuals.pullback`."""
        # a residual may depend on nothing that is trained
        moved = [(r, c) for r, c in zip(self.found, cotangents, strict=True) if r.requires_grad]
        if not moved:
            return None, [None] * (len(self.sources) - 1)
        found, below = zip(*moved, strict=True)
        table, *direct = torch.autograd.grad(found, self.sources, below, allow_unused=True)
        return table, direct

    def squares(
        self, factors: ResidualSums, backward: bool
    ) -> tuple[ResidualSums, Cotangents | None]:
        """See `Residuals.squares`."""
        values = self.values
        sums = values.square().sum(1, dtype=factors.dtype)
        if not backward:
            return sums, None
        return sums, self.pullback(factors.to(values).unsqueeze(1) * values)


class _Programmed(Residuals):
    """By a program; autograd takes only what the code computes from the leaves alone."""

    def __init__(self, program: Program, leaves: Sequence[Scalar]) -> None:
        self.program, self.leaves = program, leaves
        self.count = program.results

    @cached_property
    def values(self) -> ResidualValues:
        """See `Residuals.values`."""
        return self.program.values()

    def pullback(self, cotangents: ResidualValues) -> Cotangents:
        """See `Residuals.pullback`."""
        return self._further(self.program.pullback(cotangents))

    def squares(
        self, factors: ResidualSums, backward: bool
    ) -> tuple[ResidualSums, Cotangents | None]:
        """See `Residuals.squares`."""
        if not backward:
            return self.program.squares(), None
        sums, pulled = self.program.pullback_squares(factors)
        return sums, self._further(pulled)

    def _further(self, pulled: ProgramCotangents) -> Cotangents:
        table, within = pulled
        if not within:
            return table, [None] * len(self.leaves)
        tensors, cotangents = zip(*within, strict=True)
        return table, torch.autograd.grad(tensors, self.leaves, cotangents, allow_unused=True)
