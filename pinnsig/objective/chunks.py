"""Cutting the points into chunks, which are carried through the network one at a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from pinnsig.core.threads import balance
from pinnsig.core.types import Column, CoordinateTable, InputTable, Points
from pinnsig.derivatives import Features, Jet, coordinate_jets, input_partials
from pinnsig.objective.blocks import Block

# Stack elements (partials x points x width) carried at once through all layers: elsewhere as many
# as memory holds, on a CPU few enough to stay near; in deep networks, those of so many layers
ELEMENTS_CPU = 2**22
LAYERS_CPU = 16
ELEMENTS_ELSEWHERE = 2**30

# Stack elements over all layers; with fewer, threads mostly wait for their turn in Python
ELEMENTS_PER_THREAD = 2**21

# So many groups are summed apart, whoever computes them: with more of them than threads, one that
# gets less of a core holds up nobody for long
GROUPS_PER_THREAD = 4


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some of a block's points, and where its terms stand among all terms.

    What depends on the points alone is worked out once.
    """

    block: Block
    span: slice
    terms: slice

    def __len__(self) -> int:
        return self.span.stop - self.span.start

    @cached_property
    def cost(self) -> float:
        """Work in it, in arbitrary units."""
        return len(self.block.plan) * len(self)

    @cached_property
    def points(self) -> Points:
        """Its points."""
        return self.block.points[self.span]

    def extra(self) -> dict[str, Column]:
        """Return their extra columns, copies for a problem's code to read."""
        return {key: column[self.span].clone() for key, column in self.block.extra.items()}

    def at(self) -> dict[str, Jet]:
        """Return their coordinates by name, copies for a problem's code to read."""
        return coordinate_jets(self.block.plan.coordinates, self.points)

    @cached_property
    def coordinates(self) -> CoordinateTable:
        """The plan's partials of the coordinates."""
        return input_partials(None, self.points, self.block.plan)

    def refresh(self) -> None:
        """Work out again what is kept, in the same place: the block has other points."""
        if "coordinates" in vars(self):
            self.coordinates.copy_(input_partials(None, self.points, self.block.plan))

    def known_inputs(self, features: Features | None) -> InputTable | None:
        """Return partials of the network's inputs, where they are kept: of uncut blocks."""
        whole = len(self) == len(self.block)
        return self.coordinates if whole and features is None else None


class Cutter:
    """Cuts blocks for a network of given size.

    Args:
        blocks: what is cut.
        parameters: the network's parameters, in whose matrices the width is read.
        members: how many networks carry each chunk, every one at points of its own.
        layers: stacks of all partials that a pass keeps; None for one of each matrix.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        parameters: Sequence[Tensor],
        members: int = 1,
        layers: int | None = None,
    ) -> None:
        matrices = [p for p in parameters if p.ndim > 1]
        self.blocks, self.members = blocks, members
        self.cpu = parameters[0].device.type == "cpu"
        self.width = max((p.shape[0] for p in matrices), default=1)
        self.layers = layers or max(len(matrices), 1)
        self.rows = sum(len(block.plan) * len(block) for block in blocks)
        self._cuts: dict[int, tuple[Chunk, ...]] = {}
        self._groups: dict[tuple[Chunk, ...], list[list[Chunk]]] = {}

    def threads(self) -> int:
        """How many threads share the work: as many as torch uses, but fewer for little work."""
        if not self.cpu:
            return 1
        work = self.members * self.rows * self.width * self.layers
        return min(torch.get_num_threads(), 1 + work // ELEMENTS_PER_THREAD)

    def chunks(self) -> tuple[Chunk, ...]:
        """All points in chunks, small enough, and no fewer than there are threads."""
        threads = self.threads()
        if threads not in self._cuts:
            self._cuts[threads] = tuple(self._cut(threads))
        return self._cuts[threads]

    def refresh(self) -> None:
        """Meet other points in the same places."""
        for chunk in {chunk for chunks in self._cuts.values() for chunk in chunks}:
            chunk.refresh()

    def groups(self, chunks: tuple[Chunk, ...], threads: int) -> list[list[Chunk]]:
        """The same chunks in groups of about the same work, which depend on the threads' number."""
        if chunks not in self._groups:
            groups = 1 if threads == 1 else GROUPS_PER_THREAD * threads
            dealt = balance([chunk.cost for chunk in chunks], groups)
            self._groups[chunks] = [[chunks[i] for i in group] for group in dealt if group]
        return self._groups[chunks]

    def _cut(self, threads: int) -> list[Chunk]:
        layers = min(self.layers, LAYERS_CPU) if self.cpu else self.layers
        room = (ELEMENTS_CPU if self.cpu else ELEMENTS_ELSEWHERE) // layers // self.members
        found, first = [], 0
        for block in self.blocks:
            longest = max(room // (len(block.plan) * self.width), 64)
            count = max(math.ceil(len(block) / longest), min(threads, len(block) // 256), 1)
            length = math.ceil(len(block) / count / block.stride) * block.stride
            terms = slice(first, first + len(block.terms))
            for start in range(0, len(block), length):
                found.append(Chunk(block, slice(start, min(start + length, len(block))), terms))
            first = terms.stop
        return found
