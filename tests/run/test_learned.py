"""Learned coefficients: where they stand, gradients reach them, or training does not begin."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.activations import Tanh
from pinnsig.core.errors import ProblemError, SettingsError
from pinnsig.initializers import Xavier
from pinnsig.model import Model
from pinnsig.model.fields import input_count
from pinnsig.networks import FFNN
from pinnsig.objective import Objective, check_learned
from pinnsig.objective.batch import batch_key
from pinnsig.objective.rows import jacobian_blocks
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
from pinnsig.run.directory import RunDirectory
from pinnsig.run.judging import Judgement, suspicions
from pinnsig.run.judging.coefficients import Learned
from pinnsig.sampling import Counts, draw_sites
from tests.conftest import SMALL


def heat(self: Problem, u: Any) -> Any:
    return u.t - u.xx


class Plain(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.7, above=0.0, learn=True)

    residual: Any = heat


class InResidual(Plain):
    def residual(self, u, x):
        return u.t - self.k * u.xx + torch.sin(self.k * x)


class InBranch(Plain):
    def residual(self, u, x):  # symbols do not follow where()
        return u.t - torch.where(x.value > 0.5, self.k * u.xx.value, self.k**2 * x.value)


class InRobinA(Plain):
    def conditions(self):
        yield Robin(on="x+", a=self.k, b=1.0, u=0.0)


class InRobinB(Plain):
    def conditions(self):
        yield Robin(on="x+", a=1.0, b=lambda t: self.k * t, u=0.0)


class InNeumann(Plain):
    def conditions(self):
        yield Neumann(on="x", u=-self.k)


class InFlux(Plain):
    def conditions(self):
        yield Neumann(on="x+", u=lambda t: torch.exp(-self.k * t))


class InDirichlet(Plain):
    def conditions(self):
        yield Dirichlet(on="x", u=self.k)


class InInitial(Plain):
    def conditions(self):
        yield Initial(u=self.k, u_t=lambda x: self.k * x)


class InAnsatz(Plain):
    def ansatz(self, n, x, t):
        return torch.sin(math.pi * x) * self.k + t * n * self.k


class InHardAnsatz(Plain):
    hard = True

    def hard_ansatz(self, n, x, t):
        return torch.sin(self.k * x) + t * n


class InFeatures(Plain):
    def features(self, x, t):
        return torch.sin(self.k * x), self.k * t


class Everywhere(InFeatures):
    def residual(self, u):
        return u.t - self.k * u.xx

    def conditions(self):
        yield Dirichlet(on="x-", u=self.k)
        yield Periodic(on="x")
        yield PointData(x=[0.5, 0.2], t=[0.5, 0.1], u=[0.3, 0.4])


PLACES = [
    InResidual, InBranch, InRobinA, InRobinB, InNeumann, InFlux, InDirichlet, InInitial, InAnsatz,
    InHardAnsatz, InFeatures, Everywhere,
]  # fmt: skip


def objective_of(
    kind: type[Problem], engine: str = "auto", dtype: torch.dtype = torch.float64
) -> Objective:
    problem = kind()
    network = FFNN(input_count(problem), len(problem.outputs), 2, 8, Tanh(), dtype=dtype)
    Xavier(sigma_b=0.1).fill(network, torch.Generator().manual_seed(0))
    sites = draw_sites(problem, Counts(20, 12, 24), "lhs", seed=0)
    objective = Objective(Model(problem, network), engine, sites)
    objective.flat.values[-1] = 0.3
    return objective


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("engine", ["jets", "nested"])
def test_the_gradient_is_the_slope_wherever_a_coefficient_stands(kind, engine):
    objective = objective_of(kind, engine)
    check_learned(objective)
    objective.evaluate()
    found = float(objective.flat.gradient[-1])
    losses = []
    for step in (1e-5, -1e-5):
        objective.flat.values[-1] = 0.3 + step
        losses.append(float(objective.losses().loss))
    assert found == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-7)
    assert batch_key(objective) is None  # evaluated alone


@pytest.mark.parametrize("kind", PLACES)
def test_rows_of_the_jacobian_hold_it_too(kind):
    objective = objective_of(kind)
    objective.evaluate()
    rows = jacobian_blocks(objective, 1000)
    total = sum(float((2 * r.weights * r.residual * r.jacobian[:, -1]).sum()) for r in rows)
    assert total == pytest.approx(float(objective.flat.gradient[-1]), rel=1e-10)


@pytest.mark.parametrize("kind", PLACES)
def test_float32_gives_the_same(kind):
    narrow, wide = (objective_of(kind, dtype=dtype) for dtype in (torch.float32, torch.float64))
    for own, other in zip(
        narrow.model.parameters(), wide.model.parameters(), strict=True
    ):  # the same weights
        other.data.copy_(own.data)
    narrow.evaluate()
    wide.evaluate()
    expected = float(wide.flat.gradient[-1])
    size = float(wide.flat.gradient.abs().max())
    assert float(narrow.flat.gradient[-1]) == pytest.approx(expected, abs=1e-4 * size)


class Unused(Plain):
    pass


class AsFloat(Plain):
    def residual(self, u):
        return u.t - float(self.k) * u.xx


class AsItem(Plain):
    def residual(self, u):
        k = self.k.item() if isinstance(self.k, torch.Tensor) else self.k
        return u.t - k * u.xx


class InMath(Plain):
    def conditions(self):
        yield Dirichlet(on="x", u=math.sin(self.k))


class Partly(Plain):
    def residual(self, u, x):
        return u.t - self.k * u.xx + float(self.k) * x


class InNumpy(Plain):
    def conditions(self):
        yield Initial(u=float(np.asarray(self.k)))


class OfTheOriginal(Plain):
    def __init__(self, **settings):
        super().__init__(**settings)
        self.edge = Dirichlet(on="x", u=lambda t: self.k * t)  # self is not the copy that learns

    def conditions(self):
        yield self.edge


class FeaturesAsFloat(Plain):
    def residual(self, u):
        return u.t - self.k * u.xx

    def features(self, x, t):
        return x * float(self.k), t


class InDomain(Plain):
    def __init__(self, **settings):
        super().__init__(**settings)
        vars(self)["domain"] = Box(x=(0.0, self.k), t=(0.0, 1.0))

    def residual(self, u):
        return u.t - self.k * u.xx


class InData(Plain):
    def residual(self, u):
        return u.t - self.k * u.xx

    def conditions(self):
        yield PointData(x=[0.5], t=[0.5], u=[float(self.k)])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Unused, "k is learned, but no term depends on it"),
        (AsFloat, "the residual (or its ansatz or features) reads its value as a plain number"),
        (AsItem, "the residual (or its ansatz or features) reads its value as a plain number"),
        (InMath, "condition 'boundary' (or its ansatz or features) reads its value as a plain"),
        (Partly, "the residual (or its ansatz or features) reads its value as a plain number"),
        (InNumpy, "k is learned, a tensor, with which conditions fails: RuntimeError: Can't call"),
        (OfTheOriginal, "condition 'boundary' (or its ansatz or features) reads its value"),
        (FeaturesAsFloat, "the residual (or its ansatz or features) reads its value"),
        (InDomain, "k is learned, but the domain depends on it"),
        (InData, "k is learned, but points or data of 'data' depend on it"),
    ],
)
def test_what_no_gradient_reaches_is_refused_before_training(kind, words, runs):
    with pytest.raises(ProblemError) as caught:
        pinnsig.solve(kind, runs=runs, figures=False, **SMALL)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not runs.exists()


def test_a_term_without_weight_teaches_nothing(runs):
    with pytest.raises(ProblemError, match="no term depends on it"):
        pinnsig.solve(InNeumann, runs=runs, figures=False, weight={"boundary": 0.0}, **SMALL)


class Kinked(Plain):
    def residual(self, u):
        return u.t - torch.clamp(torch.as_tensor(self.k), min=0.7) * u.xx


class Random(Plain):
    def residual(self, u):
        return u.t - self.k * u.xx

    def conditions(self):
        yield PointData(x=[0.5], t=[0.5], u=np.random.default_rng().standard_normal(1))


@pytest.mark.parametrize("kind", [Kinked, Random])
def test_kinks_and_chance_are_not_taken_for_cut_gradients(kind):
    check_learned(objective_of(kind))


def heat_data(diffusivity: float) -> PointData:
    ninths, tenths = torch.linspace(0.1, 0.9, 9), torch.linspace(0.1, 1.0, 10)
    x, t = torch.cartesian_prod(ninths.double(), tenths.double()).unbind(1)
    return PointData(x=x, t=t, u=torch.exp(-diffusivity * math.pi**2 * t) * torch.sin(math.pi * x))


class Bounded(Problem):
    """The data say k = 0.2."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.1, minimum=0.0, maximum=0.15, learn=True)

    def residual(self, u):
        return u.t - self.k * u.xx

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)
        yield heat_data(0.2)

    def solution(self, x, t):
        return torch.exp(-self.k * math.pi**2 * t) * torch.sin(math.pi * x)


