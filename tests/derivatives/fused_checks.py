"""Checks of the `fused` engine, run under Triton's interpreter and again on a GPU.

pytest doesn't collect this file by itself: `test_fused.py` runs it in a process of its own,
since Triton decides when it is imported whether it interprets.
"""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from pinnsig.activations import parse_activation
from pinnsig.core.errors import DerivativeError, SettingsError
from pinnsig.derivatives import Engine, JetsEngine, NestedEngine, Plan, input_partials
from pinnsig.derivatives.fused import FusedEngine, Tuning
from pinnsig.derivatives.fused.source import load_kernels
from pinnsig.initializers import Xavier
from pinnsig.networks import FFNN, Stack

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

PLANS = {
    "1": (("x", "t"), [(0, 0)]),
    "xx t": (("x", "t"), [(2, 0), (0, 1)]),
    "xy": (("x", "y"), [(1, 1)]),
    "xx yy": (("x", "y"), [(2, 0), (0, 2)]),
    "t xx yy": (("x", "y", "t"), [(2, 0, 0), (0, 2, 0), (0, 0, 1)]),
    "all ten": (
        ("x", "y", "t"),
        [(2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 1, 0), (1, 0, 1), (0, 1, 1)],
    ),
}
ACTIVATIONS = [
    "tanh",
    "erf",
    "gd",
    "arctan",
    "softsign1",
    "softsign2",
    "softsign2.5",
    "softsign3",
    "sin",
    "cos",
    "gaussian",
    "sigmoid",
    "silu",
    "gelu",
    "softplus",
    "2*tanh(3x)+softsign2/2",
    "2*(tanh(x)+erf(10x))/3",
]


MANY = Plan.closing(tuple("abcdefghij"), [tuple(int(i == j) for i in range(10)) for j in range(10)])


def plan_of(name: str) -> Plan:
    return Plan.closing(*PLANS[name])


def network(plan: Plan, act="tanh", depth=3, width=7, outputs=1, dtype=torch.float32, like=None):
    made = FFNN(
        len(plan.coordinates), outputs, depth, width, parse_activation(act), dtype, device=DEVICE
    )
    if like is None:
        Xavier(sigma_b=0.3).fill(made, torch.Generator().manual_seed(0))
    else:
        for mine, theirs in zip(made.parameters(), like.parameters(), strict=True):
            mine.data.copy_(theirs.data)
    return made


def inputs(plan: Plan, n: int, outputs: int = 1, seed: int = 1) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(n, len(plan.coordinates), generator=generator) * 2 - 1
    cotangent = torch.randn(len(plan), n, outputs, generator=generator)
    return points.to(DEVICE), cotangent.to(DEVICE)


def evaluate(engine: Engine, net: FFNN, points: Tensor, plan: Plan, cotangent: Tensor):
    """The stack of partials, and the gradient in the weights as one vector."""
    table = engine.partials(net, None, points.to(net.linears[0].weight.dtype), plan)
    grads = torch.autograd.grad((table * cotangent).sum(), list(net.parameters()))
    return table.detach(), torch.cat([g.flatten() for g in grads])


@dataclass(frozen=True)
class Misses:
    """Errors against float64, relative to the largest value and to the gradient's norm."""

    table: float
    gradient: float


def misses(engine: Engine, net: FFNN, reference: FFNN, plan: Plan, n: int) -> Misses:
    points, cotangent = inputs(plan, n, net.linears[-1].out_features)
    table, gradient = evaluate(engine, net, points, plan, cotangent)
    exact, exact_gradient = evaluate(NestedEngine(), reference, points, plan, cotangent)
    assert table.shape == exact.shape
    # each partial has a size of its own
    size = exact.abs().amax(dim=(1, 2), keepdim=True) if n else exact
    off = (table - exact).abs() / (size + 1e-3)
    return Misses(
        float(off.max()) if n else 0.0,
        float((gradient - exact_gradient).norm() / (exact_gradient.norm() + 1e-30)),
    )


