import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from pinnsig.calibration import gauss_hermite, normal_expectation
from pinnsig.core.errors import CalibrationError


@pytest.mark.parametrize("n", [1, 2, 3, 64, 150, 151, 371, 1000, 5000])
def test_even_moments(n):
    x, w = gauss_hermite(n)
    assert x.shape == w.shape == (n,)
    assert np.all(np.diff(x) > 0)
    assert np.all(w >= 0)
    moment = 1.0
    for k in range(1, min(n, 13)):  # degree 2k < 2n
        moment *= 2 * k - 1
        assert np.sum(w * x ** (2 * k)) == pytest.approx(moment, rel=2e-12)


@pytest.mark.parametrize("n", [5, 64, 200])
def test_against_numpy(n):
    x, w = np.polynomial.hermite_e.hermegauss(n)
    mine = gauss_hermite(n)
    assert mine[0] == pytest.approx(x, rel=1e-13, abs=1e-13)
    # numpy's own far weights hold about 11 digits
    assert mine[1] == pytest.approx(w / math.sqrt(2 * math.pi), rel=1e-9)


@pytest.mark.parametrize("n", [20, 371, 1000])
def test_against_50_digits(n):
    nodes, weights = gauss_hermite(n)
    for i in (n // 2, 3 * n // 4, 9 * n // 10, n - 1):
        with mp.workdps(50):
            x = mp.mpf(nodes[i])
            for _ in range(4):
                last, now = orthonormal_hermite(n, x)
                x -= now / (mp.sqrt(n) * last)
            exact = 1 / (n * orthonormal_hermite(n, x)[0] ** 2)
            assert abs(nodes[i] - x) < 1e-13 * max(1, x)
            assert abs(weights[i] - exact) < 1e-10 * exact + 5e-324


def orthonormal_hermite(n: int, x: Any) -> tuple[Any, Any]:
    last, now = mp.mpf(0), mp.mpf(1)
    for k in range(n):
        last, now = now, (x * now - mp.sqrt(k) * last) / mp.sqrt(k + 1)
    return last, now


@pytest.mark.parametrize("width", [1e-6, 1e-3, 0.1, 1.0, 100.0])
def test_sharp_steps(width):
    # E[erf(z / width)^2] is known through the bivariate normal orthant probability
    exact = 2 / math.pi * math.atan2(2, width * math.sqrt(4 + width**2))

    def squares(z):
        x = np.abs(z / width)
        return np.array([math.erf(v) ** 2 for v in x])

    assert normal_expectation(squares) == pytest.approx(exact, rel=1e-13)


def test_kink_and_rows():
    def g(z):
        return np.stack([np.abs(z), z**2, z**4, z])

    exact = [math.sqrt(2 / math.pi), 1, 3, 0]
    assert normal_expectation(g) == pytest.approx(exact, rel=1e-14, abs=1e-15)


def test_given_order_is_used():
    x, w = gauss_hermite(7)
    assert normal_expectation(np.tanh, 7) == np.sum(np.tanh(x) * w)
    assert normal_expectation(lambda z: np.abs(z), 1) == 0  # the single node is 0


def test_unsettled_and_bad_orders():
    with pytest.raises(CalibrationError, match="did not settle"):
        normal_expectation(lambda z: np.sign(np.abs(z) - 1.234))
    for n in (0, -1, 2.5):
        with pytest.raises(CalibrationError, match=f"not {n}"):
            gauss_hermite(n)  # pyright: ignore[reportArgumentType]


def test_cached_rules_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        gauss_hermite(4)[0][0] = 1.0
