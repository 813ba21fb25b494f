"""Activations of several members with their slopes, and Adam, each in one pass over memory.

On a CPU with a compiler the formulas are those of `pinnsig.derivatives.compiled.forms`, as C;
elsewhere torch's operations do the same.
"""

import ctypes
import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import groupby

import torch
from torch import Tensor

from pinnsig.activations import Activation, join
from pinnsig.derivatives.compiled.compiler import load
from pinnsig.derivatives.compiled.forms import native_form
from pinnsig.derivatives.compiled.functions import write_functions
from pinnsig.derivatives.compiled.tape import SCALARS

ALIGNED = 64  # parts begin at multiples of it, so that vectors are the same however many there are
BLOCK = 2**16  # numbers; four arrays of them are 1 MB
SHARED = 2**19  # numbers, of which a second thread moves its part in less time than it costs

ACTIVATION = """
void value(long n, T *restrict h) {{
#pragma GCC ivdep
    for (long i = 0; i < n; i++) {{ T x = h[i]; {lines} h[i] = {f}; }}
}}
void both(long n, T *restrict h, T *restrict slope) {{
#pragma GCC ivdep
    for (long i = 0; i < n; i++) {{ T x = h[i]; {lines} h[i] = {f}; slope[i] = {df}; }}
}}
"""

ADAM = """
#include <math.h>
typedef {scalar} T;
void adam(long n, T *restrict theta, const T *restrict g, T *restrict m, T *restrict v,
          T length, T root, T beta1, T beta2, T epsilon) {{
#pragma GCC ivdep
    for (long i = 0; i < n; i++) {{
        m[i] += (1 - beta1) * (g[i] - m[i]);
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        theta[i] -= length * m[i] / ({sqrt}(v[i]) * root + epsilon);
    }}
}}
"""

Value = Callable[[Tensor], None]
Both = Callable[[Tensor, Tensor], None]


class Elementwise:
    """The members' activations on tensors of shape (M, ...), in place.

    Args:
        activations: one for each member.
        like: sets type and device.

    Attributes:
        compiled: whether all of them are C.
    """

    def __init__(self, activations: Sequence[Activation], like: Tensor) -> None:
        self._groups: list[tuple[slice, Value, Both]] = []
        self.compiled = True
        for members, activation in _groups(activations, like):
            functions = None
            if like.device.type == "cpu":
                functions = _compiled(activation, like.dtype)
            self.compiled &= functions is not None
            self._groups.append((members, *(functions or _by_torch(activation))))

    def value_(self, h: Tensor) -> Tensor:
        """Turn h, contiguous, into f(h); return it."""
        for members, value, _ in self._groups:
            value(h[members])
        return h

    def both_(self, h: Tensor, slope: Tensor) -> None:
        """Turn h, contiguous, into f(h), and write f'(h) into `slope`."""
        for members, _, both in self._groups:
            both(h[members], slope[members])


def _groups(activations: Sequence[Activation], like: Tensor) -> Iterator[tuple[slice, Activation]]:
    """Members next to each other that one call can serve."""
    joined = join(activations) if len(activations) > 1 and like.device.type != "cpu" else None
    if joined is not None:
        yield slice(None), joined
        return
    start = 0
    for activation, same in groupby(activations):
        count = len(list(same))
        yield slice(start, start + count), activation
        start += count


def _by_torch(activation: Activation) -> tuple[Value, Both]:
    def value(h: Tensor) -> None:
        h.copy_(activation.derivatives(h, 0)[0])

    def both(h: Tensor, slope: Tensor) -> None:
        found = activation.derivatives(h, 1)
        h.copy_(found[0])
        slope.copy_(found[1])

    return value, both


@cache
def _compiled(activation: Activation, dtype: torch.dtype) -> tuple[Value, Both] | None:
    form = native_form(activation)
    if form is None or dtype not in SCALARS:
        return None
    f, df = form.derivatives[:2]
    body = ACTIVATION.format(lines=" ".join(form.lines), f=f, df=df)
    library = load(write_functions(SCALARS[dtype]) + body)
    if library is None:
        return None
    pointer = ctypes.c_void_p
    library.value.argtypes = [ctypes.c_long, pointer]
    library.both.argtypes = [ctypes.c_long, pointer, pointer]

    def value(h: Tensor) -> None:
        library.value(h.numel(), h.data_ptr())

    def both(h: Tensor, slope: Tensor) -> None:
        library.both(h.numel(), h.data_ptr(), slope.data_ptr())

    return value, both


