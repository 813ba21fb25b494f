"""Programs of symbols (`pinnsig.jets.symbols`) in C: values forward, cotangents backward.

One small interpreter serves every program. It takes a strip of points through all steps before the
next one, so that what it keeps stays in the nearest cache, and each step is a loop that compilers
turn into vector code. Reverse mode: Griewank and Walther, Evaluating Derivatives (2008), chapter 3.
"""

import ctypes
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from pinnsig.jets.compiled.compiler import load
from pinnsig.jets.compiled.functions import write_functions
from pinnsig.jets.compiled.tape import SCALARS
from pinnsig.jets.symbols import CODE, Listing, Step

Pulled = tuple[Tensor, list[tuple[Tensor, Tensor]]]
"""See `Program.pull`."""

STRIP = 128
"""Points in a strip."""

# of x, or x and y, with the result z: the value, and what the cotangent g adds to those of x and y
RULES = {
    "add": ("x[i] + y[i]", "g[i]", "g[i]"),
    "sub": ("x[i] - y[i]", "g[i]", "-g[i]"),
    "mul": ("x[i] * y[i]", "g[i] * y[i]", "g[i] * x[i]"),
    "div": ("x[i] / y[i]", "g[i] / y[i]", "-g[i] * z[i] / y[i]"),
    "add_number": ("x[i] + c", "g[i]"),
    "mul_number": ("x[i] * c", "g[i] * c"),
    "pow_number": ("F(pow)(x[i], c)", "g[i] * (c * F(pow)(x[i], c - 1))"),
    "sqrt": ("F(sqrt)(x[i])", "g[i] / (2 * z[i])"),
    "exp": ("F(exp)(x[i])", "g[i] * z[i]"),
    "log": ("F(log)(x[i])", "g[i] / x[i]"),
    "sin": ("F(sin)(x[i])", "g[i] * F(cos)(x[i])"),
    "cos": ("F(cos)(x[i])", "-g[i] * F(sin)(x[i])"),
    "tanh": ("tanh_at(x[i])", "g[i] * (1 - z[i] * z[i])"),
    "sinh": ("F(sinh)(x[i])", "g[i] * F(cosh)(x[i])"),
    "cosh": ("F(cosh)(x[i])", "g[i] * F(sinh)(x[i])"),
    "abs": ("size_of(x[i])", "g[i] * ((x[i] > 0) - (x[i] < 0))"),
    "sign": ("(x[i] > 0) - (x[i] < 0)", "0"),
    "reciprocal": ("1 / x[i]", "-g[i] * z[i] * z[i]"),
}
# what a number gets from the cotangent of a step that it is in
NUMBERS = {"add_number": "g[i]", "mul_number": "g[i] * x[i]"}

_HEAD = f"""
#define STRIP {STRIP}
#define EACH for (long i = 0; i < STRIP; i++)
static inline T tanh_at(T x) {{ T e, r; return tanh_of(x, &e, &r); }}
"""

_RUN = """
/* steps: three numbers each; results: their steps; work: two strips for each step. The results go
   to `values`, the sums of their squares to `squares`, each where it is not null. Their cotangents
   are given, or `factors` times themselves; with either, what comes last is filled. */
void run(
    long points, long outputs, long steps, long results, const int *code, const int *result,
    const T *numbers, const T *table, const T *const *columns, const long *strides, T *work,
    T *values, double *squares, const T *cotangents, const double *factors, T *below,
    T *const *pulls, double *slopes) {
    T *adjoints = work + steps * STRIP;
    for (long start = 0; start < points; start += STRIP) {
        long w = points - start < STRIP ? points - start : STRIP;
        for (long s = 0; s < steps; s++) {
            long a = code[3 * s + 1], b = code[3 * s + 2];
            T *restrict z = work + s * STRIP;
            const T *x = work + a * STRIP, *y = work + b * STRIP;
            switch (code[3 * s]) {
            case LEAF:
                for (long i = 0; i < w; i++) z[i] = table[(a * points + start + i) * outputs + b];
                for (long i = w; i < STRIP; i++) z[i] = 1;
                break;
            case COLUMN:
                for (long i = 0; i < w; i++) z[i] = columns[a][(start + i) * strides[a]];
                for (long i = w; i < STRIP; i++) z[i] = 1;
                break;
{forward}
            }
        }
        for (long r = 0; values && r < results; r++)
            for (long i = 0; i < w; i++)
                values[r * points + start + i] = work[result[r] * STRIP + i];
        for (long r = 0; squares && r < results; r++) {
            const T *z = work + result[r] * STRIP;
            double sum = 0;
            for (long i = 0; i < w; i++) sum += (double)z[i] * z[i];
            squares[r] += sum;
        }
        if (!cotangents && !factors) continue;
        for (long j = 0; j < steps * STRIP; j++) adjoints[j] = 0;
        for (long r = 0; r < results; r++) {
            T *g = adjoints + result[r] * STRIP, factor = factors ? factors[r] : 0;
            const T *z = work + result[r] * STRIP;
            for (long i = 0; i < w; i++)
                g[i] += factors ? factor * z[i] : cotangents[r * points + start + i];
        }
        for (long s = steps - 1; s >= 0; s--) {
            long a = code[3 * s + 1], b = code[3 * s + 2];
            const T *restrict z = work + s * STRIP, *restrict g = adjoints + s * STRIP;
            const T *x = work + a * STRIP, *y = work + b * STRIP;
            T *to = adjoints + a * STRIP, *with = adjoints + b * STRIP;
            switch (code[3 * s]) {
            case LEAF:
                for (long i = 0; i < w; i++) below[(a * points + start + i) * outputs + b] = g[i];
                break;
            case COLUMN:
                for (long i = 0; pulls[a] && i < w; i++) pulls[a][start + i] = g[i];
                break;
{backward}
            }
        }
    }
}
"""


