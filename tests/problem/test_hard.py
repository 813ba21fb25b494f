"""Conditions with hard=True: fields that meet them whatever the network gives."""

import math
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.activations import Tanh
from pinnsig.core.errors import OutsideDomainWarning, ProblemError
from pinnsig.initializers import Xavier
from pinnsig.model import Model
from pinnsig.model.fields import input_count
from pinnsig.networks import FFNN
from pinnsig.problem import (
    Box,
    Coefficient,
    Condition,
    Dirichlet,
    Initial,
    Neumann,
    Periodic,
    Problem,
)

STEPS = 1e-5


def model_of(problem: Problem, seed: int = 0) -> Model:
    sizes = input_count(problem), len(problem.outputs)
    network = FFNN(*sizes, 2, 8, Tanh(), dtype=torch.float64)
    Xavier(sigma_b=0.5).fill(network, torch.Generator().manual_seed(seed))
    return Model(problem, network)


def values(problem: Problem, **at):
    return next(iter(model_of(problem).predict(at).values()))


class Wave(Problem):
    domain = Box(x=(-1.0, 2.0), t=(0.5, 3.0))
    rate = Coefficient(2.0)

    def residual(self, u):
        return u.tt - u.xx

    def conditions(self) -> Iterable[Condition]:
        yield Dirichlet(on="x-", u=lambda t, rate: torch.sin(rate * (t - 0.5)), hard=True)
        yield Dirichlet(on="x+", u=lambda t: 3 + 0 * t, hard=True)
        start: dict[str, Any] = {"u": lambda x: x + 1, "u_t": lambda x: 2 * (2 - x) / 3}
        yield Initial(hard=True, **start)


X, T = torch.linspace(-1, 2, 7).double(), torch.linspace(0.5, 3, 6).double()


def test_values_on_faces_of_a_box_are_met_exactly():
    problem = Wave()
    assert torch.equal(values(problem, x=X, t=0.5), X + 1)
    torch.testing.assert_close(
        values(problem, x=-1.0, t=T), torch.sin(2 * (T - 0.5)), atol=1e-14, rtol=0
    )
    torch.testing.assert_close(
        values(problem, x=2.0, t=T), torch.full_like(T, 3.0), atol=1e-14, rtol=0
    )


def test_the_derivative_in_time_is_met_by_finite_differences():
    problem = Wave()
    with pytest.warns(OutsideDomainWarning):
        rise = values(problem, x=X, t=0.5 + STEPS) - values(problem, x=X, t=0.5 - STEPS)
    torch.testing.assert_close(rise / (2 * STEPS), 2 * (2 - X) / 3, atol=1e-8, rtol=0)


def test_the_inside_depends_on_the_network():
    problem = Wave()
    other = model_of(problem, seed=1)
    at = {"x": 0.3, "t": 1.7}
    assert abs(values(problem, **at) - other.predict(at)["u"]) > 1e-3


def test_no_term_is_left_of_them():
    assert list(Wave().terms()) == []

    class Both(Wave):
        def conditions(self) -> Iterable[Condition]:
            yield Dirichlet(on="x-", u=0.0, hard=True)
            yield Neumann(on="x+", u=1.0)
            yield Initial(u=0.0)

    assert [c.group for c in Both().terms().values()] == ["boundary", "initial"]


class Ring(Problem):
    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))

    def residual(self, u):
        return u.t - 0.1 * u.xx

    def conditions(self):
        yield Periodic("x", hard=True)
        yield Initial(u=lambda x: torch.sin(math.pi * x), hard=True)

    def solution(self, x, t):
        return torch.exp(-0.1 * math.pi**2 * t) * torch.sin(math.pi * x)


def test_periodic_fields_agree_with_all_derivatives():
    model = model_of(Ring())
    t = np.linspace(0, 1, 5)
    of = ("u", "u.x", "u.xx", "u.xxx")
    one, two = (model.predict({"x": x, "t": t}, of) for x in (-1.0, 1.0))
    for name in of:
        torch.testing.assert_close(one[name], two[name], rtol=1e-10, atol=1e-10)


def test_a_ring_is_solved(runs):
    result = pinnsig.solve(
        Ring, runs=runs, figures=False, adam=0, lbfgs=0, broyden=250, depth=2, width=10
    )
    assert result.relative_l2 < 1e-4
    assert list(result.terms) == ["residual"]


def test_what_does_not_agree_is_refused(runs):
    class Torn(Wave):
        def conditions(self):
            yield Dirichlet(on="x-", u=1.0, name="left", hard=True)
            yield Initial(u=0.0, hard=True)

    with pytest.raises(ProblemError, match=r"Torn.hard=True misses the condition '(left|initial)'"):
        pinnsig.solve(Torn, runs=runs)
    assert not list(runs.glob("*/*"))


def with_conditions(*conditions, **members):
    def conditions_(self):
        return conditions

    return type("Case", (Problem,), {
        "domain": Box(x=(0.0, 1.0), t=(0.0, 1.0)), "residual": lambda self, u: u.t,
        "conditions": conditions_, **members,
    })  # fmt: skip


HARD: dict[str, Any] = {"hard": True}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (with_conditions(Dirichlet(on="x", u_x=0.0, **HARD)), "u_x: hard=True meets values of"),
        (with_conditions(Initial(u_t=0.0, **HARD)), "u_t: hard=True needs u beside it"),
        (
            with_conditions(Dirichlet(on="x", u=0.0, **HARD), Dirichlet(on="x-", u=0.0, **HARD)),
            "u is prescribed twice on x-",
        ),
        (
            with_conditions(Dirichlet(on="x", u=0.0, **HARD), ansatz=lambda self, n: n),
            "make the fields, and so does ansatz",
        ),
        (
            with_conditions(Periodic("x", **HARD), features=lambda self, x, t: (x, t)),
            "make the features, and so does features",
        ),
        (
            with_conditions(Dirichlet(on="x", u=lambda t: t.value, **HARD)),
            "hard=True needs the value with its partials",
        ),
    ],
)
def test_what_no_ansatz_can_be_made_of_is_refused(kind, words, runs):
    with pytest.raises(ProblemError, match=words):
        pinnsig.solve(kind, runs=runs)


@pytest.mark.parametrize("make", [lambda: Dirichlet(on="x", u=0, hard=cast(Any, 1)),
                                  lambda: Initial(u=0, hard=cast(Any, "yes")),
                                  lambda: Periodic("x", hard=cast(Any, None))])  # fmt: skip
def test_hard_is_true_or_false(make):
    with pytest.raises(ProblemError, match="must be True or False"):
        make()


def test_hard_conditions_with_a_learned_coefficient_follow_it():
    class Learned(Wave):
        rate = Coefficient(2.0, learn=True)

    problem = Learned().bound({"rate": torch.tensor(3.0, dtype=torch.float64)})
    model = model_of(Learned())
    model.problem = problem
    model.start, model.bijections = {}, {}
    found = model.predict({"x": -1.0, "t": T})["u"]
    torch.testing.assert_close(found, torch.sin(3 * (T - 0.5)), atol=1e-14, rtol=0)
