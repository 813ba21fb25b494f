"""The elementwise part of a layer in C: an activation by Faa di Bruno's formula, both ways."""

from pinnsig.derivatives.compiled.forms import NativeForm
from pinnsig.derivatives.compiled.functions import write_functions
from pinnsig.derivatives.compiled.network import tile_points
from pinnsig.derivatives.plan import Plan

Factors = tuple[tuple[int, int], ...]


def write_layers(plan: Plan, scalar: str, form: NativeForm) -> str:
    """The functions `activate` and `activate_back`.

    activate(units, bias, h, z) adds the bias to h, a tile's stack, and writes the activated one to
    z. activate_back(units, h, g, z) writes z again, and turns the gradient in z, given as g, into
    that in h.
    """
    rows = range(len(plan))
    reads = [f"T vh{k} = h[i + {k} * TILE];" for k in rows[1:]]
    activated = [f"z[i + {k} * TILE] = {total};" for k, total in _forward(plan).items()]
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
        *(f"g[i + {k} * TILE] = {total};" for k, total in _backward(plan).items()),
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


def _forward(plan: Plan) -> dict[int, str]:
    sums = {k: [f"d1 * vh{k}"] for k in range(1, len(plan))}
    for k, coefficient, order, factors in plan.higher:
        sums[k].append(_times(coefficient, f"d{order}", *_powers(factors)))
    return {0: "d0", **{k: " + ".join(terms) for k, terms in sums.items()}}


def _backward(plan: Plan) -> dict[int, str]:
    rows = range(1, len(plan))
    sums = {0: ["d1 * vg0", *(f"d2 * vh{k} * vg{k}" for k in rows)]}
    sums |= {k: [f"d1 * vg{k}"] for k in rows}
    for k, coefficient, order, factors in plan.higher:
        sums[0].append(_times(coefficient, f"vg{k}", *_powers(factors), f"d{order + 1}"))
        for place, (j, power) in enumerate(factors):
            fewer = tuple((i, p - (q == place)) for q, (i, p) in enumerate(factors))
            product = _times(coefficient * power, f"vg{k}", f"d{order}", *_powers(fewer))
            sums[j].append(product)
    return {k: " + ".join(terms) for k, terms in sums.items()}


def _times(coefficient: float, *factors: str) -> str:
    return " * ".join([*([] if coefficient == 1 else [f"(T){coefficient!r}"]), *factors])


def _powers(factors: Factors) -> list[str]:
    return [f"vh{j}" for j, power in factors for _ in range(power)]
