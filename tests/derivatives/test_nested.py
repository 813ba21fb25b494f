import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from pinnsig.activations import Tanh
from pinnsig.derivatives import NestedEngine, Plan
from pinnsig.derivatives.nested import reverse_passes

ALPHAS = st.tuples(st.integers(0, 2), st.integers(0, 2)).filter(lambda alpha: sum(alpha) <= 4)


@given(st.sets(ALPHAS))
def test_every_partial_is_made_once_from_one_that_is_there(wanted):
    plan = Plan.closing(("x", "t"), wanted)
    known = {plan.alphas[0]}
    for lower, derivations in reverse_passes(plan):
        assert lower in known
        for alpha, axis in derivations:
            assert alpha == tuple(k + (i == axis) for i, k in enumerate(lower))
            assert alpha not in known
            known.add(alpha)
    assert known == set(plan.alphas)


def test_a_mixed_partial_takes_no_pass_of_its_own():
    plan = Plan.closing(("x", "t"), [(0, 2), (1, 1)])
    assert [lower for lower, _ in reverse_passes(plan)] == [(0, 0), (0, 1)]


class Counted(Tanh):
    calls = 0

    def derivatives(self, x, order):
        type(self).calls += 1
        return super().derivatives(x, order)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3, dtype=torch.float64)
        self.activation = Counted()

    def forward(self, x):
        return self.activation(self.first(x)).sum(1, keepdim=True)


def test_an_activations_derivatives_are_computed_once_for_all_passes():
    plan = Plan.closing(("x", "t"), [(2, 0), (0, 1)])
    network, points = Network(), torch.rand(5, 2, dtype=torch.float64)
    table = NestedEngine().partials(network, None, points, plan)
    table.sum().backward()
    assert Counted.calls == 2  # the value, and all derivatives together
    w = network.first.weight.detach()
    s = torch.tanh(points @ w.T + network.first.bias.detach())
    uxx = (-2 * s * (1 - s**2) * w[:, 0] ** 2).sum(1)
    torch.testing.assert_close(table[plan.index[2, 0], :, 0].detach(), uxx, rtol=1e-12, atol=1e-14)


def test_what_a_caller_writes_into_a_value_changes_no_derivative():
    x = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    y = Tanh()(x)
    with torch.no_grad():
        y.mul_(5)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    (bend,) = torch.autograd.grad(slope, x)
    t = torch.tanh(x.detach())
    torch.testing.assert_close(slope.detach(), 1 - t**2)
    torch.testing.assert_close(bend, -2 * t * (1 - t**2))


def test_without_gradients_there_is_no_graph():
    plan = Plan.closing(("x", "t"), [(2, 0), (0, 1)])
    network, points = Network(), torch.rand(5, 2, dtype=torch.float64)
    expected = NestedEngine().partials(network, None, points, plan)
    with torch.no_grad():
        found = NestedEngine().partials(network, None, points, plan)
    assert not found.requires_grad
    assert torch.equal(found, expected.detach())