def write_programs(scalar: str) -> str:
    """The function `run`, for `float` or `double`."""
    names = "\n".join(f"#define {name.upper()} {code}" for name, code in CODE.items())
    suffix = {"float": "f", "double": ""}[scalar]
    function = f"#define F(name) __builtin_##name{'##f' if suffix else ''}"
    forward, backward = [], []
    for name, (value, *slopes) in RULES.items():
        number = "T c = numbers[b]; " if name.endswith("_number") else ""
        forward.append(
            f"            case {name.upper()}: {{ {number}EACH z[i] = {value}; break; }}"
        )
        back = " ".join(
            f"EACH {to}[i] += {slope};" for to, slope in zip(("to", "with"), slopes, strict=False)
        )
        if name in NUMBERS:
            back += f" for (long i = 0; i < w; i++) slopes[b] += {NUMBERS[name]};"
        backward.append(f"            case {name.upper()}: {{ {number}{back} break; }}")
    run = _RUN.replace("{forward}", "\n".join(forward)).replace("{backward}", "\n".join(backward))
    return "\n".join([write_functions(scalar), names, function, _HEAD, run])


@cache
def find_interpreter(dtype: torch.dtype) -> ctypes.CDLL | None:
    """The interpreter for a type; None where there is no compiler."""
    library = load(write_programs(SCALARS[dtype])) if dtype in SCALARS else None
    if library is not None:
        pointer, size = ctypes.c_void_p, ctypes.c_long
        library.run.restype = None
        library.run.argtypes = [size] * 4 + [pointer] * 14
    return library


class Program:
    """A closed listing, ready to run on a table of partials.

    Args:
        listing: the steps.
        results: the places of the results among them, R of them.
        table: the partials that leaves are read from, shape (K, N, outputs), contiguous.
        interpreter: what runs it.
    """

    def __init__(
        self, listing: Listing, results: Sequence[int], table: Tensor, interpreter: ctypes.CDLL
    ) -> None:
        self.listing, self.table, self.interpreter = listing, table, interpreter
        self.results = len(results)
        code = _compiled(tuple(listing.steps), tuple(results))
        self.scalar = ctypes.c_float if table.dtype == torch.float32 else ctypes.c_double
        numbers = listing.numbers
        columns = [column.detach() for column in listing.columns]  # kept until it has run
        self.columns = columns
        self.sizes = (table.shape[1], table.shape[2], code.steps, self.results)
        self.read = (
            code.code,
            code.results,
            (self.scalar * len(numbers))(*numbers),
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

    def pull(self, cotangents: Tensor) -> Pulled:
        """Carry cotangents of the results, shape (R, N), back.

        Returns:
            That of the table, and tensors within the code that gradients flow into, with theirs.
        """
        cotangents = cotangents.contiguous()
        return self._pull(None, cotangents.data_ptr(), None)

    def pull_squares(self, factors: Tensor) -> tuple[Tensor, Pulled]:
        """The sums of the results' squares, and the same from factors times the results.

        Args:
            factors: shape (R,), float64.
        """
        found = torch.zeros(self.results, dtype=torch.float64)
        factors = factors.contiguous()
        return found, self._pull(found.data_ptr(), None, factors.data_ptr())

    def _pull(self, squares: object, cotangents: object, factors: object) -> Pulled:
        below = torch.zeros_like(self.table)
        columns = self.listing.columns
        pulls = [torch.zeros_like(c) if c.requires_grad else None for c in columns]
        pointers = [None if pull is None else pull.data_ptr() for pull in pulls]
        slopes = (ctypes.c_double * len(self.listing.numbers))()
        into = (ctypes.c_void_p * len(pulls))(*pointers)
        self._run(None, squares, cotangents, factors, below.data_ptr(), into, slopes)
        found = [(c, p) for c, p in zip(columns, pulls, strict=True) if p is not None]
        for place, tensor in self.listing.graded.items():
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
    code = (ctypes.c_int * (3 * len(live)))(*(n for step in live for n in step))
    return _Code(code, (ctypes.c_int * len(places))(*places), len(live))


def _live(steps: Sequence[Step], results: Sequence[int]) -> tuple[list[Step], list[int]]:
    """Those steps that the results depend on, and the results' places among them.

    The others are not just idle: 0 times the infinite slope of one would be NaN.
    """
    needed = set(results)
    for place in range(len(steps) - 1, -1, -1):
        if place in needed:
            code, a, b = steps[place]
            if code > CODE["column"]:
                needed.add(a)
            if CODE["column"] < code <= CODE["div"]:
                needed.add(b)
    kept = sorted(needed)
    new = {place: i for i, place in enumerate(kept)}
    found = []
    for place in kept:
        code, a, b = steps[place]
        if code > CODE["column"]:
            a = new[a]
        if CODE["column"] < code <= CODE["div"]:
            b = new[b]
        found.append((code, a, b))
    return found, [new[place] for place in results]
