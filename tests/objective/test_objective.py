import math

import numpy as np
import pytest
import torch

from pinnsig.activations import Tanh
from pinnsig.core.errors import ProblemError, SettingsError, TrainingError
from pinnsig.derivatives import JetsEngine, NestedEngine
from pinnsig.initializers import Xavier
from pinnsig.model import Model
from pinnsig.model.fields import input_count
from pinnsig.networks import FFNN
from pinnsig.objective import Objective, chunks
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
    Sites,
)
from pinnsig.sampling import Counts, draw_sites


def objective(problem, counts=(30, 8, 8), weights=None, engine=None, dtype=torch.float64, width=6):
    network = FFNN(input_count(problem), len(problem.outputs), 2, width, Tanh(), dtype=dtype)
    Xavier(sigma_b=0.2).fill(network, torch.Generator().manual_seed(0))
    sites = draw_sites(problem, Counts(*counts), "lhs", seed=0)
    return Objective(Model(problem, network), engine or JetsEngine(), sites, weights)


class Heat(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.1, above=0.0)

    def residual(self, u):
        return u.t - self.k * u.xx

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x-", u=0.0)
        yield Robin(on="x+", a=2.0, b=0.5, u=lambda t: t)
        yield Neumann(on="x", u=1.0, name="flux")
        yield Periodic(on="x")
        yield PointData(x=[0.1, 0.2], t=[0.3, 0.4], u=[1.0, 2.0])


def test_the_loss_is_the_weighted_sum_of_mean_squares_written_out_by_hand():
    problem = Heat()
    weights = {"boundary_x-": 3.0, "data": 0.5}
    made = objective(problem, weights=weights)
    u = made.model.network
    d = {}
    for block in made.blocks:
        p = block.points.clone().requires_grad_()
        value = u(p)[:, 0]
        (g,) = torch.autograd.grad(value.sum(), p, create_graph=True)
        (gx,) = torch.autograd.grad(g[:, 0].sum(), p)
        d[block.name] = (p.detach(), value.detach(), g[:, 0].detach(), g[:, 1].detach(), gx[:, 0])
    mean = {}
    p, v, ux, ut, uxx = d["residual"]
    mean["residual"] = (ut - 0.1 * uxx).square().mean()
    p, v, ux, ut, uxx = d["initial"]
    mean["initial"] = (v - torch.sin(math.pi * p[:, 0])).square().mean()
    mean["boundary_x-"] = d["boundary_x-"][1].square().mean()
    p, v, ux, ut, uxx = d["boundary_x+"]
    mean["boundary_x+"] = (2 * v + 0.5 * ux - p[:, 1]).square().mean()
    p, v, ux, ut, uxx = d["flux"]
    mean["flux"] = (torch.where(p[:, 0] > 0.5, ux, -ux) - 1).square().mean()
    p, v, ux, ut, uxx = d["boundary_x"]
    mean["boundary_x"] = (v[::2] - v[1::2]).square().mean() + (ux[::2] - ux[1::2]).square().mean()
    p, v, ux, ut, uxx = d["data"]
    mean["data"] = ((v[0] - 1) ** 2 + (v[1] - 2) ** 2) / 2
    evaluation = made.evaluate()
    assert set(made.term_names) == set(mean)
    for name, value in zip(made.term_names, evaluation.terms, strict=True):
        assert float(value) == pytest.approx(float(mean[name]), rel=1e-12), name
    total = sum(weights.get(n, 1.0) * float(m) for n, m in mean.items())
    assert float(evaluation.loss) == pytest.approx(total, rel=1e-12)


def test_the_gradient_matches_finite_differences():
    made = objective(Heat())
    made.evaluate()
    gradient = made.flat.gradient.clone()
    for i in range(0, len(made.flat), 7):
        kept = float(made.flat.values[i])
        losses = []
        for step in (1e-6, -1e-6):
            made.flat.values[i] = kept + step
            losses.append(float(made.losses().loss))
        made.flat.values[i] = kept
        assert (losses[0] - losses[1]) / 2e-6 == pytest.approx(
            float(gradient[i]), rel=1e-5, abs=1e-8
        )


def test_chunks_do_not_change_loss_or_gradient(monkeypatch):
    whole, parts = objective(Heat()), objective(Heat())
    expected = whole.evaluate()
    monkeypatch.setattr(chunks, "ELEMENTS_CPU", 1)
    found = parts.evaluate()
    torch.testing.assert_close(found.loss, expected.loss, rtol=1e-13, atol=0)
    torch.testing.assert_close(parts.flat.gradient, whole.flat.gradient, rtol=1e-11, atol=1e-13)


def test_fault_l5_two_evaluations_without_a_step_are_identical():
    made = objective(Heat())
    a, b = made.evaluate(), made.evaluate()
    assert float(a.loss - b.loss) == 0.0
    assert made.evaluations == 2


class Inverse(Problem):
    domain = Box(x=(0.0, 1.0))
    k = Coefficient(0.3, above=0.0, learn=True)
    c = Coefficient(0.0, learn=True)

    def residual(self, u, x):
        return self.k * u.xx + self.c * u - x


