"""Loss weights found while training: what they are, and that each helps where it should."""

import math

import pytest
import torch

from pinnsig.activations import Tanh
from pinnsig.core.errors import SettingsError
from pinnsig.derivatives import JetsEngine
from pinnsig.initializers import Xavier
from pinnsig.model import Model
from pinnsig.networks import FFNN
from pinnsig.objective import BoundTerms, Objective, Weights
from pinnsig.optim import LBFGS, Adam
from pinnsig.problem import Box, Dirichlet, Problem
from pinnsig.sampling import Counts, draw_sites
from pinnsig.training import Phase, Trainer
from pinnsig.training.weighting import WEIGHTINGS, Attention, GradientNorm, NTKTrace, balancing
from tests.training.test_trainer import Records


class Poisson(Problem):
    """u'' = f with a residual so large that the boundary values are forgotten."""

    domain = Box(x=(-1.0, 1.0))

    def residual(self, u, x):
        return u.xx + (2 * math.pi) ** 2 * torch.sin(2 * math.pi * x)

    def conditions(self):
        yield Dirichlet(on="x", u=0.0)


class Layer(Problem):
    """Steady Allen-Cahn equation: the residual is large in a thin layer only."""

    domain = Box(x=(-1.0, 1.0))

    def residual(self, u):
        return 0.01 * u.xx + u - u**3

    def conditions(self):
        yield Dirichlet(on="x", u=lambda x: x)


