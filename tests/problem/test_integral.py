"""Conditions on integrals: the quadrature, the residual, and what a run makes of it."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.activations import Tanh
from pinnsig.core.errors import ProblemError
from pinnsig.geometry.quadrature import cube_rule, panel_rule, scattered_rule
from pinnsig.initializers import Xavier
from pinnsig.model import Model
from pinnsig.networks import FFNN
from pinnsig.objective import Objective
from pinnsig.objective.rows import LeastSquares
from pinnsig.problem import (
    Box,
    Coefficient,
    Dirichlet,
    Disc,
    Initial,
    Integral,
    Mean,
    Neumann,
    PointData,
    Problem,
    slab_ends,
)
from pinnsig.run.directory import RunDirectory
from pinnsig.run.points import Drawn
from pinnsig.sampling import Counts, draw_sites
from tests.conftest import SMALL


@pytest.mark.parametrize(("nodes", "degree"), [(1, 1), (5, 9), (8, 15), (9, 7), (32, 15)])
def test_panels_are_exact_for_polynomials(nodes, degree):
    x, w = panel_rule(nodes)
    assert len(x) == nodes
    for power in range(degree + 1):
        assert w @ x**power == pytest.approx(1 / (power + 1), rel=1e-13)
    if nodes == 5:
        assert abs(w @ x**10 - 1 / 11) > 1e-9


def test_products_and_scattered_points():
    points, weights = cube_rule([3, 4])
    assert points.shape == (12, 2)
    assert weights @ (points[:, 0] ** 3 * points[:, 1] ** 5) == pytest.approx(1 / 24)
    assert [part.tolist() for part in cube_rule([])] == [[[]], [1.0]]
    points, weights = scattered_rule(4096, 6)
    assert weights @ np.prod(1 + points, axis=1) == pytest.approx(1.5**6, rel=1e-3)


class Known(Problem):
    """The field x^2 t + y, whatever the network."""

    domain = Box(x=(0.0, 2.0), y=(-1.0, 1.0), t=(0.0, 3.0))
    c = Coefficient(2.0)

    def residual(self, u):
        return u.t

    def ansatz(self, n, x, y, t):
        return x * x * t + y + 0.0 * n


def objective_of(kind: type[Problem], *conditions: Any, engine: str = "jets", **more: Any) -> Any:
    made = type("Case", (kind,), {"conditions": lambda self: conditions, **more})()
    network = FFNN(made.domain.dimensions, len(made.outputs), 2, 6, Tanh(), dtype=torch.float64)
    Xavier(sigma_b=0.3).fill(network, torch.Generator().manual_seed(0))
    sites = draw_sites(made, Counts(5, 0, 0), "lhs", 0)
    return Objective(Model(made, network), engine, sites)


# over x: 8/3 t + 2 y; over y: 2 x^2 t; over t: 9/2 x^2 + 3 y
@pytest.mark.parametrize(
    ("condition", "nodes"),
    [
        (Integral(lambda u: u, equals=24.0), 16**3),
        (Mean(lambda u: u, equals=2.0), 16**3),
        (Integral(lambda u: u, over="x", equals=lambda y, t: 8 / 3 * t + 2 * y), 32),
        (Mean(lambda u: u, over="x", equals=lambda y, t: 4 / 3 * t + y), 32),
        (Integral(lambda u: u, over=("x", "y"), equals=lambda t: 16 / 3 * t), 32**2),
        (Integral(lambda u: u, at={"t": 0.5}, equals=8 / 3), 32**2),
        (Integral(lambda u, c: c * u, over="x", at={"t": 3.0}, equals=lambda y, c: c * (8 + 2 * y)),
         32),
        (Integral(lambda u, x, y: u.x * y + x, over="x", at={"y": 0.5, "t": 1.0}, equals=4.0), 32),
        (Integral(lambda u: u, on="x+", equals=36.0), 32**2),
        (Integral(lambda u, normal_x: u.x * normal_x, on="x", over="y",
                  equals=lambda t: 8 * t), 64),
        (Integral(lambda u, normal_x, normal_y: u.x * normal_x + u.y * normal_y, on=("x", "y"),
                  over=("x", "y"), equals=lambda t: 8 * t), 128),  # the divergence theorem
        (Mean(lambda u: u, on=("x-", "y+"), over=("x", "y"), at={"t": 1.0}, equals=7 / 6), 64),
        (Integral(lambda u: u, over="x", nodes=4, equals=lambda y, t: 8 / 3 * t + 2 * y), 4),
        (Integral(lambda u: u, over=("x", "y"), nodes={"x": 5}, equals=lambda t: 16 / 3 * t), 160),
    ],
)  # fmt: skip
def test_integrals_of_a_known_field(condition, nodes):
    objective = objective_of(Known, condition)
    (block,) = (b for b in objective.blocks if not b.is_interior)
    assert block.stride == nodes
    assert objective.losses().terms[-1] < 1e-24


def test_an_integral_that_is_missed():
    objective = objective_of(Known, Integral(lambda u: u, over="x", lines=7))
    block = objective.blocks[-1]
    y, t = block.points[::32, 1], block.points[::32, 2]
    assert len(y) == 7
    assert len(set(y.tolist())) == 7
    expected = (8 / 3 * t + 2 * y).square().mean()
    torch.testing.assert_close(objective.losses().terms[-1], expected)


class Free(Problem):
    """Nothing is known of the fields."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    fields = ("u", "v")

    def residual(self, u, v):
        return {"a": u.t - u.xx, "b": v.t}


