"""The pass through a composition of operations as compiled C."""

import ctypes
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from pinnsig.derivatives.compiled.operation_library import OperationLibrary
from pinnsig.derivatives.tape import Tape
from pinnsig.derivatives.workspace import Workspace


@lru_cache(maxsize=1024)
def _layout(library: OperationLibrary, points: int) -> tuple[ctypes.Array[ctypes.c_long], int, int]:
    """Sizes as C reads them, and how many numbers a pass keeps and works with."""
    partials, *others = library.sizes
    shape = (ctypes.c_long * (len(others) + 2))(partials, points, *others)
    return shape, library.passes.kept(shape), library.passes.worked(shape)


class CompiledOperationTape(Tape):
    """The pass as two calls into C, during which other threads run; see `OperationTape`."""

    def __init__(
        self, inputs: Tensor, given: Sequence[Tensor], library: OperationLibrary, keep: bool
    ) -> None:
        self.library, self.inputs = library, inputs.contiguous()
        self.given = [tensor.contiguous() for tensor in given]
        self.pointers = (ctypes.c_void_p * len(given))(*[t.data_ptr() for t in self.given])
        self.shape, kept, worked = _layout(library, inputs.shape[1])
        kept = kept if keep else 0
        self.space = Workspace(kept + worked + 32, inputs)
        self.work = self.space.address(worked)
        self.states = self.space.address(kept) if keep else None
        self.steps = library.keeping if keep else library.forward

    def forward(self) -> Tensor:
        """See `Tape.forward`."""
        outputs = self.steps[len(self.steps) - 1].units
        table = self.inputs.new_empty(*self.inputs.shape[:2], outputs)
        read = self.pointers, self.inputs.data_ptr()
        steps = self.steps, len(self.steps)
        self.library.passes.forward(
            self.shape, *steps, *read, self.work, self.states, table.data_ptr()
        )
        return table

    def add_gradient(self, cotangent: Tensor, into: Tensor, inputs: bool) -> Tensor | None:
        """See `Tape.add_gradient`."""
        below = torch.empty_like(self.inputs) if inputs else None
        self._backward(cotangent, into, below, 0, 0)
        return below

    def write_rows(self, cotangent: Tensor, stride: int, out: Tensor) -> Tensor:
        """See `Tape.write_rows`."""
        below = torch.empty_like(self.inputs)
        for place in self.library.unused:
            out[:, place] = 0
        self._backward(cotangent, out, below, stride, out.stride(0))
        return below

    def _backward(
        self, cotangent: Tensor, gradient: Tensor, below: Tensor | None, stride: int, columns: int
    ) -> None:
        cotangent, steps = cotangent.contiguous(), self.library.reverse[below is not None]
        read = self.library.trained, self.pointers, self.inputs.data_ptr()
        given = self.work, self.states, cotangent.data_ptr()
        made = gradient.data_ptr(), None if below is None else below.data_ptr()
        self.library.passes.backward(
            self.shape, steps, len(steps), *read, *given, *made, stride, columns
        )
