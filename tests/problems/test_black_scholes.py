from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pinnsig.problems.black_scholes import BlackScholes  # pyright: ignore[reportMissingImports]
from scipy.stats import norm

from pinnsig.core.errors import ProblemError
from pinnsig.problem import problem_class

KINDS = ["call", "put"]


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def price(problem: BlackScholes, S: float, tau: float) -> float:
    return problem.solution(column(S), column(tau)).item()


def partials(problem: BlackScholes, S: torch.Tensor, tau: torch.Tensor) -> SimpleNamespace:
    S, tau = S.clone().requires_grad_(), tau.clone().requires_grad_()
    V = problem.solution(S, tau)
    V_S, V_tau = torch.autograd.grad(V.sum(), (S, tau), create_graph=True)
    (V_SS,) = torch.autograd.grad(V_S.sum(), S)
    return SimpleNamespace(V=V.detach(), S=V_S.detach(), tau=V_tau.detach(), SS=V_SS)


def test_known_prices():
    market = {"r": 0.01, "sigma": 0.19, "K": 4400.0}
    call = price(BlackScholes(**market), 4600.0, 5 / 365)
    put = price(BlackScholes(kind="put", **market), 4600.0, 5 / 365)
    assert call == pytest.approx(201.4405, abs=5e-5)
    assert put == pytest.approx(0.8379, abs=5e-5)
    assert abs(call - put - 4600.0 + 4400.0 * np.exp(-0.01 * 5 / 365)) < 1e-10
    assert price(BlackScholes(K=100.0), 100.0, 1.0) == pytest.approx(10.4505836, abs=5e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_textbook_formula(kind):
    rng = np.random.default_rng(0)
    S, tau = rng.uniform(1e-3, 2.0, 500), rng.uniform(1e-4, 3.0, 500)
    r, sigma, K = 0.03, 0.35, 0.7
    d1 = (np.log(S / K) + (r + sigma**2 / 2) * tau) / (sigma * np.sqrt(tau))
    d2 = d1 - sigma * np.sqrt(tau)
    call = S * norm.cdf(d1) - K * np.exp(-r * tau) * norm.cdf(d2)
    put = K * np.exp(-r * tau) * norm.cdf(-d2) - S * norm.cdf(-d1)
    problem = BlackScholes(r=r, sigma=sigma, K=K, kind=kind)
    found = problem.solution(torch.from_numpy(S), torch.from_numpy(tau)).numpy()
    np.testing.assert_allclose(found, call if kind == "call" else put, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_solves_the_equation_up_to_the_edges(kind):
    problem = BlackScholes(kind=kind)
    generator = torch.Generator().manual_seed(0)
    S, tau = torch.rand(2, 1000, generator=generator, dtype=torch.float64)
    edges = [
        (0.0, 0.0),
        (0.0, 1.0),
        (1.0, 0.0),
        (0.3, 0.0),
        (1e-310, 0.5),
        (0.4, 1e-99),
        (0.4, 1e-310),
    ]
    S = torch.cat([S, column(*[s for s, _ in edges])])
    tau = torch.cat([tau, column(*[t for _, t in edges])])
    V = partials(problem, S, tau)
    r, sigma = problem.r, problem.sigma
    residual = -V.tau + sigma**2 * S**2 * V.SS / 2 + r * S * V.S - r * V.V
    assert residual.abs().max() < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_nan_at_the_strike(kind):
    V = partials(BlackScholes(kind=kind), column(0.5, 0.5, 0.5), column(0.0, 1e-70, 1e-20))
    assert all(torch.isfinite(part).all() for part in vars(V).values())
    assert V.V[0] == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_limits(kind):
    problem = BlackScholes(kind=kind)
    S = torch.linspace(0, 1, 101, dtype=torch.float64)
    zero = torch.zeros_like(S)
    payoff = (S - 0.5).clamp(min=0) if kind == "call" else (0.5 - S).clamp(min=0)
    assert torch.equal(problem.solution(S, zero), payoff)
    worthless = zero if kind == "call" else 0.5 * torch.exp(-0.05 * S)
    assert torch.equal(problem.solution(zero, S), worthless)
    torch.testing.assert_close(problem.solution(S, zero + 1e-30), payoff)
    torch.testing.assert_close(problem.solution(zero + 1e-30, S), worthless)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("market", [{}, {"sigma": 0.8}, {"K": 0.9}, {"r": -0.1, "sigma": 2.0}])
def test_boundary_is_the_limit_of_the_closed_form_for_any_coefficients(kind, market):
    problem = BlackScholes(kind=kind, **market)
    boundary = problem.terms()["boundary"]
    tau = torch.linspace(0, 1, 101, dtype=torch.float64)
    for S in (0.0, 1.0):
        V = problem.solution(torch.full_like(tau, np.nextafter(S, 0.5)), tau)
        at = {"S": torch.full_like(tau, S), "tau": tau}
        assert boundary.residual({"V": V}, at, {})["V"].abs().max() <= 1e-14


def test_conditions_are_those_of_the_paper():
    terms = BlackScholes().terms()
    assert list(terms) == ["initial", "boundary"]
    S, tau = column(0.0, 1.0, 1.0), column(0.3, 0.0, 1.0)
    zero = {"V": torch.zeros_like(S)}
    found = terms["boundary"].residual(zero, {"S": S, "tau": tau}, {})["V"]
    asymptotic = column(0.0, 0.5, 1.0 - 0.5 * np.exp(-0.05))
    torch.testing.assert_close(-found, asymptotic, rtol=0, atol=4e-6)


def test_residual_reads_the_partials():
    V = SimpleNamespace(tau=column(1.0), SS=column(2.0), S=column(3.0))
    problem = BlackScholes(r=0.0, sigma=2.0)
    assert problem.residual(_Field(V), column(0.5)).item() == -1.0 + 4.0 * 0.25 * 2.0 / 2


class _Field(SimpleNamespace):
    """A field that is zero, with the partials given."""

    def __init__(self, partials: SimpleNamespace) -> None:
        super().__init__(**vars(partials))

    def __rmul__(self, factor: float) -> float:
        return 0.0 * factor


def test_settings_are_checked():
    with pytest.raises(ProblemError, match=r"sigma = 0 cannot be: it must be greater than 0"):
        BlackScholes(sigma=0.0)
    with pytest.raises(ProblemError, match=r"kind = 'straddle' cannot be: choose call or put"):
        BlackScholes(kind="straddle")


def test_is_registered():
    assert problem_class("black-scholes") is BlackScholes
