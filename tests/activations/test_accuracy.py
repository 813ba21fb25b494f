"""Values and derivatives against mpmath, from the defining formulas alone."""

import importlib.util
import math
import re
import shutil
from functools import cache

import mpmath as mp
import pytest
import torch

from pinnsig.activations import (
    MAX_ORDER,
    Activation,
    arctan,
    arctan_normalised,
    erf,
    gd,
    parse_activation,
    softsign,
    tanh,
)
from tests.activations.printed import in_c, in_triton

DTYPES = [torch.float32, torch.float64]
SOFTSIGN_K = [1, 1.5, 2, 2.3, 2.5, 3, 4, 7.25, 20]
MEMBERS = [tanh, gd, erf, arctan, arctan_normalised, *map(softsign, SOFTSIGN_K)]
SMOOTH = [
    parse_activation(name)
    for name in ("sin", "cos", "gaussian", "sigmoid", "silu", "gelu", "softplus")
]
COMPOSITES = [
    parse_activation(t)
    for t in (
        "tanh(10x)+erf(1000x)+softsign1(10x)/10+gd(x)",
        "2*(tanh(x)+erf(x))/3",
        "1e9*(3*tanh(2x)+gd)",
        "tanh(1e-4x)+1e-4*arctan(1e4x)",
    )
]
COMPOSITE_POINTS = [1e-6, 0.0007, 0.37, 2.5, 9.0]
POINTS = [1e-6, 0.003, 0.37, 0.66, 1.0, 1.2, 2.5, 9.0, 25.0, 300.0, 1e5]


def softsign_formula(k):
    def f(x):
        return x / (1 + abs(x) ** mp.mpf(k)) ** (1 / mp.mpf(k))

    return f


def formula(f: Activation):
    """The definition in appendix B.1, in mpmath, read from the expression."""
    names = {
        "tanh": mp.tanh,
        "gd": lambda x: 2 * mp.atan(mp.tanh(x / 2)),
        "erf": mp.erf,
        "arctan": mp.atan,
        "sin": mp.sin,
        "cos": mp.cos,
        "gaussian": lambda x: mp.exp(-x * x),
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "silu": lambda x: x / (1 + mp.exp(-x)),
        "gelu": lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2,
        "softplus": lambda x: mp.log1p(mp.exp(x)),
    }
    names |= {f"softsign{k}".replace(".", "_"): softsign_formula(k) for k in SOFTSIGN_K}
    code = compile(re.sub(r"(softsign\d)\.", r"\1_", f.expression), "<formula>", "eval")
    return lambda x: eval(code, {"x": x, **names})


@cache
def exact_derivatives(f: Activation, x: float) -> list:
    with mp.workdps(160):
        point = mp.mpf(x)
        step = mp.mpf(10) ** -22 * min(abs(point), 1)
        return list(mp.diffs(formula(f), point, MAX_ORDER + 1, h=step))


@pytest.mark.parametrize("f", MEMBERS, ids=str)
def test_members_to_a_few_eps(f):
    check_accuracy(f, POINTS, 8)


@pytest.mark.parametrize("f", SMOOTH, ids=str)
def test_smooth_ones_to_a_few_eps_on_both_sides(f):
    check_accuracy(f, [*POINTS, *(-x for x in POINTS)], 8)


@pytest.mark.parametrize("f", COMPOSITES, ids=str)
def test_composites_to_a_few_eps(f):
    # The inner arguments a x are rounded too: terms may cancel to their common condition.
    check_accuracy(f, COMPOSITE_POINTS, 24)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler on this machine")
@pytest.mark.parametrize("f", [*MEMBERS, *SMOOTH, *COMPOSITES], ids=str)
def test_printed_as_c_to_a_few_eps(f):
    points, tolerance = (COMPOSITE_POINTS, 24) if f in COMPOSITES else (POINTS, 8)
    points = torch.tensor([*points, *(-x for x in points)])
    for dtype in DTYPES:
        compare(f, in_c(f, points.to(dtype)), points, tolerance)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler on this machine")
@pytest.mark.parametrize("dtype", DTYPES)
def test_huge_factors_give_no_nan_in_c(dtype):
    x = torch.tensor([0.0, 1e-30, 1.0, 1e30], dtype=dtype)
    for f in (
        1e300 * tanh,
        tanh.stretch(1e70),
        1e-300 * tanh.stretch(1e300),
        1e300 * softsign(1.5),
    ):
        assert not in_c(f, x).isnan().any()


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_printed_as_triton_to_a_few_eps(tmp_path):
    near = [x for x in POINTS if x < 100]
    points = torch.tensor([*near, *(-x for x in near)])[:16]
    forms = [*MEMBERS, *SMOOTH]
    found = in_triton([f.expression for f in forms], points, tmp_path)
    for f in forms:
        # powers by exp and log
        compare(f, found[f.expression], points, 8 if "softsign" not in str(f) else 32)


