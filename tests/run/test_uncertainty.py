"""Confidence intervals of what is learned, against ordinary regression and over repetitions."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import curve_fit
from scipy.stats import t as student

import pinnsig
from pinnsig.model import Model
from pinnsig.objective import Objective
from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, PointData, Problem
from pinnsig.run.building import build
from pinnsig.run.judging import covariance, noise_uncertainty
from pinnsig.run.settings import resolve
from pinnsig.sampling import Counts, draw_sites
from tests.conftest import SMALL

TIMES = np.linspace(0.05, 1.0, 40)
ERRORS = np.random.default_rng(0).normal(size=40)


class Curve(Problem):
    """u = a exp(-k t) with nothing left to the network: ordinary nonlinear regression."""

    domain = Box(t=(0.0, 1.0))
    a = Coefficient(1.0, learn=True, true=2.0)
    k = Coefficient(1.0, above=0.0, learn=True, true=3.0)

    def residual(self, u):
        return u.t + self.k * u

    def ansatz(self, n, t):
        return self.a * torch.exp(-self.k * t) + 0 * n


class Line(Curve):
    """Measured with noise."""

    def conditions(self):
        yield PointData(t=TIMES, u=2 * np.exp(-3 * TIMES) + 0.05 * ERRORS)


def objective_of(kind: type[Problem]) -> Objective:
    chosen = resolve({"problem": "own", "dtype": "float64", **SMALL})
    model: Model = build(chosen, kind).model
    return Objective(model, "auto", draw_sites(model.problem, Counts(20, 5, 5), "lhs", 0))


@pytest.fixture(scope="module")
def fitted() -> tuple[Objective, Any]:
    """A model with the coefficients of the least squares fit, and what scipy says of them."""

    def curve(t: Any, a: float, k: float) -> Any:
        return a * np.exp(-k * t)

    objective = objective_of(Line)
    values = 2 * np.exp(-3 * TIMES) + 0.05 * ERRORS
    found, matrix = curve_fit(curve, TIMES, values, (2.0, 3.0), xtol=1e-12, ftol=1e-12)
    for name, value in zip("ak", found, strict=True):
        theta = objective.model.bijections[name].theta(value)
        objective.model.unknowns[name].data.fill_(theta)
    return objective, (found, matrix, float(np.sqrt(np.mean((values - curve(TIMES, *found)) ** 2))))


def test_errors_and_correlation_are_those_of_nonlinear_regression(fitted):
    objective, (found, matrix, left) = fitted
    before = objective.flat.copy()
    known = noise_uncertainty(objective)
    assert known.reason is None
    assert known.noise is not None
    assert known.noise.degrees == pytest.approx(38, rel=1e-6)
    assert known.noise.levels["data"] == pytest.approx(left * math.sqrt(40 / 38), rel=1e-6)
    expected = np.sqrt(np.diag(matrix))
    for i, name in enumerate("ak"):
        assert known.standard_errors[name] == pytest.approx(expected[i], rel=1e-4)
    correlation = matrix[0, 1] / (expected[0] * expected[1])
    assert known.correlation["a"]["k"] == pytest.approx(correlation, rel=1e-4)
    assert known.correlation["a"]["a"] == pytest.approx(1.0)
    half = student.ppf(0.975, 38) * expected[0]  # a has no limits: its interval is symmetric
    assert known.intervals["a"] == pytest.approx((found[0] - half, found[0] + half), rel=1e-4)
    low, high = known.intervals["k"]
    assert 0 < low < found[1] < high
    assert torch.equal(objective.flat.values, before)


def test_the_profile_is_the_loss_of_the_best_fit_at_each_value(fitted):
    objective, (found, _, left) = fitted
    profile = noise_uncertainty(objective).profiles["k"]
    values = 2 * np.exp(-3 * TIMES) + 0.05 * ERRORS
    assert profile.values[3] == pytest.approx(found[1])
    for k, loss, quadratic in zip(profile.values, profile.losses, profile.quadratic, strict=True):
        basis = np.exp(-k * TIMES)
        best = (basis @ values) / (basis @ basis)
        exact = np.mean((values - best * basis) ** 2)
        assert loss - left**2 == pytest.approx(exact - left**2, rel=1e-2, abs=1e-10)
        assert quadratic - left**2 == pytest.approx(exact - left**2, rel=0.3, abs=1e-10)


class Known(Line):
    """Values of two precisions."""

    def conditions(self):
        sigma = np.where(TIMES < 0.5, 0.02, 0.2)
        yield PointData(t=TIMES, u=2 * np.exp(-3 * TIMES), noise=sigma)


def test_noise_that_is_given_is_taken():
    objective = objective_of(Known)
    for name, value in (("a", 2.0), ("k", 3.0)):
        theta = objective.model.bijections[name].theta(value)
        objective.model.unknowns[name].data.fill_(theta)
    known = noise_uncertainty(objective)
    assert known.noise is not None
    assert known.noise.given
    sigma = np.where(TIMES < 0.5, 0.02, 0.2)
    assert known.noise.levels["data"] == pytest.approx(float(np.sqrt(np.mean(sigma**2))))
    slopes = np.stack([np.exp(-3 * TIMES), -2 * TIMES * np.exp(-3 * TIMES)], axis=1)
    rows = slopes / sigma[:, None]
    expected = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    assert known.standard_errors["a"] == pytest.approx(expected[0], rel=1e-5)
    assert known.standard_errors["k"] == pytest.approx(expected[1], rel=1e-5)


class WithoutData(Curve):
    def conditions(self):
        yield Initial(u=2.0)
        yield Dirichlet(on="t+", u=0.1)


def test_where_there_are_no_intervals_the_reason_is_told(monkeypatch, fitted):
    assert "no measured data" in str(noise_uncertainty(objective_of(WithoutData)).reason)
    monkeypatch.setattr(covariance, "LARGEST", 3)
    assert "take a smaller network" in str(noise_uncertainty(fitted[0]).reason)
    monkeypatch.setattr(covariance, "LARGEST", 10**6)
    monkeypatch.setattr(covariance, "DATA_CELLS", 3)
    assert "are too many" in str(noise_uncertainty(fitted[0]).reason)


class FewData(Line):
    def conditions(self):
        yield PointData(t=[0.3, 0.6], u=[1.0, 0.5])


def test_data_that_are_all_taken_up_tell_no_noise():
    assert "takes up all of the data" in str(noise_uncertainty(objective_of(FewData)).reason)


class Diffusivity(Problem):
    """The diffusivity in a heat equation, from noisy temperatures."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.1, above=0.0, learn=True, true=0.2)
    draw = Coefficient(0.0)

    def residual(self, u):
        return u.t - self.k * u.xx

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)
        tenths = torch.arange(1, 11, dtype=torch.float64) / 10
        x, t = torch.cartesian_prod(tenths[:-1], tenths).unbind(1)
        random = torch.Generator().manual_seed(int(self.draw))
        error = 0.02 * torch.randn(90, generator=random, dtype=torch.float64)
        yield PointData(
            x=x, t=t, u=torch.exp(-0.2 * math.pi**2 * t) * torch.sin(math.pi * x) + error
        )

    def solution(self, x, t):
        return torch.exp(-self.k * math.pi**2 * t) * torch.sin(math.pi * x)


