"""Several networks carried together give what each gives alone."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnsig.activations import parse_activation
from pinnsig.core.errors import DerivativeError
from pinnsig.derivatives import Engine, JetsEngine, NestedEngine, Plan, input_partials, taylor
from pinnsig.derivatives.tape import LayerTape, SequentialTapes
from pinnsig.initializers import Xavier
from pinnsig.networks import FFNN, Stack
from tests.derivatives.test_engines import ALPHAS

FAMILIES = [
    ["tanh", "1.3*tanh(x)", "tanh(2x)"],
    ["erf", "erf"],
    ["0.5*softsign2", "softsign2(0.3x)"],
    ["tanh+softsign2.5/2", "2*(tanh(2x)+softsign2.5)"],
]


def networks(acts, inputs=2, outputs=1, depth=2, width=6, dtype=torch.float64) -> list[FFNN]:
    made = [FFNN(inputs, outputs, depth, width, parse_activation(a), dtype) for a in acts]
    for seed, network in enumerate(made):
        Xavier(sigma_b=0.3).fill(network, torch.Generator().manual_seed(seed))
    return made


def stacked(members: list[FFNN]) -> Stack:
    flat = [torch.cat([w.detach().flatten() for w in network.weights]) for network in members]
    return Stack(members, torch.stack(flat))


def check(engine: Engine, members: list[FFNN], plan: Plan, n: int, tolerance: float) -> None:
    """Table and gradient of each member against nested autograd of it alone, in float64."""
    weight, generator = members[0].weights[-2], torch.Generator().manual_seed(7)
    count = len(members), n, len(plan.coordinates)
    points = (2 * torch.rand(*count, generator=generator) - 1).to(weight)
    cotangent = torch.randn(len(plan), *count[:2], len(weight), generator=generator).to(weight)
    stack = stacked(members)
    together = engine.carry_stack(stack, input_partials(None, points.flatten(0, 1), plan), plan)
    tables = together.table.detach().unflatten(1, count[:2])
    gradients = torch.cat([w.flatten(1) for w in stack.weights], dim=1).zero_()
    together.add_gradient(cotangent.flatten(1, 2), gradients, ())
    for m, network in enumerate(members):
        alone = NestedEngine().carry(network.double(), None, points[m].double(), plan)
        gradient = torch.zeros_like(gradients[m], dtype=torch.float64)
        alone.add_gradient(cotangent[:, m].double(), gradient, ())
        assert _off(tables[:, m], alone.table.detach()) <= tolerance
        assert _off(gradients[m], gradient) <= tolerance


def _off(found, expected):
    return float((found - expected).norm() / (expected.norm() + 1e-30))


@settings(max_examples=25, deadline=None)
@given(
    wanted=st.lists(ALPHAS, min_size=1, max_size=3),
    acts=st.sampled_from(FAMILIES),
    depth=st.integers(1, 4),
    width=st.sampled_from([1, 7, 50]),
    outputs=st.integers(1, 2),
    compiled=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    n=st.sampled_from([1, 5]),
)
def test_together_as_alone(wanted, acts, depth, width, outputs, compiled, dtype, n):
    members = networks(acts, 3, outputs, depth, width, dtype)
    plan = Plan.closing(("x", "y", "t"), wanted)
    tolerance = 1e-11 if dtype == torch.float64 else 1e-3  # of high orders in float32
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(taylor, "find_library", lambda *_: None)
        check(JetsEngine(), members, plan, n, tolerance)


def test_which_tape_is_taken(monkeypatch):
    stack, plan = stacked(networks(["tanh", "2*tanh"])), Plan.closing(("x", "t"), [(1, 0)])
    inputs = torch.zeros(2, 2, 5, 2, dtype=torch.float64)
    if isinstance(taylor.make_stack_tape(stack, plan, inputs), SequentialTapes):  # with a compiler
        monkeypatch.setattr(taylor, "find_library", lambda *_: None)
    assert isinstance(taylor.make_stack_tape(stack, plan, inputs), LayerTape)


def test_what_cannot_be_stacked_is_refused():
    with pytest.raises(ValueError, match="more than factors"):
        stacked(networks(["tanh", "erf"]))
    stack, plan = stacked(networks(["tanh", "tanh"])), Plan.closing(("x", "t"), [(1, 0)])
    with pytest.raises(DerivativeError, match="nested carries one network"):
        NestedEngine().carry_stack(stack, torch.zeros(len(plan), 4, 2), plan)
