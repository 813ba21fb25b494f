import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from pinnsig.activations import Activation, Arctan, Erf, Gudermannian, Softsign, Tanh
from pinnsig.calibration import bias_variance, edge_of_chaos, second_moments
from pinnsig.core.errors import CalibrationError

SHARP = 1.0 * Tanh().stretch(10.0) + Erf().stretch(1000.0)
MEMBERS = [
    Tanh(),
    Erf(),
    Arctan(),
    Gudermannian(),
    Softsign(1.0),
    Softsign(2.0),
    Softsign(3.0),
    Softsign(1.0) + Softsign(3.0),
    SHARP,
    1e9 * Tanh().stretch(1e4),
    1e-4 * Erf().stretch(1e-4),
    1e9 * Tanh().stretch(1e-4) + Tanh().stretch(1e4),
]


def independent(sigma_b: float) -> tuple[float, float]:
    """(sigma_w, q) for tanh by adaptive quadrature and a root in q."""

    def mean(g, q):
        weight = 1 / math.sqrt(2 * math.pi)
        return quad(
            lambda z: g(math.sqrt(q) * z) * math.exp(-z * z / 2) * weight,
            -12, 12, epsabs=1e-14, epsrel=1e-13, limit=200,
        )[0]  # fmt: skip

    def excess(q):
        slope = mean(lambda x: math.cosh(x) ** -4, q)
        return q - mean(lambda x: math.tanh(x) ** 2, q) / slope - sigma_b**2

    q = brentq(excess, 1e-3, 20.0, xtol=1e-14)
    return mean(lambda x: math.cosh(x) ** -4, q) ** -0.5, q  # pyright: ignore


def test_known_point():
    point = edge_of_chaos(Tanh(), 0.2)
    assert point.sigma_w == pytest.approx(1.3041458, abs=5e-8)
    assert point.q == pytest.approx(0.5120785, abs=5e-8)


@pytest.mark.parametrize("sigma_b", [0.05, 0.2, 1.0, 3.0])
def test_against_adaptive_quadrature(sigma_b):
    point = edge_of_chaos(Tanh(), sigma_b)
    sigma_w, q = independent(sigma_b)
    assert point.sigma_w == pytest.approx(sigma_w, rel=1e-10)
    assert point.q == pytest.approx(q, rel=1e-9)


@pytest.mark.parametrize("f", MEMBERS, ids=str)
@pytest.mark.parametrize("sigma_b", [1e-8, 1e-3, 0.2, 5.0, 1e6])
def test_both_equations_hold(f: Activation, sigma_b: float):
    point = edge_of_chaos(f, sigma_b)
    value, slope = second_moments(f, point.q)
    assert point.chi == pytest.approx(1, abs=1e-12)
    assert point.sigma_w**2 * slope == pytest.approx(1, abs=1e-10)
    assert point.sigma_w**2 * value + sigma_b**2 == pytest.approx(point.q, rel=1e-12)


@pytest.mark.parametrize("f", MEMBERS, ids=str)
def test_curve_is_monotone(f: Activation):
    # the smallest variances are left out: their sigma_b^2 is below rounding
    q = np.logspace(-4, 8, 121) / f.slope**2 * f.bound**2
    sigma_b2 = [bias_variance(f, v) for v in q]
    assert np.all(np.diff(sigma_b2) > 0)


def test_no_bias_is_exact():
    for f in MEMBERS:
        point = edge_of_chaos(f, 0.0)
        assert (point.sigma_w, point.q, point.chi) == (f.omega, 0.0, 1.0)
        assert edge_of_chaos(f, 1e-15).sigma_w == pytest.approx(f.omega, rel=1e-6)


def test_small_bias_follows_the_expansion():
    # tanh: sigma_b^2 = 12 c^2 q^3 / f'(0)^2 with f = x - c x^3, c = 1/3
    sigma_b = 1e-6
    assert edge_of_chaos(Tanh(), sigma_b).q == pytest.approx(
        (0.75 * sigma_b**2) ** (1 / 3), rel=1e-3
    )


def test_scale_equivariance():
    # c f(x / s): variances in units of s^2
    one = edge_of_chaos(Tanh(), 0.2)
    for c, s in [(1e9, 1.0), (1e-4, 1e-4), (3.0, 1e4)]:
        scaled = edge_of_chaos(c * Tanh().stretch(1 / s), 0.2 * s)
        assert scaled.q == pytest.approx(one.q * s**2, rel=1e-11)
        assert scaled.sigma_w == pytest.approx(one.sigma_w * s / c, rel=1e-12)


def test_given_nodes():
    assert edge_of_chaos(Tanh(), 0.2, nodes=1000).sigma_w == pytest.approx(
        edge_of_chaos(Tanh(), 0.2).sigma_w, rel=1e-11
    )
    point = edge_of_chaos(SHARP, 0.2, nodes=65)
    value, slope = second_moments(SHARP, point.q, nodes=65)
    assert point.sigma_w**2 * slope == pytest.approx(1, abs=1e-10)
    assert point.sigma_w**2 * value + 0.04 == pytest.approx(point.q, rel=1e-12)
    # which is another point: 65 nodes do not resolve the step
    assert point.sigma_w != pytest.approx(edge_of_chaos(SHARP, 0.2).sigma_w, rel=1e-2)


@pytest.mark.parametrize("sigma_b", [-0.1, math.nan, math.inf, 1e60, 1e-200])
def test_bad_bias(sigma_b):
    with pytest.raises(CalibrationError, match="sigma_b must be 0, or from 1e-100 to 1e"):
        edge_of_chaos(Tanh(), sigma_b)


def test_unreachable_bias_says_what_can_be_solved():
    with pytest.raises(
        CalibrationError, match=r"nodes = 64; sigma_b up to about 3.2 can be solved"
    ):
        edge_of_chaos(Tanh(), 5.0, nodes=64)
    assert edge_of_chaos(Tanh(), 2.9, nodes=64).chi == pytest.approx(1)