@pytest.mark.parametrize("engine", [JetsEngine(), NestedEngine()])
def test_unknown_coefficients_get_a_gradient(engine):
    made = objective(Inverse(), engine=engine)
    made.evaluate()
    unknown = made.model.unknowns
    slopes = dict(zip(unknown, made.flat.gradient[-2:].tolist(), strict=True))
    for name in ("k", "c"):
        gradient = slopes[name]
        losses = []
        for step in (1e-6, -1e-6):
            unknown[name].data.fill_(step)
            losses.append(float(made.losses().loss))
        unknown[name].data.zero_()
        assert (losses[0] - losses[1]) / 2e-6 == pytest.approx(gradient, rel=1e-6)
    assert float(made.model.coefficients()["k"].detach()) == pytest.approx(0.3)


class System(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    fields = ("u", "v")

    def residual(self, u, v):
        return {"mass": u.t + v.x, "momentum": v.t + u.x}

    def conditions(self):
        yield Initial(u=0.0, v=lambda x: x, v_t=0.0)


def test_a_system_has_a_term_for_each_residual_and_sums_a_conditions_fields():
    made = objective(System(), weights={"momentum": 2.0})
    assert made.term_names == ("mass", "momentum", "initial")
    a, b, c = made.evaluate().terms
    assert float(made.evaluate().loss) == pytest.approx(float(a + 2 * b + c))


def bad(method, **body):
    return type("Bad", (Heat,), {**body, "conditions": lambda self: [], "residual": method})()


@pytest.mark.parametrize(
    ("residual", "says"),
    [
        (lambda self, u: u.t.value[:, None], r"\(4,\), not \(4, 1\)"),
        (lambda self, u: u.t.value[:, None] * u.x, r"\(4,\), not \(4, 4\)"),
        (lambda self, u: u.t.value.sum(), r"\(4,\), not \(\)"),
        (lambda self, u: 0.0, "not float"),
        (lambda self, u: u.y, "no partial 'y'"),
        (lambda self, u, z: u.x, "'z' is none of u, x, t"),
        (lambda self, u: {}["k"], "KeyError"),
    ],
)
def test_a_residual_that_is_wrong_is_named_with_what_it_gave(residual, says):
    with (
        pytest.raises(ProblemError, match=says)
        if "partial" not in says
        else pytest.raises(ValueError, match=says)
    ):
        objective(bad(residual))


def test_weights_are_checked():
    with pytest.raises(SettingsError, match="'dirichlet'.*no such term or group: known are"):
        objective(Heat(), weights={"dirichlet": 1.0})
    with pytest.raises(SettingsError, match="must be finite and not negative"):
        objective(Heat(), weights={"initial": -1.0})


def test_terms_without_points_are_left_out():
    made = objective(bad(lambda self, u: u.t))
    assert made.term_names == ("residual",)
    assert math.isfinite(float(made.evaluate().loss))


def test_everything_takes_the_runs_type():
    made = objective(Heat(), dtype=torch.float32)
    evaluation = made.evaluate()
    assert made.flat.gradient.dtype == torch.float32
    assert all(block.points.dtype == torch.float32 for block in made.blocks)
    assert float(evaluation.loss) == pytest.approx(
        float(objective(Heat()).evaluate().loss), rel=1e-5
    )


class Rooted(Problem):
    domain = Box(x=(-4.0, -1.0))

    def residual(self, u):
        return torch.where(u > 0, torch.sqrt(u), u.x)

    def conditions(self):
        yield Dirichlet(on="x", u=0.0)


def test_fault_n7_a_poisoned_gradient_is_traced_to_its_term():
    made = objective(Rooted())
    assert made.non_finite_terms() == ["residual"]


def test_periodic_points_stay_together():
    made = objective(Heat(), counts=(10, 4, 9))
    block = next(b for b in made.blocks if b.name == "boundary_x")
    x = block.points[:, 0]
    assert np.array_equal(x.numpy().reshape(-1, 2), np.tile([0.0, 1.0], (len(x) // 2, 1)))
    assert isinstance(draw_sites(Heat(), Counts(5, 4, 8), "lhs", 0)["residual"], Sites)


def slopes(made, places):
    """Central differences of the loss along some parameters."""
    found = []
    for i in places:
        kept, losses = float(made.flat.values[i]), []
        for step in (1e-6, -1e-6):
            made.flat.values[i] = kept + step
            losses.append(float(made.losses().loss))
        made.flat.values[i] = kept
        found.append((losses[0] - losses[1]) / 2e-6)
    return torch.tensor(found, dtype=torch.float64)


def test_objectives_of_one_model_share_its_parameters_and_have_a_gradient_each():
    first = objective(Heat())
    sites = draw_sites(Heat(), Counts(20, 6, 6), "lhs", seed=1)
    second = Objective(first.model, NestedEngine(), sites)
    places = [0, 7, len(first.flat) - 1]
    for mover in (first, second):
        mover.flat.values += 0.01  # is seen by both
        for made in (first, second):
            made.evaluate()
        for made in (first, second):
            torch.testing.assert_close(made.flat.gradient[places], slopes(made, places),
                                       rtol=1e-5, atol=1e-8)  # fmt: skip
    assert not torch.equal(first.flat.gradient, second.flat.gradient)
    flat = torch.cat([p.detach().flatten() for p in first.model.parameters()])
    assert torch.equal(flat, first.flat.values)
    assert torch.equal(flat, second.flat.values)


def test_an_objective_whose_model_has_moved_says_so():
    made = objective(Heat())
    other = made.rebuild(dtype=torch.float32)
    other.evaluate()
    for ask in (made.evaluate, made.losses):
        with pytest.raises(TrainingError, match="float64 on cpu, and that is moved to .*float32"):
            ask()