@pytest.mark.parametrize("engine", ["jets", "nested"])
def test_gradient_and_rows_through_every_engine(engine):
    conditions = [
        Integral(lambda u, v, x: u.x * v + x * u * u, over="x", equals=lambda t: t, nodes=6,
                 lines=3),
        Mean(lambda v: v.xx, nodes=5),
    ]  # fmt: skip
    objective = objective_of(Free, *conditions, engine=engine)
    found = objective.evaluate()
    gradient, values = objective.flat.gradient.clone(), objective.flat.values
    rows = LeastSquares(objective)
    assert rows.count == objective.rows == 2 * 5 + 3 + 1
    by_rows = torch.zeros_like(gradient)
    squares = 0.0
    for _, r, jacobian in rows.blocks(4):
        by_rows += 2 * jacobian.T @ r
        squares += float(r @ r)
    torch.testing.assert_close(by_rows, gradient, rtol=1e-10, atol=1e-12)
    assert squares == pytest.approx(float(found.loss), rel=1e-12)
    for i in (0, 11, len(values) - 1):
        before = float(values[i])
        values[i] = before + 1e-6
        up = float(objective.losses().loss)
        values[i] = before - 1e-6
        down = float(objective.losses().loss)
        values[i] = before
        assert (up - down) / 2e-6 == pytest.approx(float(gradient[i]), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (lambda: Integral(3.0), "an integrand is a function, such as lambda u: u, not 3.0"),  # type: ignore[arg-type]
        (lambda: Integral(lambda u: u, over="z"), "'z' is no coordinate: the domain has x, t"),
        (lambda: Integral(lambda u: u, at={"t": 2.0}), "at t = 2 lies outside the domain"),
        (lambda: Integral(lambda u: u, over="t", at={"t": 0.5}), "t is both in over= and in at="),
        (lambda: Integral(lambda u: u, on="x+", at={"x": 0.5}), "x is held by on= and by at="),
        (lambda: Integral(lambda u: u, on="x+", over="x"), "leaves nothing to integrate over"),
        (lambda: Integral(lambda u: u, on=("x", "t"), over="x"), "leaves nothing to integrate"),
        (lambda: Integral(lambda u: u, nodes=0), "0 nodes or lines: at least 1 is needed"),
        (lambda: Integral(lambda u: u, nodes=1000), "nodes = .* are too many: at most 131,072"),
        (lambda: Integral(lambda u: u, equals=lambda x: x), "its parameter 'x' is none of"),
        (lambda: Integral(lambda u: u, over="x", equals=lambda u, t: t), "depend on the field u"),
        (lambda: Integral(lambda u: u.value[:3], over="x"), "its integrand must give a tensor"),
        (lambda: Integral(lambda u: 1.0, over="x"), "its integrand must give a tensor .* not 1.0"),
        (lambda: Integral(lambda u: u - u.value.mean(), over="x"), r"depends on other.*\(mean"),
        (lambda: Integral(lambda u: u * torch.rand_like(u.value)), "draws random numbers"),
        (lambda: Integral(lambda u: torch.complex(u.value, u.value)), "is complex"),
    ],
)  # fmt: skip
def test_refused_in_one_line(condition, words):
    with pytest.raises(ProblemError, match=words) as caught:
        objective_of(Free, condition())
    assert "\n" not in str(caught.value)


