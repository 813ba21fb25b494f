import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call, grad, jacrev, vmap

from pinnsig.activations import parse_activation
from pinnsig.core.errors import DerivativeError
from pinnsig.derivatives import JetsEngine, NestedEngine
from pinnsig.initializers import Xavier
from pinnsig.model import Model
from pinnsig.model.fields import fields_at, input_count
from pinnsig.networks import FFNN
from pinnsig.objective import BoundTerms, Objective
from pinnsig.objective.rows import jacobian as rows
from pinnsig.objective.rows import jacobian_blocks, residual_jacobian
from pinnsig.problem import (
    Box,
    Coefficient,
    Dirichlet,
    Initial,
    Neumann,
    Periodic,
    PointData,
    Problem,
    Robin,
)
from pinnsig.sampling import Counts, draw_sites


def objective(
    problem, depth=2, width=6, act="tanh", counts=(7, 4, 8), weights=None, dtype=torch.float64
):
    shape = input_count(problem), len(problem.outputs), depth, width
    network = FFNN(*shape, parse_activation(act), dtype=dtype)
    Xavier(sigma_b=0.2).fill(network, torch.Generator().manual_seed(0))
    sites = draw_sites(problem, Counts(*counts), "lhs", seed=0)
    return Objective(Model(problem, network), JetsEngine(), sites, weights)


def by_autograd(made, block):
    """The same rows from nested autograd, one at a time."""
    model = made.model
    bound = BoundTerms.of(model.problem.bound(model.coefficients()))
    engine = NestedEngine()
    fields, at = fields_at(bound.problem, model.network, engine, block.points, block.plan)
    r = torch.cat(list(bound.residuals[block.name](fields, at, block.extra).values()))
    parameters = list(model.parameters())
    found = [
        torch.autograd.grad(row, parameters, retain_graph=True, materialize_grads=True)
        if row.requires_grad
        else [torch.zeros_like(p) for p in parameters]
        for row in r
    ]
    return r.detach(), torch.stack([torch.cat([g.reshape(-1) for g in row]) for row in found])


def assert_rows_agree(made, rtol=1e-9):
    for block in made.blocks:
        expected = by_autograd(made, block)
        found = residual_jacobian(made, block)
        for a, b in zip(found, expected, strict=True):
            assert a.shape == b.shape
            assert not a.requires_grad
            torch.testing.assert_close(a, b, rtol=rtol, atol=rtol * float(1 + b.abs().max()))


class Everything(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.1, above=0.0)

    def residual(self, u, x):
        return u.t - self.k * u.xx + torch.sin(u * x)

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(math.pi * x), u_t=0.0)
        yield Dirichlet(on="x-", u=0.0)
        yield Robin(on="x+", a=2.0, b=0.5, u=lambda t: t)
        yield Neumann(on="x", u=1.0, name="flux")
        yield Periodic(on="x", order=3)
        yield PointData(x=[0.1, 0.2, 0.9], t=[0.3, 0.4, 0.5], u=[1.0, 2.0, 3.0], u_x=[0.0, 1, 2])


class System(Problem):
    domain = Box(x=(0.0, 1.0), y=(0.0, 2.0))
    fields = ("u", "v", "p")

    def residual(self, u, v, p):
        return {
            "mass": u.x + v.y,
            "first": u * u.x + v * u.y + p.x - u.xx - u.yy,
            "second": u * v.x + v * v.y + p.y - v.xx - v.yy,
        }

    def conditions(self):
        yield Dirichlet(on="x", u=0.0, v=lambda y: y)
        yield Periodic(on="y")


class Inverse(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.3, above=0.0, learn=True)
    c = Coefficient(0.0, learn=True)
    unused = Coefficient(-2.0, learn=True)

    def residual(self, u, x):
        return u.t - self.k * u.xx + torch.exp(self.c * u) - self.k**2 * x

    def conditions(self):
        yield Robin(on="x+", a=1.0, b=0.5, u=lambda t: self.k * t)
        yield Dirichlet(on="x-", u=1.0)


class Embedded(Problem):
    """An ansatz and features, both with unknowns in them."""

    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))
    speed = Coefficient(0.7, learn=True)
    scale = Coefficient(2.0, above=0.0, learn=True)

    def features(self, x, t):
        return torch.sin(math.pi * (x - self.speed * t)), torch.cos(math.pi * x), t

    def ansatz(self, n, m, x, t):
        return self.scale * t * (1 - x**2) * n + torch.tanh(m) / self.speed

    def residual(self, u):
        return u.tt - self.speed**2 * u.xx + u * u.x

    def conditions(self):
        yield Periodic(on="x")
        yield Initial(u=0.0)


