import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnsig.calibration import negative_rate, sigma_star, target_negative_rate
from pinnsig.core.errors import CalibrationError

DEPTHS = (1, 2, 10, 50, 1000, 200_000)
RATES = (1e-12, 1e-6, 0.01, 0.1, 0.25, 0.4, 0.49, 0.499, 0.49999, 0.4999999)


def exact_rate(sigma: float, L: int, omega: float) -> Any:
    kept = mp.erf(mp.mpf(omega) / (mp.mpf(sigma) * mp.sqrt(2)))
    return (1 - kept**L) / 2


def exact_sigma(p: float, L: int) -> Any:
    kept = (1 - 2 * mp.mpf(p)) ** (mp.mpf(1) / L)
    start = mp.mpf(1) / (sigma_star(p, L) * mp.sqrt(2))
    x = mp.findroot(lambda x: mp.erf(x) - kept, (start * 0.999, start * 1.001))
    return 1 / (x * mp.sqrt(2))


@pytest.mark.parametrize(
    ("p", "L", "value"),
    [
        (0.49, 50, 0.5621486256083097),
        (2.05 * math.exp(-0.133 * 50), 50, 0.25802827435186904),
        (0.4, 10, 0.6923862590129791),
    ],
)
def test_known_scales(p, L, value):
    assert sigma_star(p, L, 1.0) == pytest.approx(value, rel=1e-14)
    assert sigma_star(p, L, 1e-9) == pytest.approx(1e-9 * value, rel=1e-14)


@pytest.mark.parametrize("L", DEPTHS)
@pytest.mark.parametrize("p", RATES)
def test_scale_against_50_digits(p, L):
    with mp.workdps(50):
        exact = exact_sigma(p, L)
        assert abs(sigma_star(p, L) / exact - 1) < 2e-15


@pytest.mark.parametrize("L", DEPTHS)
@pytest.mark.parametrize("sigma", [0.05, 0.13, 0.3, 0.6, 1.0, 2.0, 2.1, 30.0, 1e6])
def test_rate_against_many_digits(sigma, L):
    with mp.workdps(300):
        exact = exact_rate(sigma, L, 1.3)
        # the rounding of omega / sigma alone is worth (omega / sigma)^2 units in the last place
        assert abs(negative_rate(sigma, L, 1.3) - exact) < 1e-15 * (20 + (1.3 / sigma) ** 2) * exact


@given(
    p=st.floats(1e-12, 0.4999),
    L=st.integers(1, 200_000),
    omega=st.floats(1e-9, 1e9),
)
def test_rate_undoes_scale(p, L, omega):
    # the rate is steep in sigma at small p: relative errors grow by up to (omega / sigma)^2
    sigma = sigma_star(p, L, omega)
    assert negative_rate(sigma, L, omega) == pytest.approx(
        p, rel=1e-15 * (10 + (omega / sigma) ** 2)
    )


def test_rate_against_simulated_signs():
    sigma, L, draws = 0.7, 8, 200_000
    gains = np.random.default_rng(0).normal(1.0, sigma, size=(draws, L))
    x = np.full(draws, 0.3)
    for layer in range(L):
        x = np.tanh(gains[:, layer] * x)
    rate = negative_rate(sigma, L)
    error = math.sqrt(rate * (1 - rate) / draws)
    assert abs(np.mean(x < 0) - rate) < 4 * error


def test_ends():
    assert sigma_star(0.0, 7) == 0.0
    assert negative_rate(0.0, 7) == 0.0
    assert negative_rate(math.inf, 7) == 0.5
    assert isinstance(sigma_star(0.1, 7), float)


def test_arrays_broadcast():
    values = sigma_star([0.0, 0.1, 0.4], [[1], [10]], 2.0)
    assert values.shape == (2, 3)
    assert values[1, 2] == sigma_star(0.4, 10, 2.0)
    assert negative_rate(values, [[1], [10]], 2.0) == pytest.approx(
        np.array([[0, 0.1, 0.4]] * 2), rel=1e-13
    )


def test_target_rule():
    assert [target_negative_rate(L) for L in (1, 10)] == [0.4, 0.4]
    assert target_negative_rate(10, p_real=0.3) == 0.3
    assert target_negative_rate(11) == 2.05 * math.exp(-0.133 * 11)
    assert target_negative_rate(20, threshold=20) == 0.4
    assert target_negative_rate(200_000) == 0.0


@pytest.mark.parametrize("p", [-0.1, 0.5, 1.0, math.nan])
def test_bad_rate(p):
    with pytest.raises(CalibrationError, match=rf"p must be in \[0, 0.5\), not {p}"):
        sigma_star(p, 10)
    with pytest.raises(CalibrationError, match="p_real"):
        target_negative_rate(10, p_real=p)


@pytest.mark.parametrize("L", [0, -3, math.nan, math.inf])
def test_bad_depth(L):
    with pytest.raises(CalibrationError, match=f"depth L must be at least 1, not {L}"):
        sigma_star(0.1, L)
    with pytest.raises(CalibrationError, match="depth"):
        negative_rate(0.1, L)


def test_other_bad_values():
    for omega in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(CalibrationError, match="omega"):
            sigma_star(0.1, 10, omega)
    with pytest.raises(CalibrationError, match="sigma must be >= 0, not -2"):
        negative_rate([1.0, -2.0], 10)
    with pytest.raises(CalibrationError, match="depth"):
        target_negative_rate(0)
    with pytest.raises(CalibrationError, match="threshold"):
        target_negative_rate(6, threshold=5)
