"""The pass through a whole network as compiled C."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from pinnsig.activations import Activation
from pinnsig.derivatives.compiled.compiler import load
from pinnsig.derivatives.compiled.forms import native_form
from pinnsig.derivatives.compiled.layers import write_layers
from pinnsig.derivatives.compiled.network import write_network
from pinnsig.derivatives.compiled.tiles import tile_points
from pinnsig.derivatives.plan import Plan
from pinnsig.derivatives.tape import Tape
from pinnsig.derivatives.workspace import Workspace

SCALARS = {torch.float32: "float", torch.float64: "double"}


@dataclass(frozen=True, eq=False)
class Library:
    """C functions for an activation, a plan and a type."""

    network: ctypes.CDLL
    layers: ctypes.CDLL


@lru_cache(maxsize=256)
def find_library(activation: Activation, plan: Plan, dtype: torch.dtype) -> Library | None:
    """The passes for this activation, plan and type; None where there is no compiler or form."""
    layers = find_layers(activation, plan, dtype)
    network = layers and _network(SCALARS[dtype])
    return Library(network, layers) if network and layers else None


def find_layers(activation: Activation, plan: Plan, dtype: torch.dtype) -> ctypes.CDLL | None:
    """The elementwise part of a layer; None where there is no compiler or form."""
    form = native_form(activation)
    if form is None or dtype not in SCALARS:
        return None
    return load(write_layers(plan, SCALARS[dtype], form))


@cache
def _network(scalar: str) -> ctypes.CDLL | None:
    library = load(write_network(scalar))
    if library is not None:
        pointer, size = ctypes.c_void_p, ctypes.c_long
        for count in (library.kept, library.worked):
            count.restype, count.argtypes = size, [pointer]
        library.forward.restype = library.backward.restype = None
        library.forward.argtypes = [pointer] * 7
        library.backward.argtypes = [pointer] * 9 + [size] * 2
    return library


class _Layout(NamedTuple):
    """A pass's sizes as C reads them, and what follows from them; see the C source."""

    shape: object
    kept: int
    worked: int


@lru_cache(maxsize=1024)
def _layout(library: Library, sizes: tuple[int, ...]) -> _Layout:
    sizes = (*sizes, tile_points(sizes[0]))
    shape, network = (ctypes.c_long * len(sizes))(*sizes), library.network
    return _Layout(shape, network.kept(shape), network.worked(shape))


class CompiledTape(Tape):
    """The pass as two calls into C, during which other threads run; see `LayerTape`."""

    def __init__(
        self, inputs: Tensor, weights: Sequence[Tensor], library: Library, keep: bool
    ) -> None:
        self.library = library
        self.inputs = inputs.contiguous()
        self.weights = [weight.contiguous() for weight in weights]
        outputs, width = weights[-2].shape
        layout = _layout(library, (*inputs.shape, width, outputs, len(weights) // 2 - 1))
        self.shape = layout.shape
        self.pointers = (ctypes.c_void_p * len(weights))(*[w.data_ptr() for w in self.weights])
        kept = layout.kept if keep else 0
        self.space = Workspace(kept + layout.worked + 16, inputs)
        self.work = self.space.address(layout.worked)
        self.states = self.space.address(kept) if keep else None

    def forward(self) -> Tensor:
        """See `Tape.forward`."""
        table = self.inputs.new_empty(*self.inputs.shape[:2], self.weights[-1].numel())
        read = self.pointers, self.inputs.data_ptr()
        network, layers = self.library.network, self.library.layers
        made = self.states, table.data_ptr()
        network.forward(self.shape, layers.activate, *read, self.work, *made)
        return table

    def add_gradient(self, cotangent: Tensor, into: Tensor, inputs: bool) -> Tensor | None:
        """See `Tape.add_gradient`."""
        below = torch.empty_like(self.inputs) if inputs else None
        self._backward(cotangent, into, below, 0, 0)
        return below

    def write_rows(self, cotangent: Tensor, stride: int, out: Tensor) -> Tensor:
        """See `Tape.write_rows`."""
        below = torch.empty_like(self.inputs)
        self._backward(cotangent, out, below, stride, out.stride(0))
        return below

    def _backward(
        self, cotangent: Tensor, gradient: Tensor, below: Tensor | None, stride: int, columns: int
    ) -> None:
        cotangent = cotangent.contiguous()
        read = self.pointers, self.inputs.data_ptr()
        given = self.states, cotangent.data_ptr()
        made = gradient.data_ptr(), None if below is None else below.data_ptr()
        network, layers = self.library.network, self.library.layers
        back = layers.activate_back
        network.backward(self.shape, back, *read, self.work, *given, *made, stride, columns)
