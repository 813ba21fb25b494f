"""From `forward` to operations, and what is refused with its reason."""

import pytest
import torch
from torch import nn

from pinnsig.activations import tanh
from pinnsig.networks import Composition, CompositionError, compose, verification
from pinnsig.networks.operations import Activate, Affine, Combine, Linear, Multiply, Scale
from tests.networks.compositions import ModifiedMLP, Pirate, ffnn


class Written(nn.Module):
    """A network whose forward is a given function of itself and x."""

    def __init__(self, forward) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(2, 4), nn.Linear(4, 1)
        self.alpha = nn.Parameter(torch.tensor(0.5))
        self.written = forward

    def forward(self, x):
        return self.written(self, x)


def composed(forward) -> Composition:
    return compose(Written(forward))


def test_an_ffnn_is_linear_maps_and_activations():
    structure = compose(ffnn(tanh, depth=2)).structure
    assert structure.operations == (
        Linear(0, 0, 1), Activate(1, tanh), Linear(2, 2, 3), Activate(3, tanh), Linear(4, 4, 5),
    )  # fmt: skip
    assert structure.widths == (2, 8, 8, 8, 8, 1)
    assert structure.output == 5


@pytest.mark.parametrize("make", [ModifiedMLP, Pirate])
def test_tensors_are_the_parameters_in_their_order(make):
    network = make(tanh)
    found = compose(network)
    for tensor, parameter in zip(found.tensors(), network.parameters(), strict=True):
        assert tensor is parameter
    assert all(found.structure.trained)
    assert compose(make(tanh)).structure == found.structure
    assert hash(compose(make(tanh)).structure) == hash(found.structure)
    assert compose(make(tanh, width=9)).structure != found.structure


def test_torchs_functions_stand_for_activations():
    found = composed(lambda n, x: n.out(torch.tanh(n.into(x)).tanh()))
    acts = [o.activation for o in found.structure.operations if isinstance(o, Activate)]
    assert acts == [tanh, tanh]


def test_what_the_output_does_not_need_is_left_out():
    def forward(n, x):
        _ = n.into(x) * 2
        return n.out(n.into(x))

    assert len(composed(forward).structure.operations) == 2


def test_numbers_are_put_together():
    """2 (1 - x) - 3 is one operation."""
    found = composed(lambda n, x: n.out(2 * (1 - n.into(x)) - 3)).structure.operations
    assert found[1:-1] == (Affine(1, -2.0, -1.0),)


def test_weights_computed_from_parameters_follow_them():
    network = Written(lambda n, x: n.out((1 - n.alpha) * n.into(x)))
    found = compose(network)
    (scale,) = (o for o in found.structure.operations if isinstance(o, Scale))
    assert found.computed
    assert float(found.tensors()[scale.factor].detach()) == 0.5
    with torch.no_grad():
        network.alpha.fill_(0.25)
    assert float(found.tensors()[scale.factor].detach()) == 0.75
    assert found.tensors()[scale.factor].requires_grad


def test_buffers_are_fixed_and_follow_the_modules_type():
    network = Written(lambda n, x: n.out(nn.functional.linear(x, n.fixed)))
    network.register_buffer("fixed", torch.ones(4, 2))
    found = compose(network)
    (place,) = found.structure.operations[0].tensors
    assert not found.structure.trained[place]
    network.double()
    assert found.tensors()[place].dtype == torch.float64


def test_shared_weights_are_one_tensor():
    network = Written(lambda n, x: n.out(n.into(x) * n.into(x)))
    first, second, product, _ = compose(network).structure.operations
    assert first.tensors == second.tensors
    assert product == Multiply(1, 2)


def softplus(**given):
    return lambda n, x: n.out(nn.functional.softplus(n.into(x), **given))


def changed_before_use(n, x):
    weight = n.into.weight.clone()
    weight[0] = n.into.weight[1]
    return n.out(nn.functional.linear(x, weight))


def in_place(n, x):
    h = n.into(x)
    return n.out(nn.functional.silu(h, inplace=True) + h)


