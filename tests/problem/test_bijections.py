"""Maps onto what a learned coefficient may be: inside, increasing, exact at the start."""

import math
from typing import Any

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pinnsig.core.errors import ProblemError
from pinnsig.problem import Coefficient
from pinnsig.problem.bijections import Bijection

INF = math.inf
CASES = [
    Bijection(0.5, 0.0, 1.0),
    Bijection(0.1, 0.0, open_lower=True),
    Bijection(2.0, 1.0, open_lower=True),
    Bijection(-1.0, -INF, 0.0),
    Bijection(1e-3, 0.0, 1e6),
    Bijection(-0.7, -0.9, 0.1),
    Bijection(0.0, -1.0, 3.0),
    Bijection(1e-9, -1.0, 1e9),
    Bijection(3.0),
    Bijection(0.0),
]


def value_and_slope(map: Bijection, theta: float, dtype: torch.dtype) -> tuple[float, float]:
    at = torch.tensor(theta, dtype=dtype, requires_grad=True)
    value = map.value(at)
    (slope,) = torch.autograd.grad(value, at)
    return float(value.detach()), float(slope)


def exact(map: Bijection, theta: float) -> Any:
    """By the textbook's form: exp, or the logistic function between two limits."""
    start, low, high = (mpmath.mpf(x) for x in (map.start, map.lower, map.upper))
    scale, theta = mpmath.mpf(map.scale), mpmath.mpf(theta)
    if mpmath.isinf(low) and mpmath.isinf(high):
        return start + scale * theta
    if mpmath.isinf(high):
        return low + (start - low) * mpmath.exp(scale * theta / (start - low))
    if mpmath.isinf(low):
        return high - (high - start) * mpmath.exp(-scale * theta / (high - start))
    p = (start - low) / (high - low)
    z = mpmath.log(p / (1 - p)) + scale * theta / ((high - low) * p * (1 - p))
    return low + (high - low) / (1 + mpmath.exp(-z))


@pytest.mark.parametrize("map", CASES)
def test_the_start_is_exact_and_has_the_scale_for_a_slope(map: Bijection):
    assert value_and_slope(map, 0.0, torch.float64) == (map.start, pytest.approx(map.scale))
    single = value_and_slope(map, 0.0, torch.float32)
    expected = float(torch.tensor(map.start, dtype=torch.float32)), pytest.approx(map.scale)
    assert single == expected
    assert 0 < map.scale <= (abs(map.start) or map.room or 1.0)


@pytest.mark.parametrize("map", CASES)
@pytest.mark.parametrize("t", [-30.0, -3.0, -0.9, -1e-3, 1e-3, 0.4, 1.2, 20.0])
def test_values_slopes_and_the_way_back_against_mpmath(map: Bijection, t: float):
    theta = t * map.room / map.scale if map.limited else t
    with mpmath.workdps(150):
        expected = exact(map, theta)
        slope = mpmath.diff(lambda x: exact(map, x), theta)
        nearest = min(abs(expected - map.lower), abs(map.upper - expected))
    value, found = value_and_slope(map, theta, torch.float64)
    # relative to the value itself, or to the limit that it is counted from
    size = max(abs(float(expected)), 1e-15 * max(abs(map.start), 1.0))
    for limit in (map.lower, map.upper):
        if math.isfinite(limit):
            size = max(size, abs(limit) if nearest < abs(limit) else 0.0)
    assert value == pytest.approx(float(expected), rel=1e-13, abs=4e-16 * size)
    assert found == pytest.approx(float(slope), rel=1e-9, abs=1e-300)
    if map.lower < value < map.upper and abs(t) < 4:
        assert map.theta(value) == pytest.approx(theta, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("map", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_never_decreases_nor_leaves_its_limits(map: Bijection, dtype: torch.dtype):
    largest = 80.0 * map.room / map.scale if map.limited else 80.0
    thetas = torch.linspace(-largest, largest, 801, dtype=dtype)
    values = torch.stack([map.value(theta) for theta in thetas]).double()
    assert (values.diff() >= 0).all()
    within = values[(thetas.abs() < 0.01 * largest)]
    assert (within.diff() > 0).all()
    assert (values >= map.lower).all()
    assert (values <= map.upper).all()
    assert not map.open_lower or (values > map.lower).all()


limits = st.floats(-1e4, 1e4)


@given(
    limits, limits, st.floats(1e-3, 0.999), st.floats(-300.0, 300.0), st.sampled_from([32, 64]),
    st.sampled_from(["minimum", "maximum", "above", "both", "open"]),
)  # fmt: skip
def test_its_own_rule_takes_every_value(low, high, share, theta, bits, which):
    low, high = min(low, high), max(low, high) + 1.0
    rules = {
        "minimum": {"minimum": low},
        "maximum": {"maximum": high},
        "above": {"above": low},
        "both": {"minimum": low, "maximum": high},
        "open": {"above": low, "maximum": high},
    }
    coefficient = Coefficient(low + share * (high - low), **rules[which], learn=True)
    map = coefficient.bijection(coefficient.default)
    dtype = torch.float32 if bits == 32 else torch.float64
    value = float(map.value(torch.tensor(theta, dtype=dtype)))
    if math.isfinite(value):  # it may grow without bounds on an open side
        assert low <= value <= high or which in ("minimum", "maximum", "above")
        assert coefficient._allowed(value, "") == value


def test_what_is_next_to_an_open_limit_still_has_a_slope():
    map = Bijection(0.1 + 1e-9, 0.1, open_lower=True)  # float32 rounds the start to the limit
    value, slope = value_and_slope(map, 0.0, torch.float32)
    assert value > 0.1
    assert slope == pytest.approx(1e-9)
    tiny, _ = value_and_slope(Bijection(1.0, 0.0, open_lower=True), -500.0, torch.float32)
    assert 0 < tiny < 1e-37


def test_no_parameter_has_a_value_at_a_limit_or_outside():
    for value in (0.0, 1.0, 2.0, -1.0):
        with pytest.raises(ProblemError, match="strictly between 0 and 1"):
            Bijection(0.5, 0.0, 1.0).theta(value)


@pytest.mark.parametrize(
    ("map", "value", "limit"),
    [
        (Bijection(0.5, 0.0, 1.0), 0.9996, 1.0),
        (Bijection(0.5, 0.0, 1.0), 0.999, None),
        (Bijection(0.5, 0.0, 1.0), 1e-4, None),
        (Bijection(0.5, 0.0, 1.0), 1e-6, 0.0),
        (Bijection(1.0, 0.0, 1e6), 1.0, None),
        (Bijection(0.3, 0.25, open_lower=True), 0.25 + 5e-6, 0.25),
        (Bijection(1.0), 0.0, None),
    ],
)
def test_what_counts_as_come_to_a_limit(map: Bijection, value: float, limit: float | None):
    assert map.limit_at(value) == limit
