import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pinnsig.core.errors import DerivativeError
from pinnsig.derivatives import Plan, parse_partial, partial_name
from pinnsig.derivatives.composition_rule import faa_di_bruno
from pinnsig.derivatives.product_rule import leibniz

XT = ("x", "t")


@pytest.mark.parametrize(
    ("text", "coordinates", "alpha"),
    [
        ("x", XT, (1, 0)),
        ("xxt", XT, (2, 1)),
        ("txx", XT, (2, 1)),
        ("y", XT, None),
        ("Stau", ("S", "tau"), (1, 1)),
        ("S_tau", ("S", "tau"), (1, 1)),
        ("tautau", ("S", "tau"), (0, 2)),
        ("", XT, None),
        ("shape", XT, None),
    ],
)
def test_names_are_read_as_multi_indices(text, coordinates, alpha):
    assert parse_partial(text, coordinates) == alpha


def test_an_ambiguous_name_is_an_error():
    with pytest.raises(DerivativeError, match="2 ways"):
        parse_partial("aa", ("a", "aa"))


@given(st.tuples(*[st.integers(0, 2)] * 2).filter(any))
def test_names_and_multi_indices_are_inverse(alpha):
    assert parse_partial(partial_name(alpha, XT), XT) == alpha


def test_the_plan_of_burgers():
    plan = Plan.closing(XT, [(2, 0), (0, 1)])
    assert str(plan) == "{1, x, t, xx}"
    assert (len(plan), plan.order) == (4, 2)


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3).filter(lambda a: sum(a) <= 4), max_size=3))
def test_a_plan_is_closed_and_starts_with_the_value(wanted):
    plan = Plan.closing(("x", "y", "t"), wanted)
    assert plan.alphas[0] == (0, 0, 0)
    assert set(wanted) <= set(plan.alphas)
    for alpha in plan.alphas:
        for axis in range(3):
            if alpha[axis]:
                assert tuple(k - (i == axis) for i, k in enumerate(alpha)) in plan.alphas


def test_order_five_is_refused():
    with pytest.raises(DerivativeError, match="order 5"):
        Plan.closing(XT, [(3, 2)])


@pytest.mark.parametrize(("order", "bell"), [(1, 1), (2, 2), (3, 5), (4, 15)])
def test_faa_di_bruno_counts_all_set_partitions(order, bell):
    assert sum(p.coefficient for p in faa_di_bruno((order,))) == bell


def test_leibniz_sums_to_powers_of_two():
    assert sum(c for c, _, _ in leibniz((2, 1))) == 2**3


def test_faa_di_bruno_against_the_fourth_derivative_of_exp_of_a_square():
    # h = x^2 at x = 0.7: h' = 1.4, h'' = 2, and d^4 exp(x^2) = (16x^4 + 48x^2 + 12) exp(x^2)
    x = 0.7
    h: dict[tuple[int, ...], float] = {(1,): 2 * x, (2,): 2.0}
    total = sum(
        p.coefficient * math.exp(x**2) * math.prod(h.get(a, 0.0) ** n for a, n in p.factors)
        for p in faa_di_bruno((4,))
    )
    assert total == pytest.approx((16 * x**4 + 48 * x**2 + 12) * math.exp(x**2), rel=1e-14)


def test_plan_is_hashable_and_indexed():
    plan = Plan.closing(XT, [(1, 1)])
    assert plan.index[(1, 1)] == len(plan) - 1
    assert torch.arange(len(plan)).tolist() == sorted(plan.index.values())
