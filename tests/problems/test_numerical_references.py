"""Problems whose solution is worked out numerically: the common checks, values from elsewhere, and
refinement of each reference against the error that its problem states."""

import math

import mpmath
import numpy as np
import pytest
import torch
from pinnsig.problems import (  # pyright: ignore[reportMissingImports]
    allen_cahn,
    kdv,
    lotka_volterra,
    schrodinger,
)

from pinnsig.model.evaluation import evaluation_axes
from pinnsig.testing import ProblemChecks


class TestKdV(ProblemChecks):
    problem = kdv.KdV


class TestKdVDispersive(ProblemChecks):
    problem = kdv.KdV(mu=0.1)


class TestAllenCahn(ProblemChecks):
    problem = allen_cahn.AllenCahn


class TestAllenCahnSlow(ProblemChecks):
    problem = allen_cahn.AllenCahn(d=0.01, c=1.0)
    residual_tolerance = 1e-6


class TestSchrodinger(ProblemChecks):
    problem = schrodinger.Schrodinger
    residual_tolerance = 1e-5  # its start has kinks, which never heal
    condition_tolerance = 1e-4


class TestLotkaVolterra(ProblemChecks):
    problem = lotka_volterra.LotkaVolterra


class TestLotkaVolterraFast(ProblemChecks):
    problem = lotka_volterra.LotkaVolterra(T=60.0, a=1.0)


def grid(problem):
    """Every third point of the evaluation grid along each axis, ends included."""
    axes = [np.r_[axis[:-1:3], axis[-1]] for axis in evaluation_axes(problem).values()]
    axes = [torch.from_numpy(axis) for axis in axes]
    return torch.cartesian_prod(*axes).reshape(-1, len(axes)).unbind(1)


def errors(found, finer):
    """The largest error, and the relative one in the 2-norm."""
    off = (found - finer).abs()
    return off.max().item(), (off.norm() / finer.norm()).item()


def at(problem, **coordinates):
    return problem.solution(
        *(torch.as_tensor(coordinates[name]).double().reshape(-1) for name in problem.domain.names)
    )


@pytest.mark.slow
def test_kdv_is_converged():
    x, t = grid(kdv.KdV())
    found, finer = kdv.reference(0.022)(x, t), kdv.reference(0.022, 1024, 16000)(x, t)
    largest, relative = errors(found, finer)
    assert largest < 4e-9
    assert relative < 5e-10


def test_kdv_conserves_mass_momentum_and_energy():
    x, t = torch.cartesian_prod(
        torch.arange(-1, 1, 1 / 256, dtype=torch.float64), torch.tensor([0.0, 0.3, 1.0]).double()
    ).unbind(1)
    x = x.clone().requires_grad_()
    u = kdv.KdV().solution(x, t)
    (u_x,) = torch.autograd.grad(u.sum(), x)
    density = torch.stack([u, u**2, u**3 / 3 - 0.022**2 * u_x**2]).reshape(3, -1, 3)
    integrals = 2 * density.mean(1).detach()  # equal steps are exact for what is periodic
    expected = torch.tensor([0.0, 1.0, -((0.022 * math.pi) ** 2)]).double()
    torch.testing.assert_close(integrals, expected[:, None].expand(3, 3), rtol=0, atol=1e-8)


def test_kdv_has_broken_up_into_solitons():
    """Eight or nine crests of Zabusky and Kruskal's, the highest some three times the start's."""
    x = torch.linspace(-1, 1, 2001, dtype=torch.float64)
    u = kdv.KdV().solution(x, torch.full_like(x, 3.6 / math.pi).clamp(max=1.0))
    crests = (u[1:-1] > u[:-2]) & (u[1:-1] > u[2:])
    assert 7 <= crests.sum() <= 9
    assert 2.2 < u.max() < 3.0


def test_allen_cahn_is_converged():
    problem = allen_cahn.AllenCahn()
    near = 1 - 10 ** torch.linspace(-6, -1, 30, dtype=torch.float64)
    early = 10 ** torch.linspace(-8, -1, 30, dtype=torch.float64)
    corner = torch.cartesian_prod(near, early).unbind(1)
    finer = allen_cahn.reference(1e-4, 5.0, 2)
    for (x, t), bound, relative_bound in ((grid(problem), 5e-9, 1e-9), (corner, 1e-8, 1e-8)):
        exact = allen_cahn.kink(x, t, 1e-4, 5.0) + finer(x, t)
        largest, relative = errors(problem.solution(x, t), exact)
        assert largest < bound
        assert relative < relative_bound


