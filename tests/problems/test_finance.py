"""Options beyond the European one: the common checks, prices from elsewhere, and refinement."""

import math

import mpmath
import numpy as np
import pytest
import torch
from pinnsig.problems.american_put import (  # pyright: ignore[reportMissingImports]
    AmericanPut,
    Front,
)
from pinnsig.problems.barrier import Barrier  # pyright: ignore[reportMissingImports]
from pinnsig.problems.basket import Basket  # pyright: ignore[reportMissingImports]
from pinnsig.problems.basket import put as basket_put  # pyright: ignore[reportMissingImports]
from scipy.integrate import dblquad
from scipy.stats import norm

from pinnsig.testing import ProblemChecks


class TestBarrier(ProblemChecks):
    problem = Barrier


class TestBasket(ProblemChecks):
    problem = Basket


class TestAmericanPut(ProblemChecks):
    problem = AmericanPut


@pytest.mark.parametrize(
    "problem",
    [
        Barrier(sigma=0.8, K=100.0, barrier=0.7, r=-0.02),
        Basket(sigma_1=0.4, rho=-0.6, w_1=1.0, w_2=0.3, K=100.0, r=0.02),
        AmericanPut(sigma=0.8, r=0.02, K=100.0),
    ],
)
def test_other_markets_are_solved(problem):
    checks = type("Checks", (ProblemChecks,), {"problem": problem})()
    checks.test_residual_of_the_solution_is_zero()
    checks.test_solution_meets_the_conditions()


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def square(n: int, dimensions: int = 2) -> tuple[torch.Tensor, ...]:
    """Points of the unit cube, a third of them with a short time to maturity."""
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(n, dimensions, generator=generator, dtype=torch.float64)
    points[: n // 3, -1] *= 1e-3
    return points.unbind(1)


def european_put(S, K, r, sigma, tau):
    d = (np.log(S / K) + (r + sigma**2 / 2) * tau) / (sigma * np.sqrt(tau))
    return K * np.exp(-r * tau) * norm.cdf(sigma * np.sqrt(tau) - d) - S * norm.cdf(-d)


# --- barrier -------------------------------------------------------------------------------------


@pytest.mark.parametrize("market", [{}, {"r": -0.03, "sigma": 0.5, "K": 7.0, "barrier": 0.6}])
def test_barrier_agrees_with_the_textbook(market):
    """The formula as Hull has it, by lambda = (r + sigma² / 2) / sigma² and y."""
    problem = Barrier(**market)
    x, tau = (column.numpy() for column in square(300))
    r, sigma, K = problem.r, problem.sigma, problem.K
    H = problem.barrier * K
    S, width, power = H * np.exp(x), sigma * np.sqrt(tau), (r + sigma**2 / 2) / sigma**2
    d = (np.log(S / K) + (r + sigma**2 / 2) * tau) / width
    y = np.log(H**2 / (S * K)) / width + power * width
    strike = K * np.exp(-r * tau)
    expected = S * norm.cdf(d) - strike * norm.cdf(d - width)
    expected -= S * (H / S) ** (2 * power) * norm.cdf(y)
    expected += strike * (H / S) ** (2 * power - 2) * norm.cdf(y - width)
    found = problem.solution(torch.from_numpy(x), torch.from_numpy(tau)).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * K)


@pytest.mark.parametrize(("x", "tau"), [(0.02, 1.0), (0.1, 0.3), (0.6, 0.9)])
def test_barrier_is_the_mean_over_paths_that_never_touch_it(x, tau):
    """By quadrature over where a path that is still above the barrier may end."""
    r, sigma, b = 0.05, 0.2, 0.9
    drift, width = r - sigma**2 / 2, sigma * math.sqrt(tau)

    def alive(end):
        density = mpmath.npdf((end - x - drift * tau) / width) / width
        return density * (1 - mpmath.exp(-2 * end * x / width**2))  # the Brownian bridge

    upper = x + drift * tau + 12 * width
    start = -math.log(b)  # S = K
    found = mpmath.quad(
        lambda end: (b * mpmath.exp(end) - 1) * alive(end), mpmath.linspace(start, upper, 12)
    )
    expected = float(mpmath.exp(-r * tau) * found)
    price = Barrier().solution(column(x), column(tau)).item()
    assert price == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("market", [{}, {"r": -0.03, "sigma": 0.5, "K": 7.0, "barrier": 1.0}])