def check(plan: Plan, n: int, engine: Engine | None = None, **shape) -> None:
    net = network(plan, **shape)
    wide = network(plan, **shape, dtype=torch.float64, like=net)
    fused = misses(engine or FusedEngine(), net, wide, plan, n)
    nested = misses(NestedEngine(), net, wide, plan, n)
    # rounding of a handful of points is a matter of luck, hence the floor
    assert fused.table <= max(2 * nested.table, 2e-6), (fused, nested)
    assert fused.gradient <= max(2 * nested.gradient, 2e-6), (fused, nested)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("name", PLANS)
def test_plans(name, outputs):
    check(plan_of(name), 17, outputs=outputs)


# each one's expressions are compared with mpmath elsewhere, as Triton too
@pytest.mark.parametrize("act", ACTIVATIONS if DEVICE == "cuda" else ACTIVATIONS[::5])
def test_activations(act):
    check(plan_of("xx t"), 33, act=act)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("width", [1, 7, 50] if DEVICE == "cuda" else [1, 20])
def test_shapes_of_networks(width, depth):
    check(plan_of("xx t"), 17, width=width, depth=depth)


@pytest.mark.parametrize("name", ["1", "xx t"])
@pytest.mark.parametrize("n", [0, 1, 16, 33])
def test_numbers_of_points(n, name):
    check(plan_of(name), n, outputs=2)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("tuning", [Tuning(block=32), Tuning(slabs=1), Tuning(precision="bf16x6")])
def test_tunings(tuning, deterministic):
    check(plan_of("xx t"), 100, FusedEngine(deterministic, tuning))


def test_deep_network():
    check(plan_of("xx t"), 17, depth=60 if DEVICE == "cuda" else 12, width=50)


def test_widest_network():
    check(plan_of("all ten"), 5, width=128, depth=2)


def test_deterministic_gradients_are_the_same_bit_for_bit():
    plan = plan_of("xx t")
    points, cotangent = inputs(plan, 100 if DEVICE == "cpu" else 20_000)
    net = network(plan, width=16)
    engine = FusedEngine(deterministic=True)
    first = evaluate(engine, net, points, plan, cotangent)[1]
    for _ in range(2):
        assert torch.equal(first, evaluate(engine, net, points, plan, cotangent)[1])


# each one's expressions are compared with mpmath elsewhere, as Triton too
@pytest.mark.parametrize("act", ACTIVATIONS if DEVICE == "cuda" else ACTIVATIONS[::5])
def test_activations_far_from_and_near_to_zero(act):
    """One unit, so that the plan's rows are the derivatives at known places."""
    plan = Plan.closing(("x",), [(2,)])
    net = FFNN(1, 1, 1, 1, parse_activation(act), device=DEVICE)
    for p in net.parameters():
        p.data.fill_(float(p.ndim == 2))
    sizes = torch.logspace(-6, 5, 60)
    x = torch.cat([-sizes, torch.zeros(1), sizes, torch.tensor([1e20, 3e38])]).to(DEVICE)[:, None]
    table, gradient = evaluate(FusedEngine(), net, x, plan, torch.ones_like(x).expand(3, -1, 1))
    exact = torch.stack(net.activation.derivatives(x.double(), 2))
    # what rounding the stretched argument does is not the kernel's
    slack = 2e-6 * exact.abs() + 2e-7 * exact.abs().amax(1, keepdim=True).clamp(max=1e3)
    assert ((table - exact).abs() <= slack).all()
    assert gradient.isfinite().all()


def together(engine: Engine, members: list[FFNN], plan: Plan, n: int):
    """Tables and gradients of members carried together, and of each carried alone."""
    outputs = members[0].linears[-1].out_features
    points = torch.cat([inputs(plan, n, seed=m)[0] for m in range(len(members))])
    cotangents = [inputs(plan, n, outputs, seed=m)[1] for m in range(len(members))]
    flat = [torch.cat([w.detach().flatten() for w in net.weights]) for net in members]
    values = torch.stack(flat)
    carried = engine.carry_stack(Stack(members, values), input_partials(None, points, plan), plan)
    gradients = torch.zeros_like(values)
    carried.add_gradient(torch.cat(cotangents, dim=1), gradients, ())
    tables = carried.table.detach().unflatten(1, (len(members), n)).unbind(1)
    alone = [
        evaluate(engine, net, points[m * n : (m + 1) * n], plan, cotangents[m])
        for m, net in enumerate(members)
    ]
    return list(zip(tables, gradients, strict=True)), alone