class BlockedAdam:
    """Adam (Kingma and Ba 2015, algorithm 1) for M members, each with a learning rate of its own.

    Args:
        theta: shape (M, P), moved in place.
        gradient: shape (M, P).
        rates: learning rates, shape (M,).
        beta1, beta2, epsilon: see the source.
    """

    def __init__(
        self,
        theta: Tensor,
        gradient: Tensor,
        rates: Sequence[float],
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
    ) -> None:
        self.theta, self.gradient = theta, gradient
        self.rates = torch.tensor(rates, dtype=torch.float64)
        self.mean, self.square = torch.zeros_like(theta), torch.zeros_like(theta)
        self.betas, self.epsilon = (beta1, beta2), epsilon
        self.steps = 0
        # what changes from step to step, where a recorded step reads it: lengths, 1 / root
        self._numbers = torch.zeros(len(theta) + 1, dtype=theta.dtype, device=theta.device)
        on_cpu = theta.device.type == "cpu"
        self._kernel = _adam_kernel(theta.dtype) if on_cpu else None
        width = max(BLOCK // len(theta), 1) if on_cpu else theta.shape[1]
        self._blocks = [slice(start, start + width) for start in range(0, theta.shape[1], width)]

    def count(self) -> None:
        """Begin a step: its length follows from how many there were."""
        self.steps += 1
        beta1, beta2 = self.betas
        lengths = self.rates / (1 - beta1**self.steps)
        root = (1 - beta2**self.steps) ** -0.5
        self._numbers.copy_(torch.cat([lengths, torch.tensor([root], dtype=torch.float64)]))

    def move(self) -> None:
        """Move theta by its gradient, after `count`."""
        beta1, beta2 = self.betas
        if self._kernel is not None:
            *lengths, root = self._numbers.tolist()
            for member, length in enumerate(lengths):
                self._share(member, length, root, beta1, beta2, self.epsilon)
            return
        lengths, root = self._numbers[:-1].unsqueeze(1), self._numbers[-1]
        for block in self._blocks:
            g, m, v = self.gradient[:, block], self.mean[:, block], self.square[:, block]
            m.lerp_(g, 1 - beta1)
            v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            scale = v.sqrt().mul_(root).add_(self.epsilon)
            self.theta[:, block].sub_((m / scale).mul_(lengths))

    def _share(self, member: int, *numbers: float) -> None:
        """One member's step in C, a part of it on each of torch's threads."""
        kernel = self._kernel
        assert kernel is not None
        size, itemsize = self.theta.shape[1], self.theta.element_size()
        rows = (self.theta, self.gradient, self.mean, self.square)
        starts = [row[member].data_ptr() for row in rows]

        def move(first: int, last: int) -> None:  # C gives the interpreter free
            kernel(last - first, *(start + first * itemsize for start in starts), *numbers)

        threads = min(torch.get_num_threads(), size // SHARED) or 1
        ends = [*(size * i // threads // ALIGNED * ALIGNED for i in range(threads)), size]
        others = [_pool().submit(move, *part) for part in itertools.pairwise(ends[1:])]
        move(*ends[:2])
        for other in others:
            other.result()

    def state(self) -> dict[str, Tensor | int]:
        """Both means and the number of steps."""
        return {"mean": self.mean, "square": self.square, "steps": self.steps}

    def load(self, state: dict[str, Tensor | int]) -> None:
        """Go on from a state."""
        self.mean.copy_(state["mean"])  # type: ignore[arg-type]
        self.square.copy_(state["square"])  # type: ignore[arg-type]
        self.steps = int(state["steps"])


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="adam")


@cache
def _adam_kernel(dtype: torch.dtype) -> Callable[..., None] | None:
    if dtype not in SCALARS:
        return None
    scalar = SCALARS[dtype]
    library = load(ADAM.format(scalar=scalar, sqrt="sqrtf" if scalar == "float" else "sqrt"))
    if library is None:
        return None
    real = ctypes.c_float if scalar == "float" else ctypes.c_double
    library.adam.argtypes = [ctypes.c_long, *[ctypes.c_void_p] * 4, *[real] * 5]
    return library.adam
