"""Faa di Bruno's and Leibniz's formulas as torch, C and Triton have them, and their adjoints."""

import ctypes
import math
import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnsig.derivatives import Plan
from pinnsig.derivatives.compiled.compiler import load
from pinnsig.derivatives.compiled.forms import NativeForm
from pinnsig.derivatives.compiled.layers import write_layers
from pinnsig.derivatives.compiled.tiles import tile_points
from pinnsig.derivatives.formula import Formula, Row, Term
from pinnsig.derivatives.fused.source import write_backward, write_forward
from pinnsig.derivatives.product_rule import product_terms

alphas = st.tuples(*[st.integers(0, 4)] * 3).filter(lambda alpha: sum(alpha) <= 4)
plans = st.lists(alphas, max_size=3).map(lambda wanted: Plan.closing(("x", "y", "t"), wanted))
slopes = st.tuples(*[st.floats(0.3, 1.5)] * 3)


def normals(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def powers(p, plan):
    """The partials of exp(p . x) by its value."""
    factors = [math.prod(a**k for a, k in zip(p, alpha, strict=True)) for alpha in plan.alphas]
    return torch.tensor(factors, dtype=torch.float64)[:, None]


@settings(deadline=None, max_examples=20)
@given(plans, slopes, slopes)
def test_the_product_of_two_exponentials(plan, p, q):
    z = torch.empty(len(plan), 1, dtype=torch.float64)
    plan.product.evaluate({"a": powers(p, plan), "b": powers(q, plan)}, z)
    together = tuple(a + b for a, b in zip(p, q, strict=True))
    torch.testing.assert_close(z, powers(together, plan), rtol=1e-13, atol=0)
    for k, row in enumerate(z):
        terms = [
            c * powers(p, plan)[i] * powers(q, plan)[j]
            for m, c, i, j in product_terms(plan.alphas)
            if m == k
        ]
        torch.testing.assert_close(sum(terms), row)


@settings(deadline=None, max_examples=20)
@given(plans, slopes)
def test_the_logarithm_of_an_exponential_is_linear(plan, p):
    f = [torch.zeros(1, dtype=torch.float64)]
    f += [torch.tensor([(-1.0) ** (n - 1) * math.factorial(n - 1)]).double() for n in range(1, 5)]
    z = torch.empty(len(plan), 1, dtype=torch.float64)
    plan.composition.evaluate({"f": f, "h": powers(p, plan)}, z)
    linear = [p[alpha.index(1)] if sum(alpha) == 1 else 0.0 for alpha in plan.alphas]
    scale = powers(p, plan)
    expected = torch.tensor(linear, dtype=torch.float64)[:, None]
    torch.testing.assert_close(z / scale, expected / scale, rtol=1e-12, atol=1e-12)


def sines(h, order):
    return [torch.sin(h + n * math.pi / 2) for n in range(order + 1)]


def printed(formula, stacks):
    """What the text gives, as Python, and Triton, reads it."""
    rows = formula.write(lambda stack, k: f"{stack}[{k}]")
    return torch.stack([torch.zeros_like(stacks["g"][0]) + eval(text, {}, stacks)
                        for text in rows.values()])  # fmt: skip


@settings(deadline=None, max_examples=20)
@given(plans, st.integers(0, 99))
def test_adjoints_are_those_of_autograd(plan, seed):
    h, a, b, g = (normals(len(plan), 5, seed=seed + n) for n in range(4))
    for leaf in (h, a, b):
        leaf.requires_grad_()
    z = printed(plan.composition, {"f": sines(h[0], plan.order), "h": h, "g": g})
    (below,) = torch.autograd.grad(z, h, g)
    stacks = {"f": sines(h[0], plan.order + 1), "h": h.detach(), "g": g.clone()}
    torch.testing.assert_close(printed(plan.composition_adjoint, stacks), below)
    with torch.no_grad():
        plan.composition_adjoint.evaluate(stacks, stacks["g"])  # in place, as layers do it
    torch.testing.assert_close(stacks["g"], below)

    z = printed(plan.product, {"a": a, "b": b, "g": g})
    factors = {"a": a.detach(), "b": b.detach(), "g": g}
    for name, below in zip("ab", torch.autograd.grad(z, [a, b], g), strict=True):
        found = torch.empty_like(g)
        plan.product.adjoint(name).evaluate(factors, found)
        torch.testing.assert_close(found, below)
        torch.testing.assert_close(printed(plan.product.adjoint(name), factors), below)


@settings(deadline=None, max_examples=20)
@given(plans.filter(lambda plan: plan.order <= 2), st.integers(0, 99))
def test_the_lines_of_a_triton_kernel_are_the_same_numbers(plan, seed):
    h, u = normals(len(plan), 5, seed=seed), normals(len(plan), 5, seed=seed + 1)
    f = sines(h[0], 3)
    space = {f"{name}{k}": row for name, rows in (("h", h), ("u", u), ("f", f))
             for k, row in enumerate(rows)}  # fmt: skip
    exec("\n".join([*write_forward(plan), *write_backward(plan)]), space)
    z, g = torch.empty_like(h), torch.empty_like(h)
    plan.composition.evaluate({"f": f, "h": h}, z)
    plan.composition_adjoint.evaluate({"f": f, "h": h, "g": u}, g)
    torch.testing.assert_close(torch.stack([space[f"z{k}"] for k in range(len(plan))]), z)
    torch.testing.assert_close(torch.stack([space[f"g{k}"] for k in range(len(plan))]), g)


SIXTH_POWER = NativeForm([], [f"{math.perm(6, n)}{' * x' * (6 - n)}" for n in range(6)])


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@settings(max_examples=6, deadline=None)
@given(plans, st.integers(0, 99))
def test_the_loops_in_c_are_the_same_numbers(plan, seed):
    library = load(write_layers(plan, "double", SIXTH_POWER))
    assert library is not None
    units, tile = 3, tile_points(len(plan))
    h, g = (normals(units, len(plan), tile, seed=seed + n) for n in range(2))
    z, bias = torch.empty_like(h), normals(units, seed=seed + 2)
    rows, cotangents = h.movedim(1, 0).clone(), g.movedim(1, 0).clone()
    rows[0] += bias[:, None]
    f = [math.perm(6, n) * rows[0] ** (6 - n) for n in range(6)]
    expected = torch.empty_like(rows)
    plan.composition.evaluate({"f": f, "h": rows}, expected)
    plan.composition_adjoint.evaluate({"f": f, "h": rows, "g": cotangents}, cotangents)

    def pointers(*tensors):
        return [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]

    library.activate(ctypes.c_long(units), *pointers(bias, h, z))
    torch.testing.assert_close(z.movedim(1, 0), expected)
    z.zero_()
    library.activate_back(ctypes.c_long(units), *pointers(h, g, z))
    torch.testing.assert_close(z.movedim(1, 0), expected)
    torch.testing.assert_close(g.movedim(1, 0), cotangents)


def test_terms_with_a_factor_in_common_are_a_group():
    a, b, c = (Row("a", k) for k in range(3))
    formula = Formula((Term(0, (a,), 2.0), Term(0, (a, b)), Term(0, (a, c, c), 3.0), Term(1, (b,))))
    text = formula.write("{}{}".format)
    assert text == {0: "a0 * 2.0 + a0 * (a1 + a2 * a2 * 3.0)", 1: "a1"}
    out, stack = torch.empty(2), torch.tensor([2.0, 5.0, 7.0])
    formula.evaluate({"a": stack}, out)
    assert out.tolist() == [2 * 2 + 2 * (5 + 7 * 7 * 3), 5]
    assert formula.adjoint("a").write("{}{}".format)[1] == "a0 * g0 + g1"
