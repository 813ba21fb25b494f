"""The pass through a whole network as compiled C."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import torch
from torch import Tensor

from pinnsig.activations import Activation
from pinnsig.jets.compiled.compiler import load
from pinnsig.jets.compiled.forms import native_form
from pinnsig.jets.compiled.layers import write_layers
from pinnsig.jets.compiled.network import tile_points, write_network
from pinnsig.jets.plan import Plan
from pinnsig.jets.tape import Tape
from pinnsig.jets.workspace import Workspace

SCALARS = {torch.float32: "float", torch.float64: "double"}


@dataclass(frozen=True)
class Library:
    """C functions for an activation, a plan and a type."""

    network: ctypes.CDLL
    layers: ctypes.CDLL


@lru_cache(maxsize=256)
def find_library(activation: Activation, plan: Plan, dtype: torch.dtype) -> Library | None:
    """The passes for this activation, plan and type; None where there is no compiler or form."""
    form = native_form(activation)
    if form is None or dtype not in SCALARS:
        return None
    network = _network(SCALARS[dtype])
    layers = network and load(write_layers(plan, SCALARS[dtype], form))
    return Library(network, layers) if network and layers else None


@cache
def _network(scalar: str) -> ctypes.CDLL | None:
    library = load(write_network(scalar))
    if library is not None:
        pointer = ctypes.c_void_p
        for count in (library.kept, library.worked):
            count.restype, count.argtypes = ctypes.c_long, [pointer]
        library.forward.restype = library.backward.restype = None
        library.forward.argtypes = [pointer] * 7
        library.backward.argtypes = [pointer] * 9 + [ctypes.c_long] * 2
    return library


class CompiledTape(Tape):
    """The pass as two calls into C, during which other threads run; see `LayerTape`."""

    def __init__(
        self, inputs: Tensor, weights: Sequence[Tensor], library: Library, keep: bool
    ) -> None:
        self.library = library
        self.inputs = inputs.contiguous()
        self.weights = [weight.contiguous() for weight in weights]
        k, n, columns = inputs.shape
        outputs, width = weights[-2].shape
        sizes = (k, n, columns, width, outputs, len(weights) // 2 - 1, tile_points(k))
        self.shape = (ctypes.c_long * len(sizes))(*sizes)
        self.pointers = (ctypes.c_void_p * len(weights))(*[w.data_ptr() for w in self.weights])
        kept = library.network.kept(self.shape) if keep else 0
        worked = library.network.worked(self.shape)
        self.space = Workspace(kept + worked + 16, inputs)
        self.work, self.states = self.space.take(worked), self.space.take(kept)
        self.keep = keep

    def forward(self) -> Tensor:
        """See `Tape.forward`."""
        table = self.inputs.new_empty(*self.inputs.shape[:2], self.weights[-1].numel())
        tensors = (self.inputs, self.work, self.states if self.keep else None, table)
        network, layers = self.library.network, self.library.layers
        network.forward(self.shape, layers.activate, self.pointers, *_pointers(*tensors))
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
        tensors = (self.inputs, self.work, self.states, cotangent, gradient, below)
        network, layers = self.library.network, self.library.layers
        pointers = (self.pointers, *_pointers(*tensors))
        network.backward(self.shape, layers.activate_back, *pointers, stride, columns)


def _pointers(*tensors: Tensor | None) -> list[int | None]:
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]