QUICK: dict[str, Any] = {
    "depth": 2, "width": 10, "collocation": 200, "initial": 20, "boundary": 20, "adam": 30,
    "lbfgs": 0, "broyden": 200, "dtype": "float64", "figures": False,
}  # fmt: skip


def test_a_network_is_eliminated_as_the_exact_solution_would_be(runs):
    """The error is that of regression with exp(-k pi² t) sin(pi x), but for what training gives."""
    result = pinnsig.solve(Diffusivity, runs=runs, **QUICK)
    k = result.coefficients["k"]
    x, t = np.meshgrid(np.arange(1, 10) / 10, np.arange(1, 11) / 10)
    slope = math.pi**2 * t * np.exp(-0.2 * math.pi**2 * t) * np.sin(math.pi * x)
    best = 0.02 / np.linalg.norm(slope)
    assert 0.9 * best < k["standard_error"] < 1.4 * best
    assert k["interval"][0] < k["value"] < k["interval"][1]
    assert abs(k["value"] - 0.2) < 4 * k["standard_error"]
    assert result.uncertainty["noise"]["data"] == pytest.approx(0.02, rel=0.25)
    assert result.correlation == {"k": {"k": pytest.approx(1.0)}}


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say(runs):
    """Of 20 draws of noise at least 16 are covered: fewer have a chance below 0.3 % at 95 %."""
    covered, widths, found = 0, [], []
    for draw in range(20):
        k = pinnsig.solve(Diffusivity, runs=runs, set={"draw": draw}, **QUICK).coefficients["k"]
        covered += k["interval"][0] <= 0.2 <= k["interval"][1]
        widths.append(k["standard_error"])
        found.append(k["value"])
    assert covered >= 16
    assert 0.6 < np.mean(widths) / np.std(found, ddof=1) < 1.7  # as wide as values scatter