class Free(Bounded):
    k = Coefficient(0.1, above=0.0, learn=True, true=0.2)


LONG: dict[str, Any] = {
    "depth": 2, "width": 12, "collocation": 150, "initial": 20, "boundary": 20, "adam": 20,
    "lbfgs": 0, "broyden": 150, "dtype": "float64", "figures": False,
}  # fmt: skip


def test_a_coefficient_ends_inside_its_limits_and_is_named_where_it_ends_at_one(runs):
    result = pinnsig.solve(Bounded, runs=runs, **LONG)
    k = result.coefficients["k"]
    assert 0.1499 < k["value"] < 0.15
    assert k["limit"] == 0.15
    assert any(line.startswith("k ended at its limit 0.15") for line in result.suspicious)
    assert result.relative_l2 is None  # its true value is not known


def test_a_coefficients_error_is_estimated_by_the_residuals_alone(runs):
    result = pinnsig.solve(Free, runs=runs, **{**LONG, "broyden": 60})
    k = result.coefficients["k"]
    assert k["error"] == abs(k["value"] - 0.2)
    assert 1e-6 < k["error"] < 0.05
    assert 0.3 * k["error"] < k["estimated"] < 3 * k["error"]
    assert k["limit"] is None


def test_an_error_that_ends_a_run_needs_the_true_value(runs):
    with pytest.raises(SettingsError, match="whose true value is not given"):
        pinnsig.solve(Bounded, runs=runs, stop_error=0.1, **LONG)
    assert not runs.exists()
    result = pinnsig.solve(Free, runs=runs, stop_error=10.0, **LONG)
    assert result.stop == "error reached"


