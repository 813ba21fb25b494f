"""The elementwise part of a layer in C: an activation by Faa di Bruno's formula, both ways."""

from collections.abc import Iterable

from pinnsig.derivatives.compiled.forms import NativeForm
from pinnsig.derivatives.compiled.functions import write_functions
from pinnsig.derivatives.compiled.tiles import tile_points
from pinnsig.derivatives.formula import Formula
from pinnsig.derivatives.plan import Plan

NAMES = {"f": "d", "h": "vh", "g": "vg"}
"""What rows are called in C: f's derivatives, and columns of the stacks."""


def write_layers(plan: Plan, scalar: str, form: NativeForm) -> str:
    """The functions `activate` and `activate_back`.

    activate(units, bias, h, z) adds the bias to h, a tile's stack, and writes the activated one to
    z. activate_back(units, h, g, z) writes z again, and turns the gradient in z, given as g, into
    that in h.
    """
    rows = range(len(plan))
    reads = [f"T vh{k} = h[i + {k} * TILE];" for k in rows[1:]]
    activated = [f"z[i + {k} * TILE] = {total};" for k, total in _rows(plan.composition)]
    forward = [
        "T x = h[i] + bias[unit];",
        "h[i] = x;",
        *form.lines,
        *(f"T d{n} = {form.derivatives[n]};" for n in range(plan.order + 1)),
        *reads,
        *activated,
    ]
    backward = [
        "T x = h[i];",
        *form.lines,
        *(f"T d{n} = {form.derivatives[n]};" for n in range(plan.order + 2)),
        *reads,
        *(f"T vg{k} = g[i + {k} * TILE];" for k in rows),
        *activated,
        *(f"g[i + {k} * TILE] = {total};" for k, total in _rows(plan.composition_adjoint)),
    ]
    tile = tile_points(len(plan))
    size = f"#define TILE {tile}\n#define STACK {len(plan) * tile}"
    forward_head = "activate(long units, const T *bias, T *restrict h, T *restrict z)"
    backward_head = "activate_back(long units, const T *restrict h, T *restrict g, T *restrict z)"
    return "\n".join(
        [
            write_functions(scalar),
            size,
            _loop(forward_head, "h += STACK, z += STACK", forward),
            _loop(backward_head, "h += STACK, g += STACK, z += STACK", backward),
        ]
    )


def _loop(head: str, onwards: str, body: list[str]) -> str:
    lines = "\n            ".join(body)
    return f"""
void {head} {{
    for (long unit = 0; unit < units; unit++, {onwards}) {{
#pragma GCC ivdep
        for (long i = 0; i < TILE; i++) {{
            {lines}
        }}
    }}
}}
"""


def _rows(formula: Formula) -> Iterable[tuple[int, str]]:
    return formula.write(lambda stack, k: f"{NAMES[stack]}{k}", lambda c: f"(T){c!r}").items()