@pytest.mark.parametrize(
    "acts",
    [
        ["tanh", "1.3*tanh", "tanh(2x)"],
        ["erf", "erf"],
        ["softsign2", "0.5*softsign2(3x)"],
        ["2*tanh(3x)+softsign2.5/2", "tanh+softsign2.5"],
    ],
)
@pytest.mark.parametrize(("width", "depth"), [(1, 1), (7, 3), (50, 2)])
@pytest.mark.parametrize("deterministic", [False, True])
def test_networks_together_as_alone(acts, width, depth, deterministic):
    plan = plan_of("xx t")
    members = [network(plan, act, depth, width, outputs=2) for act in acts]
    for m, net in enumerate(members):
        Xavier(sigma_b=0.3).fill(net, torch.Generator().manual_seed(m))
    for mine, own in zip(*together(FusedEngine(deterministic), members, plan, 33), strict=True):
        for found, expected in zip(mine, own, strict=True):
            assert (found - expected).norm() <= 2e-6 * expected.norm()


def test_one_kernel_serves_all_factors():
    plan = plan_of("xx t")
    kernels = [
        load_kernels(stack.activation, plan)
        for acts in (["tanh", "2*tanh"], ["1.3*tanh", "0.5*tanh", "tanh"])
        for nets in [[network(plan, act) for act in acts]]
        for stack in [Stack(nets, torch.zeros(len(nets), sum(w.numel() for w in nets[0].weights)))]
    ]
    assert kernels[0] is kernels[1]


def test_learned_features_get_their_gradient():
    """What the network's inputs are made of may be trained too."""
    plan, grads = plan_of("xx t"), []
    points, cotangent = inputs(plan, 9)
    for engine in (FusedEngine(), JetsEngine()):
        speed = torch.tensor(1.5, device=DEVICE, requires_grad=True)
        net = network(plan)
        table = engine.partials(
            net, lambda at, c=speed: (at["x"], at["x"] - c * at["t"]), points, plan
        )
        (table * cotangent).sum().backward()
        grads.append(speed.grad)
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-5)


def test_the_same_without_gradients():
    plan = plan_of("xx t")
    points, _ = inputs(plan, 17)
    net = network(plan)
    outside = FusedEngine().partials(net, None, points, plan)
    with torch.no_grad():
        inside = FusedEngine().partials(net, None, points, plan)
    assert torch.equal(outside, inside)
    assert outside.requires_grad
    assert not inside.requires_grad


def test_kernels_are_made_once():
    plan = plan_of("xx t")
    first = load_kernels(parse_activation("tanh(2x)"), plan)
    assert load_kernels(parse_activation("tanh(2x)"), plan_of("xx t")) is first


@pytest.mark.parametrize(
    ("change", "plan", "reason"),
    [
        ({"dtype": torch.float64}, "xx t", "it needs float32, not float64"),
        ({"width": 129}, "xx t", "at most 128 units in a layer, not 129"),
        ({}, Plan.closing(("x",), [(3,)]), r"order <= 2, and the plan is \{1, x, xx, xxx\}"),
        ({}, MANY, "at most 10 partials"),
    ],
)
def test_what_it_cannot_do_is_said_in_one_line(change, plan, reason):
    plan = plan_of(plan) if isinstance(plan, str) else plan
    net = network(plan, **change)
    engine = FusedEngine()
    with pytest.raises(DerivativeError, match=reason):
        engine.partials(net, None, torch.zeros(2, len(plan.coordinates), device=DEVICE), plan)
    said = engine.refusal(net, plan)
    assert said is not None
    assert "\n" not in said


def test_plain_tf32_is_refused():
    with pytest.raises(SettingsError, match="precision 'tf32' is unknown: did you mean tf32x3"):
        Tuning(precision="tf32")


def test_other_modules_are_refused():
    assert FusedEngine().refusal(torch.nn.Linear(2, 1)) == "it needs an FFNN, not a Linear"
