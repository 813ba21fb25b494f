"""Steady, flow and high-dimensional problems: the common checks, values from elsewhere, and the
refinement of numerical references."""

import math

import numpy as np
import pytest
import torch
from pinnsig.problems import (  # pyright: ignore[reportMissingImports]
    beltrami,
    cavity,
    plate,
    poisson_cube,
    stokes,
    taylor_green,
)
from scipy.sparse import csc_array, csr_array, kron
from scipy.sparse.linalg import spsolve

from pinnsig.testing import ProblemChecks


class TestBeltrami(ProblemChecks):
    problem = beltrami.Beltrami(nu=0.6, a=1.1, d=0.8)


class TestCavity(ProblemChecks):
    problem = cavity.Cavity
    margin = 0.1  # the pressure is singular in the corners
    residual_tolerance = 1e-6


class TestCavity400(ProblemChecks):
    problem = cavity.Cavity400
    margin = 0.1
    residual_tolerance = 1e-6


class TestPlate(ProblemChecks):
    problem = plate.Plate


class TestPoisson10D(ProblemChecks):
    problem = poisson_cube.Poisson10D


@pytest.mark.slow  # 201 partials by nested differentiation and by finite differences
class TestPoisson100D(ProblemChecks):
    problem = poisson_cube.Poisson100D


class TestStokes(ProblemChecks):
    problem = stokes.Stokes


class TestStokesOther(ProblemChecks):
    problem = stokes.Stokes(mu=0.3)


class TestTaylorGreen(ProblemChecks):
    problem = taylor_green.TaylorGreen


class TestTaylorGreenOther(ProblemChecks):
    problem = taylor_green.TaylorGreen(nu=0.7)


def points(problem, count=200):
    unit = np.random.default_rng(0).random((count, problem.domain.dimensions))
    return torch.from_numpy(problem.domain.place(unit)).unbind(1)


@pytest.mark.parametrize("Re", [100.0, pytest.param(400.0, marks=pytest.mark.slow)])
def test_the_cavity_is_converged(Re):
    x, y = torch.cartesian_prod(*[torch.linspace(0, 1, 41).double()] * 2).unbind(1)
    coarse = cavity.reference(Re, (20, 32))(x, y)
    found = cavity.reference(Re)(x, y)
    off = [(a - b).abs().max().item() for a, b in zip(found, coarse, strict=True)]
    # the error falls as size^-8 and size^-4 at the least, so that these bound that of `found`
    assert max(off[:2]) / ((42 / 32) ** 8 - 1) < 3e-7
    assert off[2] / ((42 / 32) ** 4 - 1) < 1e-5


def test_the_slow_cavity_is_that_of_another_method():
    """Stokes flow by finite differences of second order for psi, extrapolated from two grids."""
    x = torch.full((1,), 0.5, dtype=torch.float64)
    y = torch.full((1,), 0.75, dtype=torch.float64)
    u, v, _ = cavity.reference(1e-6, (20,))(x, y)
    assert v.item() == pytest.approx(0.0, abs=1e-6)  # as the lid's speed, psi is even about x = 1/2
    coarse, fine = (_slow_speed(n) for n in (32, 64))
    assert u.item() == pytest.approx((4 * fine - coarse) / 3, abs=2e-5)


def _slow_speed(n):
    """psi_y at (1/2, 3/4) from the thirteen-point stencil, ghost points mirrored at the walls."""
    m, h = n - 1, 1 / n
    one = np.eye(m)
    second = -2 * one + np.eye(m, k=1) + np.eye(m, k=-1)
    fourth = second @ second + 2 * (np.outer(one[0], one[0]) + np.outer(one[-1], one[-1]))
    second, fourth = csr_array(second), csr_array(fourth)
    bending = kron(fourth, one) + kron(one, fourth) + 2 * kron(second, second)
    right = np.zeros((m, m))
    right[:, -1] = -2 * h * cavity.lid(np.linspace(0, 1, n + 1)[1:-1])  # the ghost above the lid
    psi = np.asarray(spsolve(csc_array(bending), right.ravel())).reshape(m, m)
    i, j = n // 2 - 1, 3 * n // 4 - 1
    return (psi[i, j + 1] - psi[i, j - 1]) / (2 * h)


def test_the_plate_is_the_engineers():
    """0.00406 q in the middle (Timoshenko's table 8), and a double sine series elsewhere."""
    x, y = points(plate.Plate(), 20)
    m = np.arange(1, 400, 2)
    sines = [np.sin(np.pi * np.outer(m, column.numpy())) for column in (x, y)]
    size = 16 / (np.pi**6 * np.outer(m, m) * (m[:, None] ** 2 + m**2) ** 2)
    expected = np.einsum("ij,in,jn->n", size, *sines)
    unit = plate.Plate(q=1.0)
    np.testing.assert_allclose(unit.solution(x, y).numpy(), expected, rtol=0, atol=1e-10)
    middle = torch.full((1,), 0.5, dtype=torch.float64)
    assert unit.solution(middle, middle).item() == pytest.approx(0.00406235, abs=1e-8)


def test_the_plates_series_has_all_that_matters(monkeypatch):
    problem = plate.Plate()
    x, y = (torch.cat([column, column.new_tensor([0.0, 1.0, 0.3])]) for column in points(problem))
    short = problem.solution(x, y)
    monkeypatch.setattr("pinnsig.problems.plate.TERMS", 2000)
    assert (problem.solution(x, y) - short).abs().max() < 1e-13 * 100


def test_beltramis_pressure_is_ethier_and_steinmans():
    """Their formula, which has products where this one has the square of the speed."""
    a, d = 1.1, 0.8
    problem = beltrami.Beltrami(nu=0.6, a=a, d=d)
    x, y, z, t = points(problem)
    exp, sin, cos = torch.exp, torch.sin, torch.cos
    expected = exp(2 * a * x) + exp(2 * a * y) + exp(2 * a * z)
    for p, q, r in ((x, y, z), (y, z, x), (z, x, y)):
        expected = expected + 2 * sin(a * p + d * q) * cos(a * r + d * p) * exp(a * (q + r))
    expected = -(a**2) / 2 * expected * exp(-2 * 0.6 * d**2 * t)
    torch.testing.assert_close(problem.solution(x, y, z, t)[3], expected, rtol=1e-12, atol=1e-12)


def test_taylor_greens_energy_decays_as_it_must():
    """Its mean over the square is exp(-4 nu t) / 4."""
    side = 2 * math.pi * torch.arange(16).double() / 16
    x, y = torch.cartesian_prod(side, side).unbind(1)
    u, v, _ = taylor_green.TaylorGreen(nu=0.3).solution(x, y, torch.full_like(x, 0.5))
    assert ((u**2 + v**2) / 2).mean().item() == pytest.approx(math.exp(-0.6) / 4, rel=1e-12)
