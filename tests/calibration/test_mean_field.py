import math

import numpy as np
import pytest

from pinnsig.activations import Erf, Tanh, gaussian, sin
from pinnsig.calibration import (
    chi,
    default_learning_rate,
    edge_of_chaos,
    layerwise,
    layerwise_chi,
    learning_rate_band,
    second_moments,
    sigma_star,
    variance_map,
)
from pinnsig.core.errors import CalibrationError


def test_erf_in_closed_form():
    # E[erf(x)^2] and E[erf'(x)^2] for x ~ N(0, q)
    for q in (1e-6, 0.3, 1.0, 40.0):
        value, slope = second_moments(Erf(), q)
        assert value == pytest.approx(2 / math.pi * math.asin(2 * q / (1 + 2 * q)), rel=1e-12)
        assert slope == pytest.approx(4 / math.pi / math.sqrt(1 + 4 * q), rel=1e-12)


def test_maps_against_samples():
    h = np.random.default_rng(1).normal(size=400_000) * math.sqrt(0.8)
    f2, df2 = np.tanh(h) ** 2, np.cosh(h) ** -4
    for exact, samples in [
        (variance_map(Tanh(), 0.8, 1.7, sigma_b=0.3), 1.7 * f2 + 0.09),
        (chi(Tanh(), 0.8, 1.7), 1.7 * df2),
    ]:
        assert abs(np.mean(samples) - exact) < 4 * np.std(samples) / math.sqrt(h.size)


def test_layers():
    q, chis = layerwise(Tanh(), 3, weight_variance=1.2, sigma_b=0.1, q_0=2.0)
    assert q[0] == pytest.approx(1.2 * 2.0 + 0.01)
    assert q[1] == variance_map(Tanh(), q[0], 1.2, 0.1)
    assert q[2] == variance_map(Tanh(), q[1], 1.2, 0.1)
    assert list(chis) == [chi(Tanh(), v, 1.2) for v in q]
    assert list(chis) == list(layerwise_chi(Tanh(), 3, 1.2, 0.1, 2.0))


def test_edge_of_chaos_is_a_fixed_point():
    point = edge_of_chaos(Tanh(), 0.2)
    start = (point.q - 0.04) / point.sigma_w**2
    q, chis = layerwise(Tanh(), 40, point.sigma_w**2, 0.2, q_0=start)
    assert q == pytest.approx(point.q, rel=1e-12)
    assert chis == pytest.approx(1.0, rel=1e-12)


def test_calibrated_chi_stays_near_one():
    # paper, figure on chi: within a few percent for p = 0.01 and 0.49
    for p in (0.01, 0.49):
        for depth in (100, 2000):
            sigma_z = sigma_star(p, depth)
            last = layerwise_chi(Tanh(), depth, 1 + sigma_z**2)[-1]
            assert abs(last - 1) < 0.15


def test_scale_equivariance():
    base = layerwise_chi(Tanh(), 5, 1.3)
    scaled = layerwise_chi(1e9 * Tanh(), 5, 1.3e-18, q_0=1e18)
    assert scaled == pytest.approx(base, rel=1e-12)


def test_zero_variance():
    assert second_moments(2.0 * Tanh(), 0.0) == (0.0, 4.0)
    assert list(layerwise_chi(2.0 * Tanh(), 2, 0.25, q_0=0.0)) == [1.0, 1.0]


def test_variance_that_dies_down():
    # f is linear: a weight variance of 0.01 divides q by 100 in each layer, to 0 at last
    q, chis = layerwise(Tanh(), 200, 0.01)
    assert q[149] == pytest.approx(1e-300 * q[9] / 1e-20, rel=1e-9)
    assert q[-1] == 0.0
    assert chis[100:] == pytest.approx(0.01, rel=1e-12)


def test_bad_values():
    for q in (-1.0, math.nan, math.inf):
        with pytest.raises(CalibrationError, match="variance q"):
            second_moments(Tanh(), q)
    with pytest.raises(CalibrationError, match="depth"):
        layerwise(Tanh(), 0, 1.0)


def test_learning_rates():
    assert default_learning_rate(2.0) == 2e-4
    assert learning_rate_band(2.0) == (2e-5, 2e-3)
    for omega in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(CalibrationError, match="omega must be positive"):
            default_learning_rate(omega)
        with pytest.raises(CalibrationError, match="omega must be positive"):
            learning_rate_band(omega)


@pytest.mark.parametrize("scale", [1e160, 1e-160, 1e300])
def test_a_slope_whose_square_is_no_number_is_refused(scale):
    with pytest.raises(CalibrationError, match="too extreme"):
        second_moments(scale * Tanh(), 1.0)


@pytest.mark.parametrize("q", [0.0, 1e-6, 0.3, 4.0])
def test_moments_outside_the_class_have_closed_forms(q):
    """E[sin^2] and E[cos^2] from E[cos(2 h)] = exp(-2q); E[exp(-2 h^2)] = (1 + 4q)^(-1/2)."""
    fading = math.exp(-2 * q)
    assert second_moments(sin, q) == pytest.approx(((1 - fading) / 2, (1 + fading) / 2), abs=1e-12)
    expected = (1 + 4 * q) ** -0.5, 4 * q * (1 + 4 * q) ** -1.5
    assert second_moments(gaussian, q) == pytest.approx(expected, rel=1e-10, abs=1e-12)
