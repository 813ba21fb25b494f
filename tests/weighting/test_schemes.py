"""Loss weights found while training: what they are, and that each helps where it should."""

import math

import pytest
import torch

from pinnsig.activations import Tanh
from pinnsig.errors import SettingsError
from pinnsig.initializers import Xavier
from pinnsig.jets import JetsEngine
from pinnsig.model import Model
from pinnsig.networks import FFNN
from pinnsig.objective import Objective
from pinnsig.optim import LBFGS, Adam
from pinnsig.problem import Box, Dirichlet, Problem
from pinnsig.sampling import Counts, draw_sites
from pinnsig.training import Phase, Trainer
from pinnsig.weighting import WEIGHTINGS, Attention, GradientNorm, NTKTrace
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


def autograd_gradients(made):
    """Gradient of each term by torch, one at a time."""
    found = []
    parameters = list(made.model.network.parameters())
    for block in made.blocks:
        fields, at = made.model.fields(made.engine, block.points, block.plan)
        for r in block.residual(fields, at, block.extra).values():
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
    assert made.weights.tolist() == [1.0, 3.0]


def test_gradient_norms_become_equal():
    made = objective(Poisson(), weights={"boundary": 3.0})
    scheme = GradientNorm(every=1, memory=0.0)
    scheme.attach(made)
    scheme.update(made, 1)
    norms = autograd_gradients(made).norm(dim=1)
    given = torch.tensor([1.0, 3.0], dtype=torch.float64)
    lengths = made.weights / given * norms
    assert lengths.tolist() == pytest.approx([float(norms.sum())] * 2, rel=1e-9)


def test_ntk_traces_become_equal():
    made = objective(Poisson(), width=6)
    scheme = NTKTrace(every=1, memory=0.0)
    scheme.attach(made)
    scheme.update(made, 1)
    traces = []
    parameters = list(made.model.network.parameters())
    for block in made.blocks:
        fields, at = made.model.fields(made.engine, block.points, block.plan)
        total = 0.0
        for r in next(iter(block.residual(fields, at, block.extra).values())):
            g = torch.autograd.grad(r, parameters, allow_unused=True, retain_graph=True)
            total += sum(float(x.square().sum()) for x in g if x is not None)
        traces.append(total / len(block))
    expected = [sum(traces) / trace for trace in traces]
    assert made.weights.tolist() == pytest.approx(expected, rel=1e-9)


def test_the_memory_is_a_moving_average():
    made = objective(Poisson())
    target = GradientNorm().targets(made)
    scheme = GradientNorm(every=3, memory=0.75)
    scheme.attach(made)
    for iteration in (1, 2, 3):
        scheme.update(made, iteration)
    expected = 0.75 + 0.25 * target
    assert made.weights.tolist() == pytest.approx(expected.tolist(), rel=1e-12)
    shown = scheme.shown()
    assert shown is not None
    assert list(shown) == ["residual", "boundary"]


def test_attention_follows_its_formula():
    made = objective(Poisson(), width=6)
    scheme = Attention(memory=0.9, rate=0.2, first=0.5)
    scheme.attach(made)
    made.evaluate()
    block = made.blocks[0]
    fields, at = made.model.fields(made.engine, block.points, block.plan)
    r = block.residual(fields, at, {})["residual"].detach().abs()
    scheme.update(made, 1)
    factors = 0.45 + 0.2 * r / r.max()
    assert made.attention is not None
    torch.testing.assert_close(made.attention, factors)
    value = made.evaluate()
    expected = (factors * r).square().mean() + value.terms[1]
    assert float(value.loss) == pytest.approx(float(expected), rel=1e-12)
    assert float(value.terms[0]) == pytest.approx(float(r.square().mean()), rel=1e-12)


def test_the_gradient_is_that_of_what_is_minimised():
    made = objective(Poisson(), width=4)
    Attention(memory=0.9, rate=0.2).attach(made)
    assert made.attention is not None
    made.attention.copy_(torch.linspace(0.1, 2, 64))
    value = made.evaluate()
    gradient, theta = made.flat.gradient.clone(), made.flat.copy()
    direction = torch.randn(len(theta), generator=torch.Generator().manual_seed(0)).double()
    h = 1e-6
    sides = []
    for sign in (1, -1):
        made.flat.restore(theta + sign * h * direction)
        sides.append(float(made.losses().loss))
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


@pytest.mark.parametrize("kind", [GradientNorm, NTKTrace])
def test_balancing_lowers_the_error_where_the_residual_outweighs_the_boundary(kind):
    ratios = []
    for seed in (0, 1, 2):
        plain, balanced = (trained(Poisson, w, 300, seed, 40) for w in (None, kind(10)))
        ratios.append(error_of(balanced) / error_of(plain))
    assert sorted(ratios)[1] < 0.6


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
