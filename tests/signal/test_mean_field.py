import math

import numpy as np
import pytest

from pinnsig.activations import Erf, Tanh, parse_activation
from pinnsig.calibration import edge_of_chaos, layerwise_chi, second_moments, variance_map
from pinnsig.core.errors import SignalError
from pinnsig.signal import Moments, chi_map, depth_scales


@pytest.mark.parametrize("name", ["tanh", "erf", "1e6*gd(5x)", "softsign1"])
def test_table_of_moments(name):
    f = parse_activation(name)
    unit = (f.bound / f.slope) ** 2
    q = unit * np.array([1e-12, 3e-5, 0.0123, 0.77, 31.0, 5e4])
    value, slope = Moments(f)(q)
    exact = np.array([second_moments(f, v) for v in q]).T
    assert value == pytest.approx(exact[0], rel=1e-6)
    assert slope == pytest.approx(exact[1], rel=1e-6)


def test_moments_outside_the_table():
    value, slope = Moments(2 * Tanh())(np.array([0.0, 1e-30]))
    assert value == pytest.approx([0.0, 4e-30])
    assert slope == pytest.approx([4.0, 4.0])


def test_chi_map_against_the_recursion_of_one():
    variances, depths = [0.5, 1.0, 1.3, 4.0], [1, 2, 7, 300]
    found = chi_map(Tanh(), variances, depths, sigma_b=0.1)
    assert found.shape == (4, 4)
    for j, w in enumerate(variances):
        exact = layerwise_chi(Tanh(), 300, w, 0.1)
        assert found[:, j] == pytest.approx(exact[[0, 1, 6, 299]], rel=1e-5)


def test_chi_map_goes_on_from_a_fixed_point():
    deep, shallow = chi_map(Tanh(), [2.0], [10**9, 2000])
    assert deep == pytest.approx(shallow, rel=1e-9)


def test_chi_at_no_noise_is_one():
    # sigma_z = 0: the variance dies down, and chi = omega^2 f'(0)^2
    assert chi_map(3 * Tanh(), [1 / 9], [3000], q_0=1e-6) == pytest.approx(1.0, abs=1e-6)


def test_depth_scales_of_erf_in_closed_form():
    # the variance map of erf is w (2/pi) asin(2 q / (1 + 2 q)) + sigma_b^2
    w, sigma_b = 1.3, 0.3
    found = depth_scales(Erf(), w, sigma_b)
    q = found.q
    assert variance_map(Erf(), q, w, sigma_b) == pytest.approx(q, rel=1e-12)
    slope = w * (2 / math.pi) * 2 / (1 + 2 * q) / math.sqrt(1 + 4 * q)
    assert found.xi_q == pytest.approx(-1 / math.log(slope), rel=1e-10)
    chi = w * 4 / math.pi / math.sqrt(1 + 4 * q)
    assert found.chi == pytest.approx(chi, rel=1e-12)
    assert found.xi_c == pytest.approx(1 / abs(math.log(chi)), rel=1e-9)


def test_correlation_scale_is_infinite_on_the_edge():
    point = edge_of_chaos(Tanh(), 0.2)
    found = depth_scales(Tanh(), point.sigma_w**2, 0.2)
    assert found.q == pytest.approx(point.q, rel=1e-10)
    assert math.isinf(found.xi_c)
    assert 1 < found.xi_q < 10


def test_scales_of_a_signal_that_dies():
    found = depth_scales(2 * Tanh(), 0.2)
    assert (found.q, found.chi) == (0.0, pytest.approx(0.8))
    assert found.xi_q == pytest.approx(-1 / math.log(0.8))
    assert math.isinf(depth_scales(2 * Tanh(), 0.25).xi_c)


def test_bad_values():
    with pytest.raises(SignalError, match="not 0"):
        chi_map(Tanh(), [1.0], [3, 0])
    with pytest.raises(SignalError, match="not settled after 3"):
        depth_scales(Tanh(), 2.0, steps=3)