def test_names_of_terms_and_a_weight_of_the_group(runs):
    class Case(Free):
        def conditions(self):
            yield Integral(lambda u: u, over="x", nodes=3, lines=2)
            yield Mean(lambda v: v, over=("x", "t"), nodes=3)
            yield Mean(lambda v: v, nodes=3, name="whole")
            yield Mean(lambda v: v, on="x+", nodes=3)

    names = ["integral_x", "integral_x_t", "whole", "integral_x+"]
    assert list(Case().terms()) == names
    found = pinnsig.solve(Case, runs=runs, figures=False, weight={"integral": 7.0}, **SMALL)
    rest = sum(found.terms[name] for name in ("a", "b"))
    assert found.best_loss == pytest.approx(rest + 7 * sum(found.terms[n] for n in names), rel=1e-4)
    assert set(found.quadrature) == set(found.independent["terms"]) - {"a", "b"} == set(names)


def test_a_learned_value_of_an_integral(runs):
    """u = sin(pi x) from data, and m = its integral, 2 / pi."""

    class Case(Problem):
        domain = Box(x=(0.0, 1.0))
        m = Coefficient(0.1, learn=True, true=2 / math.pi)

        def residual(self, u, x):
            return u - torch.sin(math.pi * x)

        def ansatz(self, n, x):
            return torch.sin(math.pi * x) + 0.0 * n

        def conditions(self):
            yield Integral(lambda u: u, equals=self.m)
            yield Integral(lambda u: u, equals=lambda m: m, name="by_name")

    found = pinnsig.solve(
        Case, runs=runs, figures=False, **{**SMALL, "adam": 0, "lbfgs": 20}, dtype="float64"
    )
    assert found.coefficients["m"]["value"] == pytest.approx(2 / math.pi, abs=1e-7)


FIT: dict[str, Any] = {
    "depth": 2, "width": 10, "collocation": 40, "initial": 0, "boundary": 4, "dtype": "float64",
    "phases": ["lm:40"], "figures": False,
}  # fmt: skip


def test_pure_neumann_with_a_mean(runs):
    """u'' = -pi^2 cos(pi x) with u' = 0 at both ends and mean zero: u = cos(pi x)."""

    class Case(Problem):
        domain = Box(x=(0.0, 1.0))

        def residual(self, u, x):
            return u.xx + math.pi**2 * torch.cos(math.pi * x)

        def conditions(self):
            yield Neumann("x", u=0.0)
            yield Mean(lambda u: u, equals=0.0)

        def solution(self, x):
            return torch.cos(math.pi * x)

    found = pinnsig.solve(Case, runs=runs, **FIT)
    assert found.relative_l2 < 1e-4
    assert found.estimated_error < 1e-3
    assert found.quadrature["integral"]["nodes"] == 32
    assert found.quadrature["integral"]["error"] < 1e-10
    assert found.quadrature["integral"]["size"] == pytest.approx(2 / math.pi, rel=1e-3)
    assert found.suspicious == []
    kept = Drawn.load(RunDirectory(found.path))
    assert kept is not None
    assert kept.sites["integral"].points.shape == (32, 1)


