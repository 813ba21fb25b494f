import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnsig.activations import Tanh, parse_activation
from pinnsig.core.errors import SettingsError
from pinnsig.derivatives import JetsEngine, NestedEngine, Plan, choose_engine
from pinnsig.initializers import EdgeOfChaos, Xavier
from pinnsig.model.fields import fields_at, trace_partials
from pinnsig.networks import FFNN
from pinnsig.problem import Box, Problem

ALPHAS = st.tuples(*[st.integers(0, 4)] * 3).filter(lambda alpha: sum(alpha) <= 4)


def network(inputs=2, outputs=1, depth=2, width=6, act="tanh", seed=0, dtype=torch.float64):
    made = FFNN(inputs, outputs, depth, width, parse_activation(act), dtype=dtype)
    Xavier(sigma_b=0.3).fill(made, torch.Generator().manual_seed(seed))
    return made


def gradients(engine, net, points, plan, cotangent):
    net.zero_grad()
    table = engine.partials(net, None, points, plan)
    (table * cotangent).sum().backward()
    return table.detach(), [p.grad.clone() for p in net.parameters()]


@settings(max_examples=25, deadline=None)
@given(
    wanted=st.lists(ALPHAS, min_size=1, max_size=3),
    depth=st.integers(1, 4),
    width=st.sampled_from([1, 5, 7]),
    outputs=st.integers(1, 2),
    act=st.sampled_from(
        [
            "tanh",
            "2 erf(0.5x)",
            "gd",
            "tanh(2x)+arctan(x)/3",
            "softsign2",
            "softsign7.5",
            "sin",
            "cos(2x)",
            "gaussian",
            "sigmoid",
            "silu",
            "gelu",
            "softplus",
            "2sin(3x)+gelu",
        ]
    ),
    n=st.sampled_from([0, 1, 5]),
)
def test_jets_equal_nested_in_value_and_gradient(wanted, depth, width, outputs, act, n):
    net = network(3, outputs, depth, width, act)
    plan = Plan.closing(("x", "y", "t"), wanted)
    generator = torch.Generator().manual_seed(1)
    points = torch.rand(n, 3, dtype=torch.float64, generator=generator) * 2 - 1
    cotangent = torch.randn(len(plan), n, outputs, dtype=torch.float64, generator=generator)
    a, grads_a = gradients(JetsEngine(), net, points, plan, cotangent)
    b, grads_b = gradients(NestedEngine(), net, points, plan, cotangent)
    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
    for mine, reference in zip(grads_a, grads_b, strict=True):
        scale = 1 + reference.abs().max() if reference.numel() else 1.0
        assert (mine - reference).abs().max() <= 1e-10 * scale


def test_gradcheck_of_the_hand_written_backward():
    net = network(2, 1, 2, 3)
    plan = Plan.closing(("x", "t"), [(2, 1), (0, 2)])
    points = torch.rand(3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    parameters = tuple(net.parameters())

    def table(*values):
        for p, value in zip(parameters, values, strict=True):
            p.data = value.data
        return JetsEngine().partials(net, None, points, plan)

    assert torch.autograd.gradcheck(table, parameters, atol=1e-6)


def test_deep_network_in_float32_is_as_close_to_float64_as_nested():
    plan = Plan.closing(("x", "t"), [(2, 0), (0, 1)])
    points = torch.rand(50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    errors = {}
    exact = JetsEngine().partials(network(2, 1, 30, 16), None, points, plan)
    for engine in (JetsEngine(), NestedEngine()):
        found = engine.partials(
            network(2, 1, 30, 16, dtype=torch.float32), None, points.float(), plan
        )
        errors[engine.name] = float((found - exact).abs().max().detach())
    assert errors["jets"] <= 2 * errors["nested"]


@pytest.mark.parametrize("engine", [JetsEngine(), NestedEngine()])
def test_fault_a3_the_same_inside_no_grad(engine):
    net, plan = network(), Plan.closing(("x", "t"), [(2, 0)])
    points = torch.rand(4, 2, dtype=torch.float64)
    outside = engine.partials(net, None, points, plan)
    with torch.no_grad():
        inside = engine.partials(net, None, points, plan)
    assert torch.equal(outside, inside)
    assert outside.requires_grad
    assert not inside.requires_grad


class OnlyX(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))

    def features(self, x):
        return (x,)

    def residual(self, u):
        return u.t + u.xx


@pytest.mark.parametrize("engine", [JetsEngine(), NestedEngine()])
def test_fault_a2_a_partial_in_an_unused_coordinate_is_zero(engine):
    problem, net = OnlyX(), network(1)
    points = torch.rand(4, 2, dtype=torch.float64)
    plan, _ = trace_partials(problem, lambda fields, at: fields["u"].t.value, points)
    fields, _ = fields_at(problem, net, engine, points, plan)
    assert torch.equal(fields["u"].t.value, torch.zeros(4, dtype=torch.float64))


class Embedded(Problem):
    """Features and ansatz that use the whole algebra."""

    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))

    def features(self, x, t):
        return torch.sin(3 * x), torch.cos(3 * x), 2 * t - 1, x * t

    def ansatz(self, n, x, t):
        return -torch.sin(torch.pi * x) + t * (1 - x**2) * n

    def residual(self, u):
        return u.t + u * u.x - u.xxt


