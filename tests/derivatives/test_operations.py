"""Compositions of operations: engines against each other in float64."""

import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from pinnsig.activations import sin, tanh
from pinnsig.derivatives import JetsEngine, NestedEngine, Plan, input_partials, taylor
from pinnsig.initializers import parse_initializer
from pinnsig.networks import NETWORKS as REGISTERED
from pinnsig.networks import parse_network
from tests.derivatives.test_engines import ALPHAS
from tests.networks.compositions import ACTIVATIONS, ModifiedMLP, Pirate, Recipe, ffnn, recipes

NESTED = NestedEngine()
FLAT = Plan.closing(("x", "t"), [(2, 0), (0, 1)])
PLANS = [Plan.closing(("x", "t"), []), FLAT, Plan.closing(("x", "t"), [(3, 1), (1, 2)])]


def normals(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def reference(network, points, plan, cotangent):
    """Table, gradient, and cotangent of the inputs, by nested autograd."""
    table = NESTED.partials(network, None, points, plan)
    found = torch.autograd.grad(
        table, list(network.parameters()), cotangent, allow_unused=True, materialize_grads=True
    )
    return table.detach(), torch.cat([g.flatten() for g in found])


def close(found, expected, tolerance):
    assert found.shape == expected.shape
    assert float((found - expected).norm()) <= tolerance * (1 + float(expected.norm()))


def check(network, plan, n, tolerance=1e-10, dtype=torch.float64):
    """Every way that the engine goes, against nested autograd in float64."""
    engine, outputs = JetsEngine(), network(normals(1, len(plan.coordinates))).shape[1]
    points, cotangent = normals(n, len(plan.coordinates)), normals(len(plan), n, outputs, seed=1)
    table, gradient = reference(network.double(), points, plan, cotangent)
    alone = [
        reference(network, points[i : i + 1], plan, cotangent[:, i : i + 1])[1] for i in range(n)
    ]
    network.to(dtype)
    points, cotangent = points.to(dtype), cotangent.to(dtype)
    assert engine.refusal(network) is None
    with torch.no_grad():
        close(engine.partials(network, None, points, plan).double(), table, tolerance)
    made = engine.partials(network, None, points, plan)
    found = torch.autograd.grad(made, list(network.parameters()), cotangent, allow_unused=True)
    pairs = zip(found, network.parameters(), strict=True)
    flat = torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in pairs])
    close(flat.double(), gradient, tolerance)
    carried = engine.carry(network, None, points, plan)
    close(carried.table.detach().double(), table, tolerance)
    into = torch.ones_like(flat)
    carried.add_gradient(cotangent, into, ())
    close(into.double() - 1, gradient, tolerance)
    tape = engine.tape(network, plan, input_partials(None, points, plan))
    tape.forward()
    rows = normals(n, len(flat), dtype=dtype)
    tape.write_rows(cotangent, 1, rows)
    close(rows.double(), torch.stack(alone) if n else rows.double(), tolerance)
    network.double()


@pytest.fixture(params=["compiled", "torch"])
def _way(request, monkeypatch):
    """In C, and in torch's operations."""
    if request.param == "torch":
        monkeypatch.setattr(taylor, "find_operations", lambda *_: None)
        monkeypatch.setattr(taylor, "find_library", lambda *_: None)
    elif shutil.which("cc") is None:
        pytest.skip("there is no C compiler on this machine")


@settings(max_examples=30, deadline=None)
@given(
    network=recipes(st.sampled_from(ACTIVATIONS), inputs=3),
    wanted=st.lists(ALPHAS, min_size=1, max_size=3),
    n=st.sampled_from([0, 1, 5]),
)
def test_any_composition_agrees_with_nested(network, wanted, n):
    with pytest.MonkeyPatch.context() as patch:  # each plan would be compiled
        patch.setattr(taylor, "find_operations", lambda *_: None)
        check(network, Plan.closing(("x", "y", "t"), wanted), n, 1e-9)


@settings(max_examples=30, deadline=None)
@given(
    network=recipes(st.sampled_from(["tanh", "softsign2"])),
    plan=st.sampled_from(PLANS),
    n=st.sampled_from([0, 1, 21, 40]),
)
def test_any_composition_in_c_agrees_with_nested(network, plan, n):
    check(network, plan, n, 1e-9)


