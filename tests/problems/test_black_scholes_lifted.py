import math
from typing import Any

import mpmath
import pytest
import torch
from pinnsig.problems.black_scholes_lifted import (  # pyright: ignore[reportMissingImports]
    TERMS,
    BlackScholesLifted,
    exp_beyond,
    lifted,
)

from pinnsig.derivatives import coordinate_jets
from pinnsig.problem import problem_class
from pinnsig.testing import ProblemChecks

MARKETS = [{}, {"sigma": 0.8, "K": 0.9}, {"r": -0.03, "sigma": 0.1, "K": 0.3}]


class TestLiftedCall(ProblemChecks):
    problem = BlackScholesLifted


class TestLiftedPut(ProblemChecks):
    problem = BlackScholesLifted(kind="put", sigma=0.5)


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def powers_spread_by_the_heat_kernel(y: float, s: float) -> float:
    """The lifted powers of y > 0 by quadrature against the heat kernel."""
    width = mpmath.sqrt(4 * mpmath.mpf(s))

    def integrand(q):
        at = y + width * q
        powers = sum(at**m / mpmath.factorial(m) for m in range(1, TERMS + 1))
        return powers * mpmath.exp(-q * q) / mpmath.sqrt(mpmath.pi)

    start = -y / width  # the powers begin where y + width q = 0
    lower = max(start, -12)
    found: Any = mpmath.quad(integrand, mpmath.linspace(lower, max(lower, 0) + 12, 8))
    return float(found)


@pytest.mark.parametrize("s", [1e-6, 1e-3, 0.02, 0.3])
@pytest.mark.parametrize("y", [-0.8, -0.02, 0.0, 1e-3, 0.1, 0.7])
def test_powers_spread_as_heat_does(y, s):
    found = lifted(column(y), column(s)).item()
    assert found == pytest.approx(powers_spread_by_the_heat_kernel(y, s), abs=2e-15, rel=1e-13)


def test_what_is_left_of_the_exponential():
    for y in (0.0, 1e-3, 0.1, 1.0, 3.0):
        expected = mpmath.nsum(lambda m, y=y: mpmath.mpf(y) ** m / mpmath.factorial(m),
                               [TERMS + 1, mpmath.inf])  # fmt: skip
        assert exp_beyond(column(y)).item() == pytest.approx(float(expected), abs=1e-15, rel=1e-13)


@pytest.mark.parametrize("kind", ["call", "put"])
@pytest.mark.parametrize("market", MARKETS)
def test_payoff_and_worthless_end_hold_for_any_network(kind, market):
    problem = BlackScholesLifted(kind=kind, **market)
    S, tau = torch.linspace(0, 1, 101, dtype=torch.float64), torch.linspace(0, 1, 101).double()
    n, zero = 5 * torch.cos(7 * S), torch.zeros_like(S)
    for at in ((S, zero), (zero, tau)):
        found, expected = problem.ansatz(n, *at), problem.discounted_payoff(*at)
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-15)


@pytest.mark.parametrize("kind", ["call", "put"])
@pytest.mark.parametrize("market", MARKETS)
def test_all_that_the_equation_leaves_is_a_smooth_source(kind, market):
    """The lifted powers solve the equation, so that with n = 0 only exp_beyond's y₊⁴ is left."""
    problem = BlackScholesLifted(kind=kind, **market)
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(300, 2, generator=generator, dtype=torch.float64)
    points[:100, 1] *= 1e-3
    points[:50, 0] = problem.K * (1 + 1e-2 * (points[:50, 0] - 0.5))
    jets = coordinate_jets(("S", "tau"), points)
    S, tau = points.unbind(1)
    V = problem.ansatz(0.0 * jets["S"], **jets)
    found = problem.residual(V, jets["S"]).value
    y = torch.log(S / problem.K) + (problem.r - problem.sigma**2 / 2) * tau
    above = y.clamp(min=0)
    source = torch.exp(above) - sum(above**m / math.factorial(m) for m in range(TERMS - 1))
    expected = problem.K * torch.exp(-problem.r * tau) * problem.sigma**2 / 2 * source
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-11)


def rest(y, s):
    """n as a function of y and s, from the closed form with 60 digits."""
    root = mpmath.sqrt(4 * s)
    closed = (mpmath.exp(y + s) * mpmath.erfc(-(y + 2 * s) / root) - mpmath.erfc(-y / root)) / 2
    before, power = mpmath.erfc(-y / root) / 2, None
    power = y * before + root * mpmath.exp(-((y / root) ** 2)) / (2 * mpmath.sqrt(mpmath.pi))
    total = power
    for m in range(2, TERMS + 1):
        before, power = power, (y * power + 2 * s * before) / m
        total += power
    above = max(y, mpmath.mpf(0))
    stays = mpmath.exp(above) - sum(above**m / mpmath.factorial(m) for m in range(TERMS + 1))
    return (closed - total - stays) / s * mpmath.exp(-y)


ORDERS = [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (0, 2)]


@pytest.mark.parametrize("order", ORDERS)
def test_rest_has_bounded_partials_up_to_the_kink(order):
    """Those that the equation reads, and their slopes: n_yyy, n_ys and n_ss at most."""
    with mpmath.workdps(60):
        largest = 0.0
        for s in ("1e-2", "1e-4", "1e-8", "1e-12"):
            s = mpmath.mpf(s)
            for z in (-4, -1, -0.3, 0.2, 1, 4):
                step = mpmath.mpf("1e-12")
                y = z * mpmath.sqrt(s)
                found = mpmath.diff(rest, (y, s), order, h=step * mpmath.sqrt(s))
                largest = max(largest, abs(float(found)))
    assert largest < 1.0


def test_rest_starts_as_the_fourth_power():
    with mpmath.workdps(60):
        for y in ("0.01", "0.1"):
            y, s = mpmath.mpf(y), mpmath.mpf("1e-14")
            start = (mpmath.exp(y) - 1 - y - y**2 / 2 - y**3 / 6) * mpmath.exp(-y)
            assert float(rest(y, s)) == pytest.approx(float(start), rel=1e-6)
            assert abs(float(rest(-y, s))) < 1e-30


def test_is_registered():
    assert problem_class("black-scholes-lifted") is BlackScholesLifted
