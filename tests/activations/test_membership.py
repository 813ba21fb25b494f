"""The numerical check of Definition 4.1."""

import pytest
import torch

from pinnsig.activations import (
    arctan,
    check_membership,
    erf,
    gd,
    parse_activation,
    parse_function,
    softsign,
    tanh,
)
from pinnsig.core.errors import ActivationError

MEMBERS = [tanh, gd, erf, arctan, *map(softsign, (1, 1.5, 2, 3, 20, 300))]


@pytest.mark.parametrize("f", MEMBERS, ids=str)
def test_members_at_any_scale(f):
    for g in (f, 1e9 * f.stretch(1e-4), 1e-4 * f.stretch(1e4)):
        membership = check_membership(g)
        assert membership.holds, str(membership)


@pytest.mark.parametrize(
    "text",
    [
        "tanh(10x)+erf(1000x)+softsign1(10x)/10+gd(x)",
        "1e9*tanh(1e-4x)+1e-4*tanh(1e4x)",
        "softsign20(1e4x)+softsign1(1e-4x)+erf",
    ],
)
def test_sums(text):
    membership = check_membership(parse_activation(text))
    assert membership.holds, str(membership)


@pytest.mark.parametrize(
    "text",
    ["2*sigmoid(x)-1", "2e9*sigmoid(1e4x)-1e9", "x/sqrt(1+x**2)", "x/(1+abs(x))", "tanh(tanh(x))"],
)
def test_members_by_formula_alone(text):
    # 2 sigmoid(x) - 1 loses its digits near 0, which is rounding and no failure.
    membership = check_membership(parse_function(text))
    assert membership.holds, str(membership)


C1, ODD, BOUND, RISE, DECAY = (
    "regularity",
    "odd symmetry",
    "boundedness",
    "strict monotonicity",
    "slope decay",
)


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("relu(x)", {C1, ODD, BOUND, RISE, DECAY}),
        ("abs(x)", {C1, ODD, BOUND, RISE, DECAY}),
        ("sin(x)", {RISE, DECAY}),
        ("sin(1000x)", {RISE, DECAY}),
        ("cos(x)", {ODD, RISE, DECAY}),
        ("x**3", {BOUND, RISE, DECAY}),
        ("softplus(x)", {ODD, BOUND, DECAY}),
        ("exp(x)", {ODD, BOUND, DECAY}),
        ("tanh(x)+0.1x", {BOUND}),
        ("sinh(x)", {BOUND, DECAY}),
        ("-tanh(x)", {RISE, DECAY}),
        ("sign(x)", {C1, RISE, DECAY}),
        ("0*x", {RISE, DECAY}),
        ("x/(1+x**2)", {RISE, DECAY}),
        ("x", {BOUND, DECAY}),
        ("sigmoid(x)", {ODD}),
        ("tanh(x)+1e-6", {ODD}),
        ("relu(x+1)-relu(x-1)-1", {C1, RISE}),
        ("tanh(x)+0.001*(relu(x+1)-relu(x-1)-1)", {C1}),
        ("tanh(x)+0.01*sign(x)", {C1}),
        ("tanh(x)+0.001*(sign(x-1)+sign(x+1))", {C1, DECAY}),
        ("sign(x)*tanh(sqrt(abs(x)))", {C1}),
        ("tanh(x**3)", {RISE, DECAY}),
        ("sign(x)*(1-relu(1-abs(x))**2)", {RISE}),
        ("tanh(x)+0.1*sin(x)", {RISE, DECAY}),
    ],
)
def test_failures_are_named(text, failed):
    for scaled in (text, f"1000*({text})"):
        membership = check_membership(parse_function(scaled))
        assert {c.name for c in membership.conditions if not c.holds} == failed, str(membership)
        assert not membership.holds
        for c in membership.conditions:
            assert c.holds or "x" in c.detail, c


def test_torch_functions():
    failed = check_membership(torch.nn.functional.softplus)
    assert {c.name for c in failed.conditions if not c.holds} == {ODD, BOUND, DECAY}
    assert check_membership(lambda x: torch.tanh(x.float())).oddness.holds


def broken(x):
    raise RuntimeError("no\nkernel")


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: x / x, "NaN at x = 0"),
        (torch.log, "infinite at x = 0|NaN at x = -"),
        (lambda x: 1 / x.abs(), "infinite at x = 0"),
        (lambda x: x.sum(), r"shape \(\)"),
        (lambda x: x[:-1], "elementwise"),
        (lambda x: 1.0, "floating-point tensor"),
        (lambda x: x > 0, "floating-point tensor"),
        (broken, "fails on a float64 tensor: no kernel"),
    ],
)
def test_unusable_functions(f, message):
    with pytest.raises(ActivationError, match=message) as error:
        check_membership(f)
    assert "\n" not in str(error.value)