class Fourth(Problem):
    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0), z=(0.0, 1.0))

    def residual(self, u):
        return u.xxyy + u.xyz * u.z + u.zzzz


@pytest.mark.parametrize("kind", [Everything, System, Inverse, Embedded, Fourth])
@pytest.mark.parametrize(("depth", "width"), [(1, 1), (2, 7), (4, 5)])
def test_rows_agree_with_autograd_row_by_row(kind, depth, width):
    assert_rows_agree(objective(kind(), depth, width))


@pytest.mark.parametrize("act", ["arctan", "1.3*tanh(x)", "tanh(x)+gd(0.5*x)", "erf", "softsign3"])
def test_rows_agree_for_every_kind_of_activation(act):
    assert_rows_agree(objective(Everything(), act=act), rtol=1e-8)


def test_rows_agree_without_compiled_kernels(monkeypatch):
    from pinnsig.derivatives import taylor

    monkeypatch.setattr(taylor, "find_library", lambda act, plan, dtype: None)
    for kind in (Everything, System, Embedded):
        assert_rows_agree(objective(kind()))


@settings(max_examples=25, deadline=None)
@given(
    partials=st.lists(st.text("xyt", min_size=1, max_size=3), min_size=1, max_size=4),
    depth=st.integers(1, 4),
    width=st.integers(1, 9),
    points=st.integers(1, 20),
)
def test_rows_agree_for_random_plans(partials, depth, width, points):
    class Random(Problem):
        domain = Box(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 1.0))

        def residual(self, u, x):
            terms = [getattr(u, "".join(sorted(p, key="xyt".index))) for p in partials]
            return sum(terms, u * x) + terms[0] * terms[-1]

    assert_rows_agree(objective(Random(), depth, width, counts=(points, 0, 0)))