def check_accuracy(f, points, tolerance):
    points = torch.tensor(points)
    for dtype in DTYPES:
        x = points.to(dtype)
        computed = f.derivatives(x, MAX_ORDER)
        compare(f, computed, points, tolerance)
        if f.odd_sigmoid:
            for n, mirrored in enumerate(f.derivatives(-x, MAX_ORDER)):
                assert torch.equal(mirrored, computed[n] if n % 2 else -computed[n])


def compare(f, computed, points, tolerance):
    info = torch.finfo(computed[0].dtype)
    for i, point in enumerate(points.tolist()):
        exact = exact_derivatives(f, point)
        for n, values in enumerate(computed):
            # Rounding x alone costs eps |x f^(n+1)|.
            scale = abs(exact[n]) + abs(point * exact[n + 1])
            bound = tolerance * info.eps * scale + info.tiny
            assert abs(values[i].item() - exact[n]) <= bound, (info.dtype, n, point)


def test_scaled_tanh_reference_values():
    x = torch.tensor([0.7], dtype=torch.float64)
    for f in (tanh.stretch(1.3), parse_activation("tanh(1.3x)")):
        _, first, second = f.derivatives(x, 2)
        assert first.item() == pytest.approx(0.62395875, abs=1e-8)
        assert second.item() == pytest.approx(-1.16988764, abs=1e-8)


def test_tanh_derivative_near_saturation_in_float32():
    x = torch.tensor([-9.0109138], dtype=torch.float32, requires_grad=True)
    (gradient,) = torch.autograd.grad(tanh(x).sum(), x)
    exact = float(mp.sech(mp.mpf(x.item())) ** 2)
    assert gradient.item() == pytest.approx(5.96e-8, abs=1e-10)
    assert gradient.item() == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", [*MEMBERS, *SMOOTH, *COMPOSITES], ids=str)
@pytest.mark.parametrize("a", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("c", [1e-4, 1.0, 1e9])
def test_finite_everywhere(f, dtype, a, c):
    largest_scale = max(a, 1) * 1e4
    if f in COMPOSITES and c * largest_scale > 1e9:
        c = 1e-9
    if math.isinf(f.bound):
        c = min(c, 1.0)
    sizes = [0.0, 1e-310, 1e-45, 1e-40, 1e-38, 1e-30, 1e-9, 1e-3, 1.0, 20.0, 400.0, 1e10, 1e19]
    x = torch.tensor([*sizes, 1e25, 1e30], dtype=dtype)
    x = torch.cat([x, -x, torch.logspace(-8, 8, 200, dtype=dtype)])
    for derivative in (c * f.stretch(a)).derivatives(x, MAX_ORDER):
        assert derivative.isfinite().all()
        assert derivative.shape == x.shape
        assert derivative.dtype == dtype


@pytest.mark.parametrize("f", MEMBERS, ids=str)
def test_infinite_arguments_are_the_limit(f):
    x = torch.tensor([math.inf, -math.inf], dtype=torch.float64)
    value, *rest = f.derivatives(x, MAX_ORDER)
    torch.testing.assert_close(value, f.bound * x.sign())
    assert all((d == 0).all() for d in rest)


def test_large_float32_arguments_keep_relative_accuracy():
    # x^2, x^3 and 1/x^4 all leave the range of float32 here, f' and f'' do not.
    x = torch.tensor([1e12], dtype=torch.float32)
    _, first, second = arctan.derivatives(x, 2)
    assert first.item() == pytest.approx(1e-24, rel=1e-6)
    assert second.item() == pytest.approx(-2e-36, rel=1e-6)
    _, first, second = softsign(3).derivatives(torch.tensor([1e7]), 2)
    assert first.item() == pytest.approx(1e-28, rel=1e-6)
    assert second.item() == pytest.approx(-4e-35, rel=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_softsign1_kink_takes_the_mean_or_one_sided_limit(dtype):
    x = torch.tensor([0.0, -0.0], dtype=dtype)
    values = [d.tolist() for d in softsign(1).derivatives(x, MAX_ORDER)]
    assert values == [[0, 0], [1, 1], [0, 0], [6, 6], [0, 0], [120, 120]]


def test_softsign3_kink():
    x = torch.tensor([0.0], dtype=torch.float64)
    assert [d.item() for d in softsign(3).derivatives(x, MAX_ORDER)] == [0, 1, 0, 0, 0, 0]
    right = softsign(3).derivatives(torch.tensor([1e-9], dtype=torch.float64), 4)[4]
    assert right.item() == pytest.approx(-8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_diverging_derivatives_are_clamped_beside_zero_and_zero_at_it(dtype):
    f = softsign(1.5)
    assert f.singular
    assert not softsign(2).singular
    assert not softsign(4.5).singular
    x = torch.tensor([0.0, 1e-300 if dtype == torch.float64 else 1e-38], dtype=dtype)
    # Terms of opposite signs may leave anything between the limits, but no NaN.
    assert (f + softsign(2.5)).derivatives(x, MAX_ORDER)[5].isfinite().all()
    for g in (f, 1e9 * f.stretch(1e4), 1e9 * (f + f)):
        fifth = g.derivatives(x, MAX_ORDER)[5]
        assert fifth[0] == 0
        assert fifth[1].abs() == torch.finfo(dtype).max
