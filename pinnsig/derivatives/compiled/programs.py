"""Programs of symbols (`pinnsig.derivatives.symbols`): values forward, cotangents backward.

One small interpreter in C serves every program.
"""

import ctypes
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from pinnsig.derivatives.compiled.compiler import load
from pinnsig.derivatives.compiled.interpreter import STRIP, write_interpreter
from pinnsig.derivatives.compiled.tape import SCALARS
from pinnsig.derivatives.steps import OPERANDS, STEP, Step, Steps

ProgramCotangents = tuple[Tensor, list[tuple[Tensor, Tensor]]]
"""See `Program.pullback`."""


@cache
def find_interpreter(dtype: torch.dtype) -> ctypes.CDLL | None:
    """The interpreter for a type; None where there is no compiler."""
    library = load(write_interpreter(SCALARS[dtype])) if dtype in SCALARS else None
    if library is not None:
        pointer, size = ctypes.c_void_p, ctypes.c_long
        library.run.restype = None
        library.run.argtypes = [size] * 4 + [pointer] * 14
    return library


class Program:
    """A closed trace, ready to run on a table of partials.

    Args:
        trace: the steps.
        results: the places of the results among them, R of them.
        table: the partials that leaves are read from, shape (K, N, outputs), contiguous.
        interpreter: what runs it.
    """

    def __init__(
        self, trace: Steps, results: Sequence[int], table: Tensor, interpreter: ctypes.CDLL
    ) -> None:
        self.trace, self.table, self.interpreter = trace, table, interpreter
        self.results = len(results)
        code = _compiled(tuple(trace.steps), tuple(results))
        scalar = ctypes.c_float if table.dtype == torch.float32 else ctypes.c_double
        numbers = trace.numbers
        columns = trace.columns
        self.sizes = (table.shape[1], table.shape[2], code.steps, self.results)
        self.read = (
            code.code,
            code.results,
            (scalar * len(numbers))(*numbers),
            table.data_ptr(),
            (ctypes.c_void_p * len(columns))(*[c.data_ptr() for c in columns]),
            (ctypes.c_long * len(columns))(*[c.stride(0) for c in columns]),
        )
        self.work = table.new_empty(2 * code.steps * STRIP)

    def values(self) -> Tensor:
        """The results, shape (R, N)."""
        found = self.table.new_empty(self.results, self.table.shape[1])
        self._run(found.data_ptr(), None, None, None, None, None, None)
        return found

    def squares(self) -> Tensor:
        """The sums of the results' squares, shape (R,), float64."""
        found = torch.zeros(self.results, dtype=torch.float64)
        self._run(None, found.data_ptr(), None, None, None, None, None)
        return found

    def pullback(self, cotangents: Tensor) -> ProgramCotangents:
        """Carry cotangents of the results, shape (R, N), back.

        Returns:
            That of the table, and tensors within the code that gradients flow into, with theirs.
        """
        cotangents = cotangents.contiguous()
        return self._pullback(None, cotangents.data_ptr(), None)

    def pullback_squares(self, factors: Tensor) -> tuple[Tensor, ProgramCotangents]:
        """The sums of the results' squares, and the same from factors times the results.

        Args:
            factors: shape (R,), float64.
        """
        found = torch.zeros(self.results, dtype=torch.float64)
        factors = factors.contiguous()
        return found, self._pullback(found.data_ptr(), None, factors.data_ptr())

    def _pullback(self, squares: object, cotangents: object, factors: object) -> ProgramCotangents:
        below = torch.zeros_like(self.table)
        columns = self.trace.columns
        moved = {i: torch.zeros_like(c) for i, c in enumerate(columns) if c.requires_grad}
        into = (ctypes.c_void_p * len(columns))()
        for i, gradient in moved.items():
            into[i] = gradient.data_ptr()
        slopes = (ctypes.c_double * len(self.trace.numbers))()
        self._run(None, squares, cotangents, factors, below.data_ptr(), into, slopes)
        found = [(columns[i], gradient) for i, gradient in moved.items()]
        for place, tensor in self.trace.differentiable.items():
            found.append((tensor, tensor.new_tensor(slopes[place])))
        return below, found

    def _run(self, *rest: object) -> None:
        self.interpreter.run(*self.sizes, *self.read, self.work.data_ptr(), *rest)


class _Code(NamedTuple):
    code: object
    results: object
    steps: int


@lru_cache(maxsize=1024)
def _compiled(steps: tuple[Step, ...], results: tuple[int, ...]) -> _Code:
    live, places = _live(steps, results)
    code = (ctypes.c_int * (STEP * len(live)))(*(n for step in live for n in step))
    return _Code(code, (ctypes.c_int * len(places))(*places), len(live))


def _live(steps: Sequence[Step], results: Sequence[int]) -> tuple[list[Step], list[int]]:
    """Those steps that the results depend on, and the results' places among them.

    The others are not just idle: 0 times the infinite slope of one would be NaN.
    """
    needed = set(results)
    for place in range(len(steps) - 1, -1, -1):
        if place in needed:
            needed.update(n for n, operand in _operands(steps[place]) if operand == "c")
    kept = sorted(needed)
    new = {place: i for i, place in enumerate(kept)}
    found = []
    for code, *given in (steps[place] for place in kept):
        operands = [new[n] if o == "c" else n for n, o in _operands((code, *given))]
        found.append((code, *operands, *given[len(operands) :]))
    return found, [new[place] for place in results]


def _operands(step: Step) -> Iterable[tuple[int, str]]:
    """Its operands, each with what it is: see `Operation.operands`."""
    return zip(step[1:], OPERANDS[step[0]], strict=False)
