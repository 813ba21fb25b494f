"""Writes the kernels of a plan and an activation as Triton source, and loads them.

A program carries all K partials of a block of one member's points as K tiles h0, h1, ... of shape
(BLOCK, WIDTH) through all hidden layers. Triton has no lists of tiles whose length is a parameter,
so the K copies of each line are written out here.
"""

import hashlib
import linecache
from functools import lru_cache
from typing import Any, NamedTuple

from pinnsig.activations import Activation
from pinnsig.derivatives.fused.forms import factor_names, write_activation
from pinnsig.derivatives.plan import Plan

_FORWARD = """

@triton.jit(do_not_specialize=["points", "members"])
def forward(first, weights, biases, factors, hidden, last, points, members, LAYERS: tl.constexpr,
            WIDTH: tl.constexpr, BLOCK: tl.constexpr, SAVE: tl.constexpr, PRECISION: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    member = tl.program_id(1).to(tl.int64)
    {load_factors}
    own = points.to(tl.int64) * WIDTH
    plane = members * own
    units = tl.arange(0, WIDTH)
    rows = tl.arange(0, BLOCK)
    inside = (block * BLOCK + rows < points)[:, None]
    at = rows[:, None] * WIDTH + units[None, :]
    matrix = units[:, None] * WIDTH + units[None, :]
    first += member * own + block * BLOCK * WIDTH
    hidden += member * own + block * BLOCK * WIDTH
    last += member * own + block * BLOCK * WIDTH
    weights += member * LAYERS * WIDTH * WIDTH
    biases += member * LAYERS * WIDTH
    {load_first}
    for layer in range(LAYERS):
        if SAVE:
            {save}
        {activate}
        w = tl.trans(tl.load(weights + matrix))
        {multiply}
        h0 += tl.load(biases + units)[None, :]
        hidden += {K} * plane
        weights += WIDTH * WIDTH
        biases += WIDTH
    if SAVE:
        {save_last}
    {activate_last}
    {store_last}
"""

# g: gradient in h; u: gradient in z. The tile of weight gradients is added to one of several
# slabs: the fewer programs share a slab, the fewer collide.
_BACKWARD = """

@triton.jit(do_not_specialize=["points", "members", "start", "slabs"])
def backward(grad, weights, factors, hidden, grad_first, grad_weights, grad_biases, points, members,
             start, slabs, LAYERS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
             PRECISION: tl.constexpr):
    member = tl.program_id(1).to(tl.int64)
    slab = member * slabs + tl.program_id(0) % slabs
    block = (start + tl.program_id(0)).to(tl.int64)
    {load_factors}
    own = points.to(tl.int64) * WIDTH
    plane = members * own
    units = tl.arange(0, WIDTH)
    rows = tl.arange(0, BLOCK)
    inside = (block * BLOCK + rows < points)[:, None]
    at = rows[:, None] * WIDTH + units[None, :]
    matrix = units[:, None] * WIDTH + units[None, :]
    grad += member * own + block * BLOCK * WIDTH
    grad_first += member * own + block * BLOCK * WIDTH
    hidden += member * own + block * BLOCK * WIDTH + LAYERS * {K} * plane
    weights += (member + 1) * LAYERS * WIDTH * WIDTH
    grad_weights += (slab + 1) * LAYERS * WIDTH * WIDTH
    grad_biases += (slab + 1) * LAYERS * WIDTH
    {load_hidden_last}
    {load_grad}
    {activate_backward_last}
    for layer in range(LAYERS):
        hidden -= {K} * plane
        weights -= WIDTH * WIDTH
        grad_weights -= WIDTH * WIDTH
        grad_biases -= WIDTH
        {load_hidden}
        {activate_before}
        {outer}
        tl.atomic_add(grad_weights + matrix, dw, sem="relaxed")
        tl.atomic_add(grad_biases + units, tl.sum(g0, axis=0), sem="relaxed")
        w = tl.load(weights + matrix)
        {multiply_back}
        {activate_backward}
    {store_first}
"""


class Kernels(NamedTuple):
    """The two compiled-on-demand kernels of a plan and an activation."""

    forward: Any
    backward: Any


@lru_cache(maxsize=256)
def load_kernels(activation: Activation, plan: Plan) -> Kernels:
    """Kernels for a plan of order <= 2; Triton must be importable."""
    import triton  # pyright: ignore[reportMissingImports]
    import triton.language as tl  # pyright: ignore[reportMissingImports]

    source = write_source(activation, plan)
    name = f"pinnsig_fused_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    # Triton reads the source of its functions back, from the cache of lines if there is no file
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"__name__": name, "triton": triton, "tl": tl}
    exec(compile(source, name, "exec"), space)
    return Kernels(space["forward"], space["backward"])


def write_source(activation: Activation, plan: Plan) -> str:
    """The source of a module with the kernels `forward` and `backward`."""
    functions, f = write_activation(activation)
    every = range(len(plan))
    dot = "tl.dot({}, {}, input_precision=PRECISION)"
    names = factor_names(activation)
    evaluate = f"f0, f1, f2, f3 = {f}({', '.join(['h0', *names])})"
    outer = [dot.format("tl.trans(g0)", "z0")]
    outer += [f"tl.dot(tl.trans(g{k}), z{k}, dw, input_precision=PRECISION)" for k in every[1:]]
    parts = {
        "load_factors": [
            f"{name} = tl.load(factors + {slot} * members + member)"
            for slot, name in enumerate(names)
        ],
        "load_first": _load("h", "first", every),
        "save": _store("h", "hidden", every),
        "activate": [evaluate, *write_forward(plan)],
        "multiply": [f"h{k} = {dot.format(f'z{k}', 'w')}" for k in every],
        "store_last": _store("z", "last", every),
        "load_hidden": _load("h", "hidden", every),
        "load_grad": _load("u", "grad", every),
        "multiply_back": [f"u{k} = {dot.format(f'g{k}', 'w')}" for k in every],
        "outer": [f"dw = {line}" for line in outer],
        "activate_backward": write_backward(plan),
        "store_first": _store("g", "grad_first", every),
    }
    parts["activate_before"] = parts["activate"]
    parts["save_last"], parts["activate_last"] = parts["save"], parts["activate"]
    parts["load_hidden_last"] = parts["load_hidden"]
    parts["activate_backward_last"] = [evaluate, *parts["activate_backward"]]
    text = functions + _FORWARD + _BACKWARD
    for line in dict.fromkeys(text.splitlines()):
        key = line.strip()[1:-1]
        if key in parts:
            indent = line[: len(line) - len(line.lstrip())]
            text = text.replace(line + "\n", "".join(f"{indent}{p}\n" for p in parts[key]))
    return text.replace("{K}", str(len(plan)))


def _load(name: str, pointer: str, every: range) -> list[str]:
    place = "{} + {} * plane + at"
    return [
        f"{name}{k} = tl.load({place.format(pointer, k)}, mask=inside, other=0.0)" for k in every
    ]


def _store(name: str, pointer: str, every: range) -> list[str]:
    return [f"tl.store({pointer} + {k} * plane + at, {name}{k}, mask=inside)" for k in every]


def write_forward(plan: Plan) -> list[str]:
    """z = f(h) by Faa di Bruno's formula."""
    rows = plan.composition.write(lambda stack, k: f"{stack}{k}")
    return [f"z{k} = {total}" for k, total in rows.items()]


def write_backward(plan: Plan) -> list[str]:
    """g from u."""
    rows = plan.composition_adjoint.write(lambda stack, k: f"{'u' if stack == 'g' else stack}{k}")
    return [f"g{k} = {total}" for k, total in rows.items()]