def test_progress_lines_and_the_log_hold_what_is_learned(solve):
    outcome = solve("inverse-heat", "--json")
    assert "  k = 0.1" in outcome.err
    records = RunDirectory.open(outcome.json()["run"]).metrics()
    assert all(record["coefficients"].keys() == {"k"} for record in records)
    plain = RunDirectory.open(solve("burgers", "--json").json()["run"]).metrics()
    assert all(record["coefficients"] is None for record in plain)


@pytest.mark.parametrize(
    ("learned", "words"),
    [
        (Learned(0.2, 0.1, 0.2, None, None), None),
        (Learned(0.15, 0.1, 0.2, 1e-9, None), "k = 0.15 is not the true value, 0.2"),
        (Learned(1e-3, 0.5, 0.0, None, None), None),
        (Learned(0.15, 0.1, None, 1e-3, None), None),
        (Learned(0.15, 0.1, None, 0.05, None), "is uncertain: by the residuals it is off by 0.05"),
        (Learned(1e-6, 0.5, None, 1e-6, None), None),
        (Learned(math.nan, 0.5, None, None, None), None),
    ],
)
def test_what_is_said_of_a_coefficient(learned, words):
    found = Judgement(coefficients={"k": learned})
    lines = [line for line in suspicions({}, 0.0, 1.0, found) if line.startswith("k ")]
    assert [words in line for line in lines] == ([] if words is None else [True])
