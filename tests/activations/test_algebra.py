"""Positive combinations, their constants and their value semantics."""

import math
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnsig.activations import (
    ACTIVATIONS,
    FACTORIES,
    OddSigmoid,
    arctan,
    arctan_normalised,
    check_membership,
    erf,
    gd,
    parse_activation,
    register_activation,
    softsign,
    tanh,
)
from pinnsig.core.errors import ActivationError

factors = st.floats(1e-3, 1e3)
leaves = st.sampled_from([tanh, erf, gd, arctan, softsign(1), softsign(2), softsign(2.5)])
activations = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda f, c: c * f, inner, factors),
        st.builds(lambda f, a: f.stretch(a), inner, factors),
        st.builds(lambda f, g: f + g, inner, inner),
    ),
    max_leaves=4,
)
X = torch.linspace(-5, 5, 101, dtype=torch.float64)


@given(activations)
@settings(max_examples=60, deadline=None)
def test_odd_bounded_and_of_the_stated_slope(f):
    assert torch.equal(f(-X), -f(X))
    far = f(torch.tensor([1e25], dtype=torch.float64)).item()
    assert far == pytest.approx(f.bound, rel=1e-12)
    slope = f.derivatives(torch.zeros(1, dtype=torch.float64), 1)[1].item()
    assert slope == pytest.approx(f.slope, rel=1e-12)
    assert f.omega == pytest.approx(1 / f.slope, rel=1e-15)


@given(activations, activations, factors, factors)
@settings(max_examples=60, deadline=None)
def test_omega_of_a_combination(f, g, c, d):
    combined = c * f + d * g
    assert 1 / combined.omega == pytest.approx(c / f.omega + d / g.omega, rel=1e-14)
    torch.testing.assert_close(combined(X), c * f(X) + d * g(X))
    assert f.stretch(c).omega == pytest.approx(f.omega / c, rel=1e-14)
    torch.testing.assert_close(f.stretch(c)(X), f(c * X))


@given(activations)
@settings(max_examples=60, deadline=None)
def test_expression_round_trip(f):
    assert str(f) == f.expression
    parsed = parse_activation(f.expression)
    x = X.clone()
    for a, b in zip(parsed.derivatives(x, 3), f.derivatives(x, 3), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9 * max(1.0, b.abs().max().item()))


@given(activations)
@settings(max_examples=8, deadline=None)
def test_combinations_stay_in_the_class(f):
    membership = check_membership(f)
    assert membership.holds, str(membership)


def test_known_omegas():
    assert tanh.omega == gd.omega == arctan.omega == softsign(2.5).omega == 1
    assert erf.omega == pytest.approx(math.sqrt(math.pi) / 2, rel=1e-15)
    assert arctan_normalised.omega == pytest.approx(math.pi / 2, rel=1e-15)
    assert arctan_normalised.bound == pytest.approx(1)
    assert (softsign(1) + softsign(3)).omega == 0.5


def test_operators():
    assert 1.3 * tanh == tanh * 1.3
    assert (tanh / 2).slope == 0.5
    assert tanh + gd != gd + tanh
    assert (tanh + gd) + erf == tanh + (gd + erf)
    assert str(2 * (tanh.stretch(3) + gd)) == "2*(tanh(3*x)+gd(x))"
    assert str(softsign(2.5)) == "softsign2.5(x)"
    assert str(softsign(2)) == "softsign2(x)"
    with pytest.raises(TypeError):
        _ = tanh + 1  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize("f", [tanh, softsign(2.5), 2 * (tanh.stretch(3) + gd)], ids=str)
def test_hash_and_pickle(f):
    copy = pickle.loads(pickle.dumps(f))
    assert copy == f
    assert hash(copy) == hash(f)
    assert {copy: 1}[f] == 1
    with pytest.raises(AttributeError):
        f.factor = 3


@pytest.mark.parametrize("factor", [0, -1, math.inf, -math.inf, math.nan, 5e-324])
def test_bad_factors(factor):
    for make in (lambda: factor * tanh, lambda: tanh.stretch(factor)):
        with pytest.raises(ActivationError, match="factor") as error:
            make()
        assert "\n" not in str(error.value)


def test_division_by_zero_and_bad_k():
    with pytest.raises(ActivationError, match="divided by 0"):
        _ = tanh / 0
    for k in (0.5, 0, -1, math.nan, math.inf, 1e7):
        with pytest.raises(ActivationError, match="1 <= k"):
            softsign(k)


def test_huge_factors_give_no_nan():
    x = torch.tensor([0.0, 1e-30, 1.0, 1e30])
    for f in (1e300 * tanh, tanh.stretch(1e70), 1e-300 * tanh.stretch(1e300)):
        assert not any(d.isnan().any() for d in f.derivatives(x, 5))


class Named(OddSigmoid):
    @property
    def slope(self):
        return 1.0

    @property
    def bound(self):
        return 1.0

    def _format(self, argument):
        return f"named({argument})"

    def rules(self, x):
        return tanh.rules(x)


def test_register():
    f = Named()
    try:
        register_activation("named", f)
        register_activation("named", f)
        assert parse_activation("2named(3x)") == 2 * f.stretch(3)
        register_activation("power", softsign)
        assert parse_activation("power_2.5") == softsign(2.5)
        with pytest.raises(ActivationError, match="taken"):
            register_activation("named", tanh)
    finally:
        ACTIVATIONS.unregister("named")
        FACTORIES.unregister("power")
    for name in ("x", "2f", "f(x)", ""):
        with pytest.raises(ActivationError, match="cannot name"):
            register_activation(name, tanh)
    with pytest.raises(ActivationError, match="must be an Activation"):
        register_activation("number", 3)  # pyright: ignore[reportArgumentType]