def test_rows_agree_with_jacrev():
    class Burgers(Problem):
        domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))

        def residual(self, u):
            return u.t + u * u.x - 0.01 * u.xx

    made = objective(Burgers(), depth=3, width=7)
    network, block = made.model.network, made.blocks[0]

    def residual(parameters, point):
        def u(x, t):
            return functional_call(network, parameters, (torch.stack([x, t])[None],))[0, 0]

        x, t = point
        u_x = grad(u, 0)
        return grad(u, 1)(x, t) + u(x, t) * u_x(x, t) - 0.01 * grad(u_x, 0)(x, t)

    parameters = {name: p.detach() for name, p in network.named_parameters()}
    found = jacrev(lambda p: vmap(residual, (None, 0))(p, block.points))(parameters)
    expected = torch.cat([part.flatten(1) for part in found.values()], dim=1)
    torch.testing.assert_close(residual_jacobian(made, block)[1], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", [Everything, System, Inverse, Embedded])
@pytest.mark.parametrize("most", [1, 5, 1000])
def test_blocks_add_up_to_the_loss_and_its_gradient(kind, most):
    made = objective(kind(), weights={"boundary_x": 3.0, "first": 0.5} if kind is System else None)
    evaluation = made.evaluate()
    loss, gradient, seen = 0.0, torch.zeros_like(made.flat.values), []
    for part in jacobian_blocks(made, most):
        assert part.jacobian.shape == (len(part.residual), len(made.flat))
        assert part.rows.stop - part.rows.start == len(part.residual)
        loss += float(part.weights @ part.residual.square())
        gradient += 2 * (part.weights * part.residual) @ part.jacobian
        seen += range(part.rows.start, part.rows.stop)
    assert sorted(seen) == list(range(len(seen)))
    assert loss == pytest.approx(float(evaluation.loss), rel=1e-12)
    torch.testing.assert_close(gradient, made.flat.gradient, rtol=1e-10, atol=1e-12)


def test_rows_stand_in_the_same_place_whatever_is_computed_together():
    made = objective(System())
    places = []
    for most in (1, 7, 10_000):
        parts = list(jacobian_blocks(made, most))
        r = torch.empty(sum(len(part.residual) for part in parts), dtype=torch.float64)
        for part in parts:
            r[part.rows] = part.residual
        places.append(r)
    torch.testing.assert_close(places[0], places[1], rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(places[0], places[2], rtol=1e-12, atol=1e-14)
    assert {part.term for part in jacobian_blocks(made, 99)} == set(made.term_names)


def test_no_more_rows_than_asked_for_are_computed_together():
    made = objective(Everything(), counts=(50, 20, 40))
    assert max(len(part.residual) for part in jacobian_blocks(made, 6)) <= 6


def test_blocks_in_memory_that_is_used_again():
    made = objective(System())
    out = torch.empty(9, len(made.flat), dtype=torch.float64)
    fresh = jacobian_blocks(made, 9)
    for part, expected in zip(jacobian_blocks(made, 9, out), fresh, strict=True):
        assert part.jacobian.untyped_storage().data_ptr() == out.data_ptr()
        torch.testing.assert_close(part.jacobian, expected.jacobian, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("threads", [1, 3])
def test_chunks_and_threads_do_not_change_the_rows(monkeypatch, threads):
    for kind in (Everything, Embedded):
        made = objective(kind(), counts=(100, 40, 80))
        expected = [residual_jacobian(made, block) for block in made.blocks]
        with monkeypatch.context() as context:
            context.setattr(rows, "CHUNK_ELEMENTS", {"cpu": 1})
            before = torch.get_num_threads()
            torch.set_num_threads(threads)
            try:
                found = [residual_jacobian(made, block) for block in made.blocks]
            finally:
                torch.set_num_threads(before)
        for (r, j), (r0, j0) in zip(found, expected, strict=True):
            torch.testing.assert_close(r, r0, rtol=1e-12, atol=1e-13)
            torch.testing.assert_close(j, j0, rtol=1e-11, atol=1e-12)


def test_some_points_of_a_block_and_memory_that_is_given():
    made = objective(Everything(), counts=(30, 8, 16))
    block = made.blocks[0]
    r, j = residual_jacobian(made, block)
    out = torch.full((10, len(made.flat)), math.nan, dtype=torch.float64)
    some_r, some_j = residual_jacobian(made, block, slice(5, 15), out)
    assert some_j is out
    torch.testing.assert_close(some_r, r[5:15])
    torch.testing.assert_close(out, j[5:15])
    with pytest.raises(DerivativeError, match=r"shape \(30, \d+\), not \(10, \d+\)"):
        residual_jacobian(made, block, out=out)
    none_r, none_j = residual_jacobian(made, block, slice(4, 4))
    assert none_r.shape == (0,)
    assert none_j.shape == (0, len(made.flat))
    pairs = next(b for b in made.blocks if b.name == "boundary_x")
    with pytest.raises(DerivativeError, match="whole groups of 2"):
        residual_jacobian(made, pairs, slice(1, 3))


def test_float32_rows_are_as_close_as_float32_allows():
    single, double = objective(Everything(), dtype=torch.float32), objective(Everything())
    for a, b in zip(single.blocks, double.blocks, strict=True):
        found, exact = residual_jacobian(single, a)[1], residual_jacobian(double, b)[1]
        assert found.dtype == torch.float32
        assert float((found - exact).abs().max()) <= 1e-5 * float(1 + exact.abs().max())


def test_present_parameters_are_used_and_nothing_stays_bound():
    made = objective(Inverse())
    made.flat.values.add_(0.1)
    assert_rows_agree(made)
    before = dict(vars(made.model.problem))
    residual_jacobian(made, made.blocks[0])
    made.evaluate()
    assert vars(made.model.problem) == before


def test_a_residual_that_nothing_moves_has_zero_rows():
    class Still(Problem):
        domain = Box(x=(0.0, 1.0))

        def residual(self, u, x):
            return {"moved": u.x, "still": x.value - 1.0}

    made = objective(Still())
    r, j = residual_jacobian(made, made.blocks[0])
    assert np.count_nonzero(j[len(r) // 2 :]) == 0
    assert_rows_agree(made)


def test_rows_of_any_network_are_those_of_autograd():
    for problem in (Everything(), Inverse(), Embedded()):
        sizes = input_count(problem), len(problem.outputs)
        network = nn.Sequential(nn.Linear(sizes[0], 3), nn.Tanh(), nn.Linear(3, sizes[1])).double()
        sites = draw_sites(problem, Counts(5, 4, 8), "lhs", seed=0)
        assert_rows_agree(Objective(Model(problem, network), NestedEngine(), sites))


class Branching(nn.Module):
    """A network that asks what its numbers are."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1, dtype=torch.float64)

    def forward(self, x):
        y = self.layer(x)
        return torch.tanh(y) if y.sum() > 0 else torch.sin(y)


def test_a_network_that_cannot_be_carried_by_points_is_refused():
    problem = Everything()
    sites = draw_sites(problem, Counts(5, 4, 8), "lhs", seed=0)
    made = Objective(Model(problem, Branching()), NestedEngine(), sites)
    with pytest.raises(DerivativeError, match="rows through a Branching cannot be had"):
        residual_jacobian(made, made.blocks[0])
