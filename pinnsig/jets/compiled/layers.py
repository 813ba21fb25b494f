"""The elementwise part of a layer in C: an activation by Faa di Bruno's formula, both ways."""

from pinnsig.jets.compiled.forms import NativeForm
from pinnsig.jets.compiled.functions import write_functions
from pinnsig.jets.plan import Plan

Factors = tuple[tuple[int, int], ...]


def write_layers(plan: Plan, scalar: str, form: NativeForm) -> str:
    """The functions `activate` and `activate_back`.

    activate(n, h, z) writes the activated stack of h, K rows of n numbers. activate_back(n, h, g,
    z) does so too, and turns the gradient in z, given as g, into that in h.
    """
    k = len(plan)
    rows = range(k)
    forward = [
        *form.lines,
        *(f"T d{n} = {form.derivatives[n]};" for n in range(plan.order + 1)),
        *(f"T vh{j} = h[i + {j} * n];" for j in rows[1:]),
        *(f"z[i + {j} * n] = {total};" for j, total in _forward(plan).items()),
    ]
    backward = [
        *form.lines,
        *(f"T d{n} = {form.derivatives[n]};" for n in range(plan.order + 2)),
        *(f"T vh{j} = h[i + {j} * n];" for j in rows[1:]),
        *(f"T vg{j} = g[i + {j} * n];" for j in rows),
        *(f"z[i + {j} * n] = {total};" for j, total in _forward(plan).items()),
        *(f"g[i + {j} * n] = {total};" for j, total in _backward(plan).items()),
    ]
    return "".join(
        [
            write_functions(scalar),
            _loop("activate(long n, const T *restrict h, T *restrict z)", forward),
            _loop(
                "activate_back(long n, const T *restrict h, T *restrict g, T *restrict z)", backward
            ),
        ]
    )


def _loop(head: str, body: list[str]) -> str:
    lines = "\n        ".join(["T x = h[i];", *body])
    return f"""
void {head} {{
#pragma GCC ivdep
    for (long i = 0; i < n; i++) {{
        {lines}
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