@pytest.mark.parametrize("engine", [JetsEngine(), NestedEngine()])
def test_ansatz_and_features_match_autograd_through_everything(engine):
    problem, net = Embedded(), network(4)
    points = torch.rand(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    plan, _ = trace_partials(problem, lambda f, at: problem.residual(f["u"]).value, points)
    fields, _ = fields_at(problem, net, engine, points, plan)
    found = problem.residual(fields["u"]).value

    x, t = (points[:, i].clone().requires_grad_() for i in range(2))
    n = net(torch.stack(problem.features(x, t), dim=1))[:, 0]
    u = problem.ansatz(n, x, t)

    def d(y, *by):
        for z in by:
            (y,) = torch.autograd.grad(y.sum(), z, create_graph=True)
        return y

    expected = d(u, t) + u * d(u, x) - d(u, x, x, t)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    weights = list(net.parameters())
    mine = torch.autograd.grad(found.square().sum(), weights)
    reference = torch.autograd.grad(expected.square().sum(), weights)
    for a, b in zip(mine, reference, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


class Streamfunction(Problem):
    """An ansatz that differentiates the raw output itself."""

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))
    fields = ("u", "v")

    def ansatz(self, psi):
        return psi.y, -psi.x

    def residual(self, u, v):
        return u.x + v.y


def test_a_stream_function_is_free_of_divergence():
    problem, net = Streamfunction(), network(2)
    points = torch.rand(6, 2, dtype=torch.float64)
    plan, _ = trace_partials(problem, lambda f, at: problem.residual(f["u"], f["v"]).value, points)
    assert str(plan) == "{1, x, y, xy}"
    fields, _ = fields_at(problem, net, JetsEngine(), points, plan)
    assert problem.residual(fields["u"], fields["v"]).value.abs().max() < 1e-14


def test_engines_are_chosen_by_what_they_support():
    assert choose_engine("auto", network()).name == "jets"
    assert choose_engine("auto", torch.nn.Linear(2, 1)).name == "jets"
    softened = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Softmax(dim=1))
    reference = choose_engine("auto", softened)
    assert reference.name == "nested"
    assert "calls softmax" in str(reference.notice)
    assert "several times as long" in str(reference.notice)
    assert choose_engine("nested", softened).notice is None
    with pytest.raises(SettingsError, match="jets cannot be used: Sequential .* calls softmax"):
        choose_engine("jets", softened)
    with pytest.raises(SettingsError, match="did you mean jets"):
        choose_engine("jet", network())


def test_construction_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    EdgeOfChaos().fill(FFNN(2, 1, 3, 8, Tanh()), torch.Generator().manual_seed(0))
    assert torch.equal(before, torch.get_rng_state())
