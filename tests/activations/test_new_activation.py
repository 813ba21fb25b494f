"""A new activation is one class and one line of registration, and runs on every engine."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch

from pinnsig.activations import ACTIVATIONS, Activation, parse_activation, register_activation
from pinnsig.activations.ir import Expr, const
from pinnsig.core.errors import ActivationError
from pinnsig.derivatives import JetsEngine, NestedEngine, Plan
from pinnsig.derivatives.compiled import find_library
from pinnsig.derivatives.fused.source import write_source
from pinnsig.initializers import Xavier
from pinnsig.networks import FFNN

PLAN = Plan.closing(("x", "t"), [(2, 0), (0, 1)])


@dataclass(frozen=True)
class Cubic(Activation):
    """x + x^3."""

    @property
    def slope(self) -> float:
        return 1.0

    def _format(self, argument: str) -> str:
        return f"cubic({argument})"

    def rules(self, x: Expr) -> tuple[Expr, ...]:
        y = x * x
        return x + y * x, 1 + 3 * y, 6 * x, const(6), const(0), const(0)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register_activation("cubic", Cubic())
    yield
    ACTIVATIONS.unregister("cubic")


@pytest.mark.parametrize("text", ["cubic", "2*cubic(0.5x)+sin"])
def test_engines_agree(text):
    f = parse_activation(text)
    net = FFNN(2, 1, 2, 5, f, dtype=torch.float64)
    Xavier(sigma_b=0.3).fill(net, torch.Generator().manual_seed(0))
    points = torch.rand(7, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    tables, gradients = [], []
    for engine in (JetsEngine(), NestedEngine()):
        tables.append(engine.partials(net, None, points, PLAN))
        grads = torch.autograd.grad(tables[-1].square().sum(), list(net.parameters()))
        gradients.append(torch.cat([g.flatten() for g in grads]))
    torch.testing.assert_close(*tables, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(*gradients, rtol=1e-11, atol=1e-11)
    if shutil.which("cc") is not None:
        assert find_library(f, PLAN, torch.float64) is not None
    compile(write_source(f, PLAN), "kernels", "exec")


def test_derivatives_that_are_numbers_or_x_itself_are_tensors_of_their_own():
    x = torch.tensor([-1.0, 0.5, 2.0])
    found = Cubic().derivatives(x, 5)
    assert [d.tolist() for d in found[2:]] == [[-6, 3, 12], [6] * 3, [0] * 3, [0] * 3]
    assert len({d.data_ptr() for d in (x, *found)}) == 7


def test_what_needs_an_odd_sigmoid_is_refused_in_one_line():
    f = parse_activation("tanh+cubic")
    assert not f.odd_sigmoid
    assert parse_activation("tanh+gd").odd_sigmoid
    with pytest.raises(ActivationError, match=r"omega .* needs an odd-sigmoid .*Definition 4\.1"):
        _ = f.omega
