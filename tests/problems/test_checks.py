"""Every registered problem, and one written outside the package, passes the common checks."""

import importlib
import math
from pathlib import Path

import pytest
import torch

from pinnsig.problem import (
    Box,
    Coefficient,
    Dirichlet,
    Initial,
    Problem,
    problem_class,
    problem_entries,
)
from pinnsig.testing import ProblemChecks

BlackScholes = problem_class("black-scholes")
Burgers = problem_class("burgers")


class TestBurgers(ProblemChecks):
    problem = Burgers
    residual_tolerance = 1e-7


class TestBlackScholesCall(ProblemChecks):
    problem = BlackScholes


class TestBlackScholesPut(ProblemChecks):
    problem = BlackScholes(kind="put")


class TestBlackScholesVolatile(ProblemChecks):
    problem = BlackScholes(sigma=0.8, K=0.9)


class Heat(Problem):
    """u_t = k u_xx with a sine to start from."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.1, above=0.0)

    def residual(self, u):
        return u.t - self.k * u.xx

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)

    def solution(self, x, t):
        return torch.exp(-self.k * math.pi**2 * t) * torch.sin(math.pi * x)


class TestHeat(ProblemChecks):
    problem = Heat


def test_every_registered_problem_is_checked():
    for module in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(f"tests.problems.{module.stem}")
    checked = {cls.problem for cls in ProblemChecks.__subclasses__()}
    kinds = {p if isinstance(p, type) else type(p) for p in checked}
    assert {problem_class(name) for name in problem_entries()} <= kinds


class WrongSign(Heat):
    def residual(self, u):
        return u.t + self.k * u.xx


class WrongStart(Heat):
    def conditions(self):
        yield Initial(u=lambda x: torch.sin(2 * math.pi * x))


@pytest.mark.parametrize(
    ("problem", "check"),
    [
        (WrongSign, "test_residual_of_the_solution_is_zero"),
        (WrongStart, "test_solution_meets_the_conditions"),
    ],
)
def test_the_checks_catch_a_wrong_problem(problem, check):
    checks = type("Checks", (ProblemChecks,), {"problem": problem})()
    with pytest.raises(AssertionError):
        getattr(checks, check)()
