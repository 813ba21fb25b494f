"""Unknown functions in a run: their network, partials, results, figures, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import pinnsig
from pinnsig.core.errors import ProblemError
from pinnsig.derivatives import JetsEngine, NestedEngine
from pinnsig.objective import Objective
from pinnsig.objective.rows import jacobian_blocks
from pinnsig.problem import Box, Coefficient, Dirichlet, Function, Periodic, PointData, Problem
from pinnsig.run.building import build
from pinnsig.run.settings import resolve
from pinnsig.sampling import Counts, draw_sites
from tests.conftest import SMALL


class Flow(Problem):
    """Two functions, one of both coordinates in another order, in every place that may read one."""

    domain = Box(x=(0.0, 2.0), t=(0.0, 1.0))
    k = Function("k", of=("x",), above=0.0, true=lambda x: 1 + x, depth=1, width=4)
    s = Function(of=("t", "x"), minimum=-1.0, maximum=1.0, width=5)
    c = Coefficient(0.5, learn=True)

    def residual(self, u, k, s, x):
        return u.t - k * u.xx - k.x * u.x - self.c * s + x * s.xt

    def conditions(self):
        yield Periodic("x")
        yield Dirichlet(on="t-", k=1.0, name="of k")
        yield PointData(x=[0.5, 1.5], t=[0.5, 0.1], s=[0.3, 0.4], u_x=[1.0, 2.0], k=[1.5, 2.5])


def objective_of(kind: type[Problem], engine: Any, **settings: Any) -> Objective:
    chosen = resolve({"problem": "flow", "dtype": "float64", **SMALL, **settings})
    model = build(chosen, kind).model
    return Objective(model, engine, draw_sites(model.problem, Counts(20, 12, 24), "lhs", 0))


@pytest.mark.parametrize("network", ["ffnn", "modified-mlp", "fourier"])
def test_engines_agree_on_loss_gradient_and_rows(network):
    a, b = (objective_of(Flow, e(), network=network) for e in (JetsEngine, NestedEngine))
    torch.testing.assert_close(a.evaluate().loss, b.evaluate().loss, rtol=1e-12, atol=0)
    torch.testing.assert_close(a.flat.gradient, b.flat.gradient, rtol=1e-9, atol=1e-12)
    total = torch.zeros_like(a.flat.values)
    for rows in jacobian_blocks(a, 1000):
        total += 2 * (rows.weights * rows.residual) @ rows.jacobian
    torch.testing.assert_close(total, a.flat.gradient, rtol=1e-9, atol=1e-12)
    assert a.engine.tape_refusal(a.model.network, a.interior.plan) is None  # no slower way
    assert not a.notices


def test_periodic_conditions_are_of_fields_alone():
    objective = objective_of(Flow, "auto")
    (block,) = (b for b in objective.blocks if b.name == "boundary")
    assert block.residuals == 2  # u and u_x


def test_other_partials_are_exactly_zero_and_the_field_does_not_feel_a_function():
    model = objective_of(Flow, "auto").model
    at = {"x": np.linspace(0, 2, 5), "t": np.linspace(0, 1, 5)}
    before = model.predict(at, ("u", "k", "k.t", "k.xt", "s.t"))
    assert not before["k.t"].any()
    assert not before["k.xt"].any()
    assert before["s.t"].all()
    alone = model.predict({"x": at["x"]}, ("k", "k.x"))  # t is not needed
    assert torch.equal(alone["k"], before["k"])
    with pytest.raises(ProblemError, match="coordinates x, t are needed"):
        model.predict({"x": at["x"]}, ("k", "u"))
    with torch.no_grad():
        for weight in model.network.functions.parameters():  # type: ignore[union-attr]
            weight += 1.0
    after = model.predict(at, ("u", "k"))
    assert torch.equal(after["u"], before["u"])
    assert not torch.equal(after["k"], before["k"])


def test_the_fields_network_starts_as_it_does_without_functions():
    class Bare(Problem):
        domain = Flow.domain

        def residual(self, u):
            return u.t

    with_functions = objective_of(Flow, "auto").model.network.main
    without = objective_of(Bare, "auto").model.network
    for a, b in zip(with_functions.parameters(), without.parameters(), strict=True):  # type: ignore[union-attr]
        assert torch.equal(a, b)


def test_an_own_network_and_features_go_with_functions():
    class Circle(Flow):
        def features(self, x, t):
            return torch.sin(math.pi * x), torch.cos(math.pi * x), t

    def own(inputs: int, outputs: int) -> nn.Module:
        assert (inputs, outputs) == (3, 1)
        layers = nn.Linear(inputs, 6), nn.Tanh(), nn.Linear(6, outputs)
        return nn.Sequential(*layers).double()

    chosen = resolve({"problem": "flow", "dtype": "float64", **SMALL, "network": "own:own"})
    model = build(chosen, Circle, own).model
    found = model.predict({"x": [0.0, 2.0], "t": [0.3, 0.3]}, ("u", "k"))
    assert float(found["u"][0]) == pytest.approx(float(found["u"][1]), abs=1e-12)
    assert float(found["k"][0]) != pytest.approx(float(found["k"][1]), abs=1e-6)


class Unread(Problem):
    domain, k, s, c = Flow.domain, Flow.k, Flow.s, Flow.c

    def residual(self, u, s):
        return u.t - self.c * s


def test_a_function_that_nothing_reads_is_refused(runs):
    with pytest.raises(ProblemError, match="the function k is unknown, but no term depends on it"):
        pinnsig.solve(Unread, runs=runs, figures=False, **SMALL)
    assert not runs.exists()


class Steady(Problem):
    """-(k u')' = f: u is measured, k = 1 + x is to be found."""

    domain = Box(x=(0.0, 1.0))
    k = Function(of="x", above=0.0, true=lambda x: 1 + x, depth=1, width=6)

    def residual(self, u, k, x):
        s, c = torch.sin(math.pi * x), torch.cos(math.pi * x)
        return (k * u.xx + k.x * u.x) / math.pi**2 + (1 + x) * s - c / math.pi

    def conditions(self):
        x = torch.linspace(0, 1, 21, dtype=torch.float64)
        error = torch.randn(21, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        yield PointData(x=x, u=torch.sin(math.pi * x) + 1e-3 * error)

    def solution(self, x):
        return torch.sin(math.pi * x)


def test_a_function_is_found_with_a_band_and_figures(runs):
    result = pinnsig.solve(
        Steady, runs=runs, depth=2, width=8, collocation=60, adam=20, lbfgs=0, broyden=250,
        dtype="float64",
    )  # fmt: skip
    k = result.errors["functions"]["k"]
    assert k["relative_l2"] < 0.1
    assert result.errors["fields"].keys() == {"u"}
    assert result.functions["k"]["covered"] > 0.6
    assert 1e-3 < result.functions["k"]["half_width"] < 0.5
    assert result.uncertainty["noise"]["data"] == pytest.approx(1e-3, rel=0.5)
    assert (result.path / "figures" / "function_k.png").is_file()
    model = pinnsig.load(result.path, problem=Steady)
    x = np.linspace(0, 1, 201)
    off = model.predict(of="k", x=x)["k"] - (1 + x)
    size = float(np.linalg.norm(off) / np.linalg.norm(1 + x))
    assert size == pytest.approx(k["relative_l2"], rel=1e-9)
