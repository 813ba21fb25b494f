"""What is printed of an activation's rules, run: C through a compiled library, Triton interpreted.

As a program it runs under TRITON_INTERPRET=1: `printed.py X OUT EXPRESSION...` reads x from X and
writes f to f''' of each expression to OUT.
"""

import ctypes
import linecache
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from pinnsig.activations import MAX_ORDER, Activation, parse_activation
from pinnsig.derivatives.compiled.compiler import load
from pinnsig.derivatives.compiled.forms import native_form
from pinnsig.derivatives.compiled.functions import write_functions
from pinnsig.derivatives.compiled.tape import SCALARS
from pinnsig.derivatives.fused.forms import write_activation

LOOP = """
void evaluate(long n, const T *at, T *restrict out) {{
    for (long i = 0; i < n; i++) {{ T x = at[i]; {body} }}
}}
"""

KERNEL = """

@triton.jit
def evaluate(at, out, N: tl.constexpr):
    place = tl.arange(0, N)
    f0, f1, f2, f3 = {function}(tl.load(at + place))
    tl.store(out + place, f0)
    tl.store(out + N + place, f1)
    tl.store(out + 2 * N + place, f2)
    tl.store(out + 3 * N + place, f3)
"""


def in_c(f: Activation, x: Tensor) -> Tensor:
    """f and its derivatives in C, shape (6, N)."""
    form = native_form(f)
    assert form is not None
    stores = [f"out[{n} * n + i] = {d};" for n, d in enumerate(form.derivatives)]
    body = " ".join([*form.lines, *stores])
    library = load(write_functions(SCALARS[x.dtype]) + LOOP.format(body=body))
    assert library is not None
    out = x.new_empty(MAX_ORDER + 1, len(x))
    pointers = (ctypes.c_void_p(t.data_ptr()) for t in (x, out))
    library.evaluate(ctypes.c_long(len(x)), *pointers)
    return out


def in_triton(expressions: Sequence[str], x: Tensor, scratch: Path) -> dict[str, Tensor]:
    """f to f''' of each expression in Triton, each of shape (4, N); N is a power of 2."""
    torch.save(x, scratch / "x.pt")
    variables = {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, scratch / "x.pt", scratch / "out.pt", *expressions]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return torch.load(scratch / "out.pt")


def _interpret(f: Activation, x: Tensor) -> Tensor:
    import triton  # pyright: ignore[reportMissingImports]
    import triton.language as tl  # pyright: ignore[reportMissingImports]

    functions, name = write_activation(f)
    source, file = functions + KERNEL.format(function=name), f"printed {f}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"__name__": file, "triton": triton, "tl": tl}
    exec(compile(source, file, "exec"), space)
    out = x.new_empty(4, len(x))
    space["evaluate"][(1,)](x, out, N=len(x))  # pyright: ignore[reportIndexIssue]
    return out


if __name__ == "__main__":
    at, to, *texts = sys.argv[1:]
    points = torch.load(at)
    torch.save({text: _interpret(parse_activation(text), points) for text in texts}, to)