def test_allen_cahn_is_converged_for_other_coefficients():
    d, c = 0.02, 1.0
    x, t = grid(allen_cahn.AllenCahn())
    found = allen_cahn.AllenCahn(d=d, c=c).solution(x, t)
    exact = allen_cahn.kink(x, t, d, c) + allen_cahn.reference(d, c, 2)(x, t)
    assert errors(found, exact)[0] < 1e-7


def test_allen_cahn_has_the_known_values():
    found = at(allen_cahn.AllenCahn(), x=[0.0, 0.25], t=[1.0, 1.0]).tolist()
    # second-order finite differences on half the interval with 1,000 to 4,000 points, integrated
    # by Radau at a tolerance of 1e-9 and extrapolated
    assert found == pytest.approx([0.02957972, 0.98847465], abs=2e-8)


def test_allen_cahn_starts_and_stays_even():
    problem = allen_cahn.AllenCahn()
    x = torch.linspace(-1, 1, 101, dtype=torch.float64)
    start = problem.solution(x, torch.zeros_like(x))
    torch.testing.assert_close(start, x**2 * torch.cos(math.pi * x), rtol=0, atol=1e-10)
    later = problem.solution(x, torch.full_like(x, 0.7))
    torch.testing.assert_close(later, later.flip(0), rtol=0, atol=1e-12)
    early = at(problem, x=[1.0], t=[1e-4]).item()  # 2 sqrt(4 d t / pi) above the start's -1
    assert early == pytest.approx(-1 + 2 * math.sqrt(4e-8 / math.pi), abs=1e-6)


def satsuma_yajima(x, t):
    """The soliton of second order on the whole line, from 2 sech x."""
    turn = torch.exp(0.5j * t) * (torch.cosh(3 * x) + 3 * torch.exp(4j * t) * torch.cosh(x))
    return 4 * turn / (torch.cosh(4 * x) + 4 * torch.cosh(2 * x) + 3 * torch.cos(4 * t))


@pytest.mark.slow
def test_schrodinger_is_converged():
    x, t = grid(schrodinger.Schrodinger())
    largest, relative = errors(
        schrodinger.reference()(x, t), schrodinger.reference(1536, 6000)(x, t)
    )
    assert largest < 1.5e-5
    assert relative < 5e-6


def test_schrodinger_is_near_the_soliton_of_the_whole_line():
    problem = schrodinger.Schrodinger()
    x, t = grid(problem)
    u, v = problem.solution(x, t)
    _, relative = errors(torch.complex(u, v), satsuma_yajima(x, t))
    assert 1e-3 < relative < 1e-2  # the box, not the method
    u, v = at(problem, x=[0.0], t=[math.pi / 4])
    assert math.hypot(u.item(), v.item()) == pytest.approx(4.0, abs=2e-3)


def test_schrodinger_on_a_wide_interval_is_the_soliton():
    wide = schrodinger.reference(1024, 4000, half_width=20.0)
    x, t = grid(schrodinger.Schrodinger())
    torch.testing.assert_close(wide(x, t), satsuma_yajima(x, t), rtol=0, atol=1e-7)


def test_schrodinger_conserves_the_norm():
    x = torch.arange(-5, 5, 10 / 1024, dtype=torch.float64)
    for t in (0.0, 0.8, math.pi / 2):
        h = schrodinger.reference()(x, torch.full_like(x, t))
        norm = 10 * (h.abs() ** 2).mean().item()
        assert norm == pytest.approx(8 * math.tanh(5.0), abs=1e-6)


def test_lotka_volterra_is_converged_and_keeps_its_first_integral():
    problem = lotka_volterra.LotkaVolterra()
    (t,) = grid(problem)
    found = torch.stack(problem.solution(t))
    values = {name: float(value) for name, value in problem.values().items()}
    finer = torch.stack(lotka_volterra.reference(**values, finer=2)(t))
    assert errors(found, finer)[0] < 1e-13
    x, y = found
    integral = 4 * x - 1.06 * torch.log(x) + 8 * y - 2 * torch.log(y)
    assert (integral - integral[0]).abs().max() < 1e-12


def test_lotka_volterra_agrees_with_taylor_series():
    with mpmath.workdps(20):

        def rates(t, y):
            return [20 * y[0] * (2 - 8 * y[1]), 20 * y[1] * (4 * y[0] - mpmath.mpf("1.06"))]

        start = [mpmath.mpf("0.5"), mpmath.mpf("0.075")]
        expected = [float(y) for y in mpmath.odefun(rates, 0, start)(mpmath.mpf("0.25"))]
    found = [y.item() for y in at(lotka_volterra.LotkaVolterra(), t=[0.25])]
    assert found == pytest.approx(expected, abs=1e-13)
