"""Ordinary differential equations: the common checks, values from elsewhere, and refinement."""

import math

import mpmath
import numpy as np
import pytest
import torch
from pinnsig.problems import lorenz, van_der_pol  # pyright: ignore[reportMissingImports]
from pinnsig.problems.oscillator import Oscillator  # pyright: ignore[reportMissingImports]
from scipy.linalg import eigh_tridiagonal

from pinnsig.testing import ProblemChecks

Lorenz = lorenz.Lorenz
VanDerPol = van_der_pol.VanDerPol


class TestLorenz(ProblemChecks):
    problem = Lorenz


class TestOscillator(ProblemChecks):
    problem = Oscillator(E=1.0)  # the equation holds for the right energy only


class TestOscillatorOdd(ProblemChecks):
    problem = Oscillator(E=3.0, level="first")


class TestVanDerPol(ProblemChecks):
    problem = VanDerPol


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


TIMES = torch.linspace(0, 1, 997, dtype=torch.float64)


@pytest.mark.parametrize("market", [{}, {"T": 5.0, "rho": 28.0}])
def test_lorenz_is_converged(market):
    values = {name: float(value) for name, value in Lorenz(**market).values().items()}
    found, finer = (torch.stack(lorenz.reference(**values, finer=k)(TIMES)) for k in (1, 2))
    assert (found - finer).abs().max() < 1e-9


def test_lorenz_agrees_with_taylor_series():
    with mpmath.workdps(20):

        def rates(_, u):
            x, y, z = u
            return [10 * (y - x), x * (15 - z) - y, x * y - mpmath.mpf(8) / 3 * z]

        expected = [float(u) for u in mpmath.odefun(rates, 0, [-8, 7, 27])(mpmath.mpf("0.3"))]
    found = [u.item() for u in Lorenz().solution(column(0.1))]
    assert found == pytest.approx(expected, abs=1e-9)


def test_van_der_pol_is_converged():
    found, finer = (van_der_pol.reference(5.0, 10.0, k)(TIMES)[0] for k in (1, 2))
    assert (found - finer).abs().max() < 1e-9


def test_van_der_pol_agrees_with_taylor_series():
    with mpmath.workdps(20):

        def rates(_, y):
            return [y[1], 5 * (1 - y[0] ** 2) * y[1] - y[0]]

        expected = float(mpmath.odefun(rates, 0, [2, 0])(mpmath.mpf(1))[0])
    assert VanDerPol().solution(column(0.1)).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", ["ground", "first"])
def test_the_levels_are_the_lowest_eigenvalues(level):
    """By second differences on the whole line, extrapolated."""
    found = []
    for points in (800, 1600):
        h = 16 / points
        x = np.arange(1, points) * h - 8
        place = int(level == "first")
        levels = eigh_tridiagonal(
            2 / h**2 + x**2, np.full(points - 2, -1 / h**2), True, "i", (place, place)
        )
        found.append(levels[0])
    problem = Oscillator(level=level)
    true = problem.true_values()["E"]
    assert (4 * found[1] - found[0]) / 3 == pytest.approx(true, abs=1e-7)
    assert true > problem.E


def test_levels_are_normalised():
    for level, square in (("ground", 1 / 2), ("first", 1 / 4)):
        x = torch.linspace(0, 8, 8001, dtype=torch.float64)
        u = Oscillator(level=level).solution(x)
        assert torch.trapezoid(u**2, x).item() == pytest.approx(square * math.sqrt(math.pi))