def test_an_integral_in_the_place_of_a_boundary_value(runs):
    """u' = -u with the integral of u e^x = 3 gives u = 3 e^-x, not u = e^-x."""

    class Case(Problem):
        domain = Box(x=(0.0, 1.0))

        def residual(self, u):
            return u.x + u

        def conditions(self):
            yield Integral(lambda u, x: u * torch.exp(x), equals=3.0)

        def solution(self, x):
            return 3 * torch.exp(-x)

    assert pinnsig.solve(Case, runs=runs, **FIT).relative_l2 < 1e-4


def test_a_coarse_quadrature_is_doubted(runs):
    class Case(Problem):
        domain = Box(x=(-1.0, 1.0))

        def residual(self, u):
            return u.x

        def ansatz(self, n, x):
            return torch.exp(-1e4 * (x - 0.2) ** 2) + 0.0 * n

        def conditions(self):
            yield Integral(lambda u: u, nodes=8)
            yield PointData(x=[0.0], u=[0.0])
            yield Dirichlet("x", u=0.0)

    found = pinnsig.solve(Case, runs=runs, figures=False, **SMALL)
    coarse, fine = (
        w @ np.exp(-1e4 * (2 * x - 1.2) ** 2) * 2 for x, w in (panel_rule(8), panel_rule(16))
    )
    assert found.quadrature["integral"]["error"] == pytest.approx(abs(coarse - fine), rel=1e-6)
    words = [line for line in found.suspicious if "its quadrature of 8 nodes" in line]
    assert words
    assert "try more nodes=" in words[0]


class Round(Known):
    """The field x^2 t + y on a disc of radius 2, at times from 0 to 3."""

    domain = Disc(radius=2.0) * Box(t=(0.0, 3.0))  # type: ignore[assignment]


# the mean of x^2 over the disc is 1, over its circle 2
@pytest.mark.parametrize(
    ("condition", "size"),
    [
        (Integral(lambda u: u, equals=4 * math.pi * 4.5), 4 * math.pi * 4.5),
        (Mean(lambda u: u, over=("x", "y"), equals=lambda t: t), 3.0),
        (Integral(lambda u: u, at={"t": 0.5}, equals=2 * math.pi), 2 * math.pi),
        (Integral(lambda u: u, on="boundary", at={"t": 1.0}, equals=8 * math.pi), 8 * math.pi),
        (Integral(lambda u, x, y, normal_x, normal_y: u.x * normal_x + u.y * normal_y,
                  on="boundary", over=("x", "y"), equals=lambda t: 8 * math.pi * t), 24 * math.pi),
    ],
)  # fmt: skip
def test_integrals_on_a_shape(condition, size):
    objective = objective_of(Round, condition)
    assert objective.losses().terms[-1].sqrt() < 2e-3 * size
    (block,) = (b for b in objective.blocks if not b.is_interior)
    assert block.stride == 4096


def test_coordinates_of_a_shape_cannot_be_taken_apart():
    with pytest.raises(ProblemError, match="all coordinates of space, not with y held or left"):
        objective_of(Round, Integral(lambda u: u, over="x"))


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Integral(lambda u: u), "Integral goes over all of t, or holds at one"),
        (Mean(lambda u: u, at={"t": 0.5}), "Mean goes over all of t, or holds at one"),
        (Dirichlet(points=[[0.0, 0.5]], u=0.0), "Dirichlet has points of its own at all times"),
        (Integral(lambda u: u, over="x"), None),
    ],
)
def test_slabs_of_time_cut_lines_at_every_time_only(condition, words):
    class Case(Problem):
        domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))

        def residual(self, u):
            return u.t

        def conditions(self):
            yield Initial(u=0.0)
            yield condition

    if words is None:
        assert slab_ends(Case(), 2) == [0.0, 0.5, 1.0]
        return
    with pytest.raises(ProblemError, match=words):
        slab_ends(Case(), 2)