def branching(condition):
    return lambda n, x: n.out(torch.tanh(n.into(x))) if condition(n, x) else n.out(n.into(x))


REFUSED = {
    "another softplus": (softplus(beta=20), "calls softplus"),
    "another threshold": (softplus(threshold=1), "calls softplus"),
    "changed before use": (changed_before_use, "changes a parameter"),
    "activation in place": (in_place, "calls silu"),
    "type decides": (branching(lambda _, x: isinstance(x, torch.Tensor)), "values would differ"),
    "mode decides": (branching(lambda *_: torch.is_grad_enabled()), "values would differ"),
    "softmax": (lambda n, x: n.out(torch.softmax(n.into(x), 1)), "calls softmax"),
    "cat": (lambda n, x: n.out(torch.cat([x, x], 1)), "calls cat"),
    "parts": (lambda n, x: n.out(n.into(x)[:, :1]), "parts of a value"),
    "value decides": (lambda n, x: n.out(n.into(x)) if x else x, "a value decides"),
    "compared": (lambda n, x: n.out(n.into(x)) if (x > 0).all() else x, "calls|follow"),
    "parameter decides": (lambda n, x: n.out(n.into(x)) if n.alpha > 0 else x, "parameter decides"),
    "in place": (lambda n, x: n.out(n.into(x).mul_(2)), "calls mul_"),
    "division": (lambda n, x: n.out(1 / n.into(x)), "divides by a value"),
    "power": (lambda n, x: n.out(n.into(x) ** 0.5), "power"),
    "units": (lambda n, x: n.into(x) + n.out(n.into(x)), "4 units with one of 1|1 units"),
    "shape": (lambda n, x: n.out(n.into(x) * torch.ones(3, 4)), "shape"),
    "nothing": (lambda n, x: None, "gives nothing"),
    "no linear map": (lambda n, x: tanh(x), "how many inputs"),
    "elsewhere": (lambda n, x: n.out(n.missing(x)), "missing"),
    "changed": (lambda n, x: n.out(n.into(x) * n.alpha.mul_(2)), "changes a parameter"),
}


COMPUTED = {
    "cat": lambda n, x: n.out(x @ torch.cat([n.into.weight[2:], n.into.weight[:2]]).mT),
    "stack": lambda n, x: n.out(n.into(x) * torch.stack([n.alpha] * 4)),
    "chunk": lambda n, x: n.out(torch.tanh(n.into(x)) * n.out.weight.chunk(4, dim=1)[1].sum()),
    "unbind": lambda n, x: n.out(n.into(x) * n.into.weight.unbind(1)[0]),
    "largest": lambda n, x: n.out(n.into(x) * n.into.weight.max(1).values),
    "qr": lambda n, x: n.out(x @ torch.linalg.qr(n.into.weight)[0].mT),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_weights_may_be_computed_by_functions_of_lists_and_in_parts(name):
    network = Written(COMPUTED[name]).double()
    found = compose(network)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3)
    x = torch.randn(5, 2, dtype=torch.float64)
    values = verification.value(found.structure, found.tensors(), x)
    torch.testing.assert_close(values, network(x))
    weights = list(network.parameters())
    pair = (
        torch.autograd.grad(v.sum(), weights, allow_unused=True, materialize_grads=True)
        for v in (values, network(x))
    )
    torch.testing.assert_close(*pair)


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_operation_describes_is_refused_with_its_reason(name):
    forward, said = REFUSED[name]
    network = Written(forward)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    with pytest.raises(CompositionError, match=said) as caught:
        compose(network)
    assert "\n" not in str(caught.value)
    for key, value in network.state_dict().items():
        assert torch.equal(value, before[key])


def test_a_strange_trained_tensor_is_refused():
    other = nn.Linear(2, 4)
    with pytest.raises(CompositionError, match="none of its parameters"):
        composed(lambda n, x: n.out(other(x)))


def test_a_difference_is_one_operation():
    found = composed(lambda n, x: n.out(n.into(x) - tanh(n.into(x)))).structure.operations
    assert Combine(1, 3, -1.0) in found