def test_payoff_and_barrier_hold_for_any_network(market):
    problem = Barrier(**market)
    along = torch.linspace(0, 1, 101, dtype=torch.float64)
    n, zero = 5 * torch.cos(7 * along), torch.zeros_like(along)
    payoff = torch.relu(problem.barrier * problem.K * torch.exp(along) - problem.K)
    torch.testing.assert_close(problem.ansatz(n, along, zero), payoff, rtol=0, atol=1e-13)
    torch.testing.assert_close(problem.ansatz(n, zero, along), zero, rtol=0, atol=1e-13)


# --- basket --------------------------------------------------------------------------------------

MARKETS = [
    {"r": 0.05, "sigma_1": 0.2, "sigma_2": 0.3, "rho": 0.5},
    {"r": 0.0, "sigma_1": 0.5, "sigma_2": 0.1, "rho": -0.9},
    {"r": 0.1, "sigma_1": 0.3, "sigma_2": 0.3, "rho": 0.9},
]


@pytest.mark.parametrize("market", MARKETS)
@pytest.mark.parametrize(("a", "b", "tau"), [(0.5, 0.5, 1.0), (0.2, 0.85, 0.1)])
def test_basket_agrees_with_a_double_integral(market, a, b, tau):
    """Over both assets at maturity, without the closed form of one of them."""
    r, s, q, rho = market.values()
    root, other = math.sqrt(tau), math.sqrt(1 - rho**2)

    def second(z):
        return b * math.exp((r - q**2 / 2) * tau + q * root * z)

    def highest(z):  # where the basket is worth the strike
        left = max(1 - second(z), 1e-300)
        y = (math.log(left / a) - (r - s**2 / 2) * tau) / (s * root)
        return min(max((y - rho * z) / other, -9.0), 9.0)

    def integrand(y, z):
        first = a * math.exp((r - s**2 / 2) * tau + s * root * (rho * z + other * y))
        return (1 - first - second(z)) * math.exp(-(y * y + z * z) / 2) / (2 * math.pi)

    top = min((-math.log(b) - (r - q**2 / 2) * tau) / (q * root), 9.0)
    found = dblquad(integrand, -9.0, top, -9.0, highest, epsabs=1e-11)[0]
    price = basket_put(column(a), column(b), column(tau), **market).item()
    assert price == pytest.approx(math.exp(-r * tau) * found, abs=1e-9)


@pytest.mark.parametrize("market", MARKETS)
def test_basket_is_converged(market):
    x, y, tau = square(600, 3)
    a, b = 0.5 * x / (1 - x), 0.5 * y / (1 - y)
    found, finer = (basket_put(a, b, tau, **market, nodes=n) for n in (96, 400))
    assert (found - finer).abs().max() < 1e-9


def test_a_basket_of_one_asset_is_a_put():
    problem = Basket(w_2=1e-30, w_1=2.0, K=3.0)
    x, tau = square(200)
    S = 3 * x / (1 - x)
    expected = european_put(2 * S.numpy(), 3.0, 0.05, 0.2, tau.numpy())
    middle = torch.full_like(x, 0.5)
    np.testing.assert_allclose(problem.solution(x, middle, tau).numpy(), expected, atol=1e-13)
    # and the ansatz has nothing left to learn
    found = problem.ansatz(torch.zeros_like(x), x, middle, tau).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_the_lifted_kink_of_a_basket_leaves_little():
    """What is left of V after lifting is small, and vanishes faster than tau at the kink."""
    problem = Basket()
    near = torch.linspace(-4, 4, 81, dtype=torch.float64)
    left = []
    for tau in (1e-4, 1e-2):
        x = torch.sigmoid(0.3 + 0.2 * math.sqrt(tau) * near)  # across the kink, S_1 / K = e^0.3
        y, time = torch.full_like(x, 1 - 1 / (3 - math.exp(0.3))), torch.full_like(x, tau)
        rest = problem.solution(x, y, time) - problem.ansatz(0 * x, x, y, time)
        left.append((rest / tau).abs().max().item())
    assert left[0] < 1e-6
    assert 1e-6 < left[1] < 1e-5


def test_payoff_of_a_basket_holds_for_any_network():
    problem = Basket(w_1=0.3, K=2.0)
    x, y, _ = square(200, 3)
    zero = torch.zeros_like(x)
    payoff = 2 * torch.relu(1 - 0.3 * x / (1 - x) - 0.5 * y / (1 - y))
    torch.testing.assert_close(problem.ansatz(5 + x, x, y, zero), payoff, rtol=0, atol=1e-13)
    torch.testing.assert_close(problem.solution(x, y, zero), payoff, rtol=0, atol=1e-13)


# --- American put --------------------------------------------------------------------------------


