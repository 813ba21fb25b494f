import math

import mpmath as mp
import pytest

from pinnsig.activations import Arctan, Erf, Gudermannian, Softsign, Tanh
from pinnsig.calibration import fixed_point
from pinnsig.core.errors import CalibrationError

EXCESSES = (1e-10, 1e-6, 1e-3, 0.0999, 0.1001, 0.3, 2.0, 1e3, 1e9)


@pytest.mark.parametrize("excess", EXCESSES)
@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e9])
@pytest.mark.parametrize("stretch", [1.0, 1e4])
def test_tanh_against_50_digits(excess, scale, stretch):
    f = scale * Tanh().stretch(stretch)
    a = f.omega * (1 + excess)
    found = fixed_point(f, a)
    with mp.workdps(50):
        # u = stretch a xi solves tanh(u) / u = omega / a
        u = mp.mpf(found) * mp.mpf(a) * mp.mpf(stretch)
        ratio = mp.mpf(f.omega) / mp.mpf(a)
        exact = mp.findroot(lambda u: mp.tanh(u) / u - ratio, (u * 0.999, u * 1.001))
        assert abs(u / exact - 1) < 1e-14


@pytest.mark.parametrize("excess", EXCESSES)
def test_softsign_closed_forms(excess):
    a = 1 + excess
    excess = a - 1
    assert fixed_point(Softsign(1.0), a) == pytest.approx(excess / a, rel=1e-14)
    assert fixed_point(Softsign(2.0), a) == pytest.approx(
        math.sqrt(excess * (a + 1)) / a, rel=1e-14
    )
    if excess > 1e-8:
        assert fixed_point(Softsign(3.0), a) == pytest.approx(
            math.expm1(3 * math.log1p(excess)) ** (1 / 3) / a, rel=1e-14
        )


@pytest.mark.parametrize("f", [Erf(), Arctan(), Gudermannian(), Tanh() + Softsign(1.0)], ids=str)
def test_is_the_limit_of_the_iteration(f):
    a = f.omega + 0.3
    x = 0.1
    for _ in range(500):
        x = math.fsum([_apply(f, a * x)])
    assert fixed_point(f, a) == pytest.approx(x, rel=1e-13)


def _apply(f, x: float) -> float:
    import torch

    return float(f(torch.tensor(x, dtype=torch.float64)))


def test_below_the_bifurcation():
    for f in (Tanh(), 1e9 * Tanh(), 1e-4 * Erf()):
        assert fixed_point(f, f.omega) == 0.0
        assert fixed_point(f, 0.5 * f.omega) == 0.0


@pytest.mark.parametrize("a", [0.0, -1.0, math.nan, math.inf])
def test_bad_gain(a):
    with pytest.raises(CalibrationError, match=f"gain a must be positive and finite, not {a}"):
        fixed_point(Tanh(), a)
