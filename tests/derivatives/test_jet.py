import math
from typing import Any

import mpmath
import pytest
import torch

from pinnsig.core.errors import DerivativeError
from pinnsig.derivatives import coordinate_jets

NAMES = ("x", "y")
POINTS = torch.tensor([[0.3, 1.1], [0.9, 0.4], [1.7, 2.3]], dtype=torch.float64)
ALPHAS = [(1, 0), (0, 1), (2, 0), (1, 1), (3, 0), (2, 2), (0, 4)]

EXPRESSIONS = {
    "polynomial": lambda x, y: 3 * x**3 * y - y**4 / 2 + 1,
    "product": lambda x, y: torch.sin(math.pi * x) * torch.exp(-y),
    "quotient": lambda x, y: x / (1 + y * y),
    "reversed": lambda x, y: 1 / x - (2 - y),
    "composition": lambda x, y: torch.tanh(x * y) + torch.sqrt(x + y),
    "logarithm": lambda x, y: torch.log(1 + x**2) * torch.cos(y),
    "power": lambda x, y: (x + 2) ** 1.5 * y**-2,
    "jet power": lambda x, y: x**y + 2**x,
    "hyperbolic": lambda x, y: torch.sinh(x) * torch.cosh(y) - torch.abs(x),
    "error function": lambda x, y: torch.erf(x * y) - y * torch.erfc(x - y),
    "negated": lambda x, y: -x * +y,
}


def nested(expression, alpha):
    columns = [POINTS[:, i].clone().requires_grad_() for i in range(2)]
    value = expression(*columns)
    for axis, order in enumerate(alpha):
        for _ in range(order):
            (found,) = torch.autograd.grad(
                value.sum(), columns[axis], create_graph=True, allow_unused=True
            )
            value = torch.zeros(3, dtype=torch.float64) if found is None else found
            if not value.requires_grad:
                value = value + 0 * columns[0]
    return value.detach()


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_partials_match_nested_autograd(name, alpha):
    x, y = coordinate_jets(NAMES, POINTS).values()
    jet = EXPRESSIONS[name](x, y)
    torch.testing.assert_close(
        jet.tensor(alpha), nested(EXPRESSIONS[name], alpha), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions_have_the_derivatives_of_mpmath(name):
    x = coordinate_jets(("x",), torch.linspace(-4, 4, 9, dtype=torch.float64)[:, None])["x"]
    value = getattr(torch, name)(x)
    for order in range(5):
        expected = [float(mpmath.diff(getattr(mpmath, name), a, order)) for a in x.value.tolist()]
        found = value.tensor((order,))
        torch.testing.assert_close(
            found, torch.tensor(expected, dtype=torch.float64), rtol=1e-13, atol=1e-14
        )


def test_fault_a4_second_derivative_of_the_fourth_power():
    x = coordinate_jets(("x",), torch.tensor([[0.5], [1.5], [2.5], [3.5]]))["x"]
    assert (x**4).xx.value.tolist() == [3.0, 27.0, 75.0, 147.0]


def test_partials_are_jets_of_their_own():
    x, y = coordinate_jets(NAMES, POINTS).values()
    u = x**3 * y**2
    torch.testing.assert_close((u.x * u.y).xy.value, (u.xx * u.yy + u.xxy * u.y + u.x * u.xyy
                               + u.xy * u.xy).value)  # fmt: skip


def test_a_jet_serves_as_a_tensor():
    x: Any
    y: Any
    x, y = coordinate_jets(NAMES, POINTS).values()
    assert torch.where(x > y, x, y).tolist() == [1.1, 0.9, 2.3]
    assert x.shape == (3,)
    assert len(x) == 3
    assert x.clamp(max=1.0).max() == 1.0
    assert torch.stack([x, y]).shape == (2, 3)
    assert torch.allclose(x, POINTS[:, 0])
    assert (x == POINTS[:, 0]).all()
    assert torch.equal((POINTS[:, 0] - x).value, torch.zeros(3, dtype=torch.float64))


def test_a_learned_number_is_a_constant():
    x, _ = coordinate_jets(NAMES, POINTS).values()
    c = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    slope = (c * x * x).x.value
    slope.sum().backward()
    assert c.grad == pytest.approx(2 * float(POINTS[:, 0].sum()))


def test_partials_of_plain_tensors_are_refused():
    x, _ = coordinate_jets(NAMES, POINTS).values()
    mixed = x * POINTS[:, 1]
    assert mixed.value.shape == (3,)
    with pytest.raises(DerivativeError, match="plain tensor"):
        _ = mixed.y.value


def test_an_unknown_partial_names_the_coordinates():
    x, _ = coordinate_jets(NAMES, POINTS).values()
    with pytest.raises(DerivativeError, match="'z'.*x, y"):
        _ = x.z
