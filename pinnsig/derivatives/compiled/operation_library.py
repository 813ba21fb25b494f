"""Compiled C and its steps for a composition of operations, a plan and a type."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import torch

from pinnsig.activations import Activation
from pinnsig.derivatives.compiled.compiler import load
from pinnsig.derivatives.compiled.operations import PAD, write_leibniz, write_operations
from pinnsig.derivatives.compiled.reverse_steps import reverse_steps
from pinnsig.derivatives.compiled.steps import (
    Code,
    Steps,
    ahead,
    forward_steps,
    slots,
)
from pinnsig.derivatives.compiled.tape import SCALARS, find_layers
from pinnsig.derivatives.compiled.tiles import tile_points
from pinnsig.derivatives.plan import Plan
from pinnsig.networks import Structure
from pinnsig.networks.operations import Activate, Linear

_NUMBERS = (
    "code", "units", "z", "a", "b", "depth", "ahead", "tensor", "bias", "size", "sums", "column",
    "add", "second",
)  # fmt: skip


class _Step(ctypes.Structure):
    """A step as C reads it."""

    _fields_ = (
        *((name, ctypes.c_long) for name in _NUMBERS),
        ("factor", ctypes.c_double),
        ("shift", ctypes.c_double),
        ("function", ctypes.c_void_p),
    )


@dataclass(frozen=True, eq=False)
class OperationLibrary:
    """C functions and steps for a structure, a plan and a type.

    Attributes:
        passes: the library that runs steps.
        functions: the libraries that steps point into, alive.
        sizes: what all steps share, but for the number of points; see the C source.
        forward, keeping: steps of the pass that keeps nothing, and of that with a way back.
        reverse: steps of the way back, without the inputs' cotangent and with it.
        trained: of each trained tensor where its sums are, rows and columns; see the C source.
        unused: which columns of the gradient no step writes.
    """

    passes: ctypes.CDLL
    functions: Sequence[ctypes.CDLL]
    sizes: tuple[int, ...]
    forward: ctypes.Array[_Step]
    keeping: ctypes.Array[_Step]
    reverse: tuple[ctypes.Array[_Step], ctypes.Array[_Step]]
    trained: ctypes.Array[ctypes.c_long]
    unused: Sequence[slice]


@lru_cache(maxsize=256)
def find_operations(
    structure: Structure, plan: Plan, dtype: torch.dtype
) -> OperationLibrary | None:
    """The passes through these operations; None where there is no compiler, or a form lacks."""
    forms = _forms(structure)
    if dtype not in SCALARS or forms is None:
        return None
    scalar = SCALARS[dtype]
    acts = {op.activation for op in structure.operations if isinstance(op, Activate)}
    layers = {activation: find_layers(activation, plan, dtype) for activation in acts}
    passes, leibniz = _passes(scalar), load(write_leibniz(plan, scalar))
    if passes is None or leibniz is None or None in layers.values():
        return None
    functions = _Functions({a: found for a, found in layers.items() if found}, leibniz)
    return _library(structure, plan, forms, passes, functions)


@dataclass(frozen=True)
class _Functions:
    """Addresses of what depends on plan or activation."""

    layers: Mapping[Activation, ctypes.CDLL]
    leibniz: ctypes.CDLL

    def address(self, code: Code, activation: Activation | None) -> int | None:
        """Of what a step calls, if it calls anything."""
        names = {
            Code.ACTIVATE: "activate",
            Code.ACTIVATE_BACK: "activate_back",
            Code.MULTIPLY: "multiply",
            Code.MULTIPLY_BACK: "multiply_back",
        }
        if code not in names:
            return None
        library = self.leibniz if activation is None else self.layers[activation]
        return ctypes.cast(library[names[code]], ctypes.c_void_p).value


@cache
def _passes(scalar: str) -> ctypes.CDLL | None:
    library = load(write_operations(scalar))
    if library is not None:
        pointer, size = ctypes.c_void_p, ctypes.c_long
        for count in (library.kept, library.worked):
            count.restype, count.argtypes = size, [pointer]
        library.forward.restype = library.backward.restype = None
        library.forward.argtypes = [pointer] * 2 + [size] + [pointer] * 5
        library.backward.argtypes = [pointer] * 2 + [size] + [pointer] * 8 + [size] * 2
    return library


def _forms(structure: Structure) -> dict[int, int] | None:
    """Columns of each tensor that is read as a matrix, 0 of others; None where one is both."""
    found: dict[int, int] = {}
    for operation in structure.operations:
        for tensor in operation.tensors:
            columns = 0
            if isinstance(operation, Linear) and tensor == operation.weight:
                columns = structure.widths[operation.source]
            if found.setdefault(tensor, columns) != columns:
                return None
    return found


def _library(
    structure: Structure,
    plan: Plan,
    forms: Mapping[int, int],
    passes: ctypes.CDLL,
    functions: _Functions,
) -> OperationLibrary:
    tile = tile_points(len(plan))
    columns, widest = len(plan) * tile, -(-max(structure.widths) // PAD) * PAD
    reverse = [reverse_steps(structure, inputs) for inputs in (False, True)]
    kept = sorted({value for made in reverse for value in made.kept})
    states, wanted = {}, 0
    for value in kept:
        states[value] = -1 - wanted
        wanted += structure.widths[value] * columns
    sums, entries, total = {}, [], 0
    for tensor in structure.places:
        size, width = structure.sizes[tensor], forms.get(tensor)
        if width is None:
            entries += [-1, size, 0]
            continue
        sums[tensor] = total
        entries += [total, size // width if width else size, width]
        total += size // width * (-(-width // PAD) * PAD) if width else size * tile
    encode = _Encoder(structure, widest * columns, states, sums, functions)
    passing = [forward_steps(structure, ()), forward_steps(structure, kept), *reverse]
    forward, keeping, *back = (encode(made) for made in passing)
    sizes = len(plan), tile, encode.slots * widest * columns, widest, wanted, total
    return OperationLibrary(
        passes,
        [*functions.layers.values(), functions.leibniz],
        (*sizes, len(structure.places)),
        forward,
        keeping,
        (back[0], back[1]),
        (ctypes.c_long * len(entries))(*entries),
        [place for tensor, place in structure.places.items() if tensor not in forms],
    )


class _Encoder:
    """Makes steps into what C reads.

    Attributes:
        slots: registers that all passes so far can do with.
    """

    def __init__(
        self,
        structure: Structure,
        size: int,
        states: Mapping[int, int],
        sums: Mapping[int, int],
        functions: _Functions,
    ) -> None:
        self.structure, self.size, self.states = structure, size, states
        self.sums, self.functions, self.slots = sums, functions, 0

    def __call__(self, made: Steps) -> ctypes.Array[_Step]:
        places, count = slots(made)
        self.slots = max(self.slots, count)
        at = {register: place * self.size for register, place in places.items()}
        at |= {register: self.states[value] for value, register in made.kept.items()}
        found = []
        for step, following in zip(made.steps, ahead(made), strict=True):
            tensor = step.tensor
            own = self.structure.places.get(-1 if tensor is None else tensor)
            numbers = {
                "code": step.code,
                "units": step.units,
                "z": 0 if step.z is None else at[step.z],
                "a": 0 if step.a is None else at[step.a],
                "b": 0 if step.b is None else at[step.b],
                "depth": step.depth,
                "ahead": 0 if following is None else at[following],
                "tensor": -1 if tensor is None else tensor,
                "bias": -1 if step.bias is None else step.bias,
                "size": 0 if tensor is None else self.structure.sizes[tensor],
                "sums": 0 if tensor is None else self.sums.get(tensor, 0),
                "column": 0 if own is None else own.start,
                "add": step.add,
                "second": step.second,
                "factor": step.factor,
                "shift": step.shift,
                "function": self.functions.address(step.code, step.activation),
            }
            found.append(_Step(**numbers))
        return (_Step * len(found))(*found)