def binomial_put(S: float, r: float, sigma: float, steps: int) -> float:
    """The tree of Cox, Ross and Rubinstein, K = 1 and one year; the last step by the formula."""
    dt = 1 / steps
    up = math.exp(sigma * math.sqrt(dt))
    p = (math.exp(r * dt) - 1 / up) / (up - 1 / up)
    at = S * up ** (2.0 * np.arange(steps) - (steps - 1))
    value = np.maximum(european_put(at, 1.0, r, sigma, dt), 1 - at)
    for level in range(steps - 1, 0, -1):
        at = S * up ** (2.0 * np.arange(level) - (level - 1))
        held = math.exp(-r * dt) * (p * value[1:] + (1 - p) * value[:-1])
        value = np.maximum(held, 1 - at)
    return float(value[0])


@pytest.mark.parametrize(("S", "r", "sigma"), [(0.9, 0.05, 0.2), (1.0, 0.06, 0.4)])
def test_american_put_agrees_with_a_tree(S, r, sigma):
    coarse, fine = (binomial_put(S, r, sigma, steps) for steps in (500, 1000))
    found = Front(r, sigma)(column(S), column(1.0)).item()
    assert found == pytest.approx(2 * fine - coarse, abs=2e-6)


@pytest.mark.parametrize("market", [(0.05, 0.2), (0.2, 0.1)])
def test_american_put_is_converged(market):
    u, tau = square(600)
    S = u / (1 - u)
    finer = Front(*market, degree=72, nodes=200)
    S[::2] = torch.exp(finer.at(torch.sqrt(tau[::2]))) + 0.02 * u[::2]
    assert (Front(*market)(S, tau) - finer(S, tau)).abs().max() < 5e-9


def test_american_put_joins_its_payoff_without_a_kink():
    front = Front(0.05, 0.2)
    tau = torch.linspace(0.05, 1.0, 20, dtype=torch.float64)
    at = torch.exp(front.at(torch.sqrt(tau)))
    assert (at.diff() < 0).all()
    assert at[-1] > 2 * 0.05 / (2 * 0.05 + 0.2**2)  # the front of a put without maturity
    S = (at + 1e-7).requires_grad_()
    V = front(S, tau)
    (slope,) = torch.autograd.grad(V.sum(), S)
    torch.testing.assert_close(V, 1 - S, rtol=0, atol=1e-9)
    torch.testing.assert_close(slope, -torch.ones_like(slope), rtol=0, atol=2e-6)


def test_american_put_without_its_premium_is_the_european_one():
    """With the two terms of the put in their places: 0.8379 for this market."""
    problem = AmericanPut(K=4400.0, r=0.01, sigma=0.19)
    x, tau = column(4600 / 9000), column(5 / 365)
    european = problem.ansatz(column(0.0), x, tau).item()
    assert european == pytest.approx(0.8379, abs=5e-5)
    S, time = (column.numpy() for column in square(200))
    expected = european_put(4400 * S / (1 - S), 4400.0, 0.01, 0.19, time)
    found = problem.ansatz(0 * torch.from_numpy(S), torch.from_numpy(S), torch.from_numpy(time))
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-9)
    call = european + 4600 - 4400 * math.exp(-0.01 * 5 / 365)
    assert call == pytest.approx(201.4405, abs=5e-5)
    assert european <= problem.solution(x, tau).item() < european + 4400 * 0.01 * 5 / 365


def test_american_put_is_refused_where_it_is_exercised_too_late_or_early():
    """The residual tells both from the solution: the sign of the equation, and the obstacle."""
    problem = AmericanPut()

    x = column(0.3, 0.7)  # S = 0.43, where it is to be exercised, and 2.3
    S = x / (1 - x)

    def residual(V, slope, curve):
        move = 1 / (1 - x) ** 2  # dS / dx
        field = _Field(V, slope * move, curve * move**2 + slope * 2 / (1 - x) ** 3)
        return problem.residual(field, x)

    exercised = residual(1 - S, column(-1.0, -1.0), column(0.0, 0.0))
    assert exercised[0].abs() < 1e-14
    worthless = residual(0 * S, 0 * S, 0 * S)
    assert worthless[1].abs() < 1e-14
    assert worthless[0] < -0.3  # below what exercising is worth


class _Field:
    """V with partials that do not change in time."""

    def __init__(self, value: torch.Tensor, x: torch.Tensor, xx: torch.Tensor) -> None:
        self.value, self.x, self.xx, self.tau = value, x, xx, torch.zeros_like(value)

    def __sub__(self, other: float) -> torch.Tensor:
        return self.value - other

    def __rsub__(self, other: torch.Tensor) -> torch.Tensor:
        return other - self.value

    def __rmul__(self, other: torch.Tensor) -> torch.Tensor:
        return other * self.value