def objective(problem, width=20, depth=2, n=64, seed=0, weights=None):
    d = problem.domain.dimensions
    network = FFNN(d, 1, depth, width, Tanh(), dtype=torch.float64)
    Xavier().fill(network, torch.Generator().manual_seed(seed))
    counts = Counts(n, n // 4 if d > 1 else 0, max(n // 8, 2))
    sites = draw_sites(problem, counts, "lhs", seed)
    return Objective(Model(problem, network), JetsEngine(), sites, weights)


def error_of(made):
    x = torch.linspace(-1, 1, 81, dtype=torch.float64)
    u, exact = made.model.predict({"x": x})["u"], torch.sin(2 * math.pi * x)
    return float((u - exact).norm() / exact.norm())


def residuals(made, block):
    """Those of a block, differentiable, one for each equation or quantity."""
    fields, at = made.model.fields(made.engine, block.points, block.plan)
    residual = BoundTerms.of(made.model.bound()).residuals[block.name]
    return list(residual(fields, at, block.extra).values())


def autograd_gradients(made):
    """Gradient of each term by torch, one at a time."""
    found = []
    parameters = list(made.model.network.parameters())
    for block in made.blocks:
        for r in residuals(made, block):
            g = torch.autograd.grad(r.square().mean(), parameters, allow_unused=True,
                                    retain_graph=True)  # fmt: skip
            parts = [torch.zeros_like(p) if x is None else x
                     for p, x in zip(parameters, g, strict=True)]  # fmt: skip
            found.append(torch.cat([p.reshape(-1) for p in parts]))
    return torch.stack(found)


def test_gradients_of_terms_are_torchs_and_weights_stay():
    made = objective(Poisson(), weights={"boundary": 3.0})
    found = made.term_gradients()
    torch.testing.assert_close(found, autograd_gradients(made), rtol=1e-9, atol=1e-9)
    assert made.weights.terms.tolist() == [1.0, 3.0]


def test_gradient_norms_become_equal():
    made = objective(Poisson(), weights={"boundary": 3.0})
    scheme = GradientNorm(every=1, memory=0.0)
    weights = scheme.update(made, scheme.start(made), None, 1)
    norms = autograd_gradients(made).norm(dim=1)
    assert 1 < float(norms.max() / norms.min()) < GradientNorm.largest
    given = torch.tensor([1.0, 3.0], dtype=torch.float64)
    lengths = weights.terms / given * norms
    assert lengths.tolist() == pytest.approx([float(norms.sum())] * 2, rel=1e-9)
    assert made.weights.terms.tolist() == [1.0, 3.0]  # an objective never changes


def test_ntk_traces_become_equal():
    made = objective(Poisson(), width=6)
    scheme = NTKTrace(every=1, memory=0.0)
    weights = scheme.update(made, scheme.start(made), None, 1)
    traces = []
    parameters = list(made.model.network.parameters())
    for block in made.blocks:
        total = 0.0
        for r in residuals(made, block)[0]:
            g = torch.autograd.grad(r, parameters, allow_unused=True, retain_graph=True)
            total += sum(float(x.square().sum()) for x in g if x is not None)
        traces.append(total / len(block))
    expected = [min(sum(traces) / trace, NTKTrace.largest) for trace in traces]
    assert weights.terms.tolist() == pytest.approx(expected, rel=1e-9)


def test_a_sample_of_points_tells_the_traces(monkeypatch):
    made = objective(Poisson(), width=6, n=2000)
    whole = NTKTrace().speeds(made)
    monkeypatch.setattr(balancing, "SAMPLE", 500)
    monkeypatch.setattr(balancing, "ROWS", 50)
    torch.testing.assert_close(NTKTrace().speeds(made), whole, rtol=0.1, atol=0)
    assert not torch.equal(NTKTrace().speeds(made), whole)


def test_the_memory_is_a_moving_average():
    made = objective(Poisson())
    target = GradientNorm(1, 0.0)
    target = target.update(made, target.start(made), None, 1).terms
    scheme = GradientNorm(every=3, memory=0.75)
    weights = scheme.start(made)
    for iteration in (1, 2, 3):
        weights = scheme.update(made, weights, None, iteration)
    expected = 0.75 + 0.25 * target
    assert weights.terms.tolist() == pytest.approx(expected.tolist(), rel=1e-12)
    shown = scheme.shown()
    assert shown is not None
    assert list(shown) == ["residual", "boundary"]


def test_what_is_met_best_is_not_raised_and_no_factor_passes_its_bound():
    made = objective(Poisson())
    scheme = GradientNorm(every=1, memory=0.0)
    weights = scheme.update(made, scheme.start(made), None, 1)
    network = made.model.network
    assert isinstance(network, FFNN)
    last = network.linears[-1]
    torch.nn.init.zeros_(last.weight)  # the boundary is met, and its gradient is zero
    torch.nn.init.constant_(last.bias, 1e-9)
    weights = scheme.update(made, weights, None, 2)
    assert weights.terms.tolist()[1] == 1.0
    scheme.first = None  # nothing has fallen yet
    weights = scheme.update(made, weights, None, 3)
    assert max(weights.terms.tolist()) <= GradientNorm.largest


def test_attention_follows_its_formula():
    made = objective(Poisson(), width=6)
    scheme = Attention(memory=0.9, rate=0.2, first=0.5)
    weights = scheme.start(made)
    sizes = made.evaluate(weights).sizes
    r = residuals(made, made.blocks[0])[0].detach().abs()
    weights = scheme.update(made, weights, sizes, 1)
    factors = 0.45 + 0.2 * r / r.max()
    assert weights.points is not None
    torch.testing.assert_close(weights.points, factors)
    value = made.evaluate(weights)
    expected = (factors * r).square().mean() + value.terms[1]
    assert float(value.loss) == pytest.approx(float(expected), rel=1e-12)
    assert float(value.terms[0]) == pytest.approx(float(r.square().mean()), rel=1e-12)


def test_the_gradient_is_that_of_what_is_minimised():
    made = objective(Poisson(), width=4)
    points = torch.linspace(0.1, 2, 64, dtype=torch.float64)
    weights = Weights(made.weights.terms, points)
    value = made.evaluate(weights)
    gradient, theta = made.flat.gradient.clone(), made.flat.copy()
    direction = torch.randn(len(theta), generator=torch.Generator().manual_seed(0)).double()
    h = 1e-6
    sides = []
    for sign in (1, -1):
        made.flat.restore(theta + sign * h * direction)
        sides.append(float(made.losses(weights).loss))
    slope = (sides[0] - sides[1]) / (2 * h)
    assert float(gradient @ direction) == pytest.approx(slope, rel=1e-6)
    assert math.isfinite(float(value.loss))


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_the_loss_that_is_reported_keeps_the_users_weights(name):
    made = objective(Poisson(), weights={"boundary": 3.0})
    watcher = Records()
    phases = [Phase(Adam(1e-3), 6), Phase(LBFGS(), 4)]
    outcome = Trainer(made, phases, watcher, weighting=WEIGHTINGS[name](2)).run()
    for record in watcher.seen:
        own = record.terms["residual"] + 3 * record.terms["boundary"]
        assert record.loss == pytest.approx(own, rel=1e-12)
    made.flat.restore(outcome.best)
    terms = made.losses().terms
    assert outcome.best_loss == pytest.approx(float(terms[0] + 3 * terms[1]), rel=1e-12)


def trained(problem_kind, weighting, steps, seed, n):
    made = objective(problem_kind(), seed=seed, n=n)
    outcome = Trainer(made, [Phase(Adam(5e-3), steps)], weighting=weighting).run()
    made.flat.restore(outcome.last)
    return made


@pytest.mark.parametrize("kind", [GradientNorm, pytest.param(NTKTrace, marks=pytest.mark.slow)])
def test_balancing_lowers_the_error_where_the_residual_outweighs_the_boundary(kind):
    ratios = []
    for seed in range(5):
        plain, balanced = (trained(Poisson, w, 300, seed, 40) for w in (None, kind(10)))
        ratios.append(error_of(balanced) / error_of(plain))
    assert sorted(ratios)[2] < 0.8


def test_attention_lowers_the_largest_residual():
    ratios = []
    points = torch.linspace(-1, 1, 301)[:, None]
    for seed in (0, 1, 2):
        plain, attended = (trained(Layer, w, 300, seed, 60) for w in (None, Attention()))
        ratios.append(attended.residual_sizes(points).max() / plain.residual_sizes(points).max())
    assert sorted(ratios)[1] < 0.8


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GradientNorm(0), "every = 0"),
        (lambda: GradientNorm(1, 1.0), "memory = 1.0"),
        (lambda: Attention(rate=0.0), "rate = 0.0"),
    ],
)
def test_bad_numbers_are_refused(make, words):
    with pytest.raises(SettingsError, match=words):
        make()