@pytest.mark.usefixtures("_way")
@settings(max_examples=15, deadline=None)
@given(network=recipes(st.just("tanh")), n=st.sampled_from([1, 40]))
def test_in_float32(network, n):
    check(network, FLAT, n, 2e-3, torch.float32)


NETWORKS = {"modified": ModifiedMLP, "pirate": Pirate, "plain": ffnn}


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("width", [7, 64])
def test_networks_of_the_literature(make, width):
    torch.manual_seed(0)
    check(make(tanh, width=width).double(), FLAT, 77, 1e-11)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_registered_networks(name):
    """Values, gradient and rows of J of every network that has a name."""
    spec = parse_network(name)
    f = sin if name == "siren" else tanh
    network = spec.build(2, 1, 4, 8, f, torch.float64)
    init = parse_initializer(spec.cls.usual.get("init", "xavier"))
    init.fill(network, torch.Generator().manual_seed(0))
    with torch.no_grad():
        for parameter in network.parameters():  # opens gates
            parameter.add_(0.1)
    check(network, FLAT, 21, 1e-9)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("stride", [2, 3])
def test_rows_of_several_points_are_sums(stride):
    network = Recipe([("linear", 0, 0), ("shared", 0, 0), ("shared", 0, 0), ("gate", 0, 1)])
    inputs, cotangent = normals(4, 12, 2), normals(4, 12, 1, seed=1)
    size = sum(p.numel() for p in network.parameters())

    def rows(by):
        tape = JetsEngine().tape(network, FLAT, inputs)
        tape.forward()
        found = torch.empty(12 // by, size, dtype=torch.float64)
        return found, tape.write_rows(cotangent, by, found)

    (each, below), (summed, same) = rows(1), rows(stride)
    close(summed, each.unflatten(0, (-1, stride)).sum(1), 1e-12)
    assert torch.equal(below, same)
    tape = JetsEngine().tape(network, FLAT, inputs)
    tape.forward()
    moved = tape.add_gradient(cotangent, torch.zeros(size, dtype=torch.float64), True)
    close(moved, below, 1e-12)


@pytest.mark.usefixtures("_way")
def test_the_cotangent_of_the_inputs():
    """As features with learned coefficients need it."""
    network, factor = Recipe([("multiply", 0, 1), ("features", 0, 0)]), torch.tensor(0.7).double()
    factor.requires_grad_()
    points, cotangent = normals(9, 2), normals(4, 9, 1, seed=1)

    def features(at):
        return [factor * at["x"], at["t"]]

    carried = JetsEngine().carry(network, features, points, FLAT)
    size = sum(p.numel() for p in network.parameters())
    (mine,) = carried.add_gradient(cotangent, torch.zeros(size).double(), (factor,))
    table = NESTED.partials(network, features, points, FLAT)
    (expected,) = torch.autograd.grad(table, factor, cotangent)
    torch.testing.assert_close(mine, expected)


@pytest.mark.usefixtures("_way")
def test_a_second_pass_sees_weights_that_have_moved():
    network, engine = Pirate(tanh).double(), JetsEngine()
    points = normals(5, 2)
    before = engine.partials(network, None, points, FLAT)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(1.5)
    after = engine.partials(network, None, points, FLAT)
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, NESTED.partials(network, None, points, FLAT))


@pytest.mark.usefixtures("_way")
def test_the_gradient_of_many_tiles_is_as_exact_as_that_of_one():
    torch.manual_seed(0)
    network = ModifiedMLP(tanh).double()
    inputs, cotangent = normals(4, 20_000, 2), normals(4, 20_000, 1, seed=1).square()

    def flat(dtype):
        tape = JetsEngine().tape(network.to(dtype), FLAT, inputs.to(dtype))
        tape.forward()
        found = torch.zeros(sum(p.numel() for p in network.parameters()), dtype=dtype)
        tape.add_gradient(cotangent.to(dtype), found, False)
        return found.double()

    single = flat(torch.float32)
    network.double()
    with torch.no_grad():
        for p in network.parameters():
            p.copy_(p.float())
    exact = flat(torch.float64)
    assert (single - exact).norm() <= 1e-5 * exact.norm()


def test_without_a_linear_map_of_its_own_a_module_of_modules_works():
    network = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    check(network, FLAT, 5)
