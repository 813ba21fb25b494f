"""Activations inside autograd and torch.func."""

import pytest
import torch
from torch.func import grad, jacfwd, jacrev, jvp, vmap

from pinnsig.activations import MAX_ORDER, erf, gd, gelu, parse_activation, sin, softsign, tanh
from pinnsig.core.errors import ActivationError

FUNCTIONS = [
    tanh, erf, gd, softsign(1), softsign(3), parse_activation("1.3*tanh(2x)+arctan/2"), sin, gelu,
    parse_activation("2*sin(3x)+silu"),
]  # fmt: skip
X = torch.tensor([-2.1, -0.4, 0.3, 0.9, 5.0], dtype=torch.float64)


@pytest.mark.parametrize("f", FUNCTIONS, ids=str)
def test_repeated_autograd_gives_the_derivatives(f):
    x = X.clone().requires_grad_()
    y = f(x)
    for order, derivative in enumerate(f.derivatives(X, MAX_ORDER)):
        assert torch.equal(y, derivative)
        if order < MAX_ORDER:
            (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(ActivationError, match="order 0 to 5, not 6"):
        torch.autograd.grad(y.sum(), x)


@pytest.mark.parametrize("f", FUNCTIONS, ids=str)
def test_gradcheck(f):
    x = X.clone().requires_grad_()
    assert torch.autograd.gradcheck(f, (x,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, (x,))


@pytest.mark.parametrize("f", FUNCTIONS, ids=str)
def test_function_transforms(f):
    third = f.derivatives(X, 3)[3]
    torch.testing.assert_close(vmap(grad(grad(grad(f))))(X), third)

    def forward(g):
        return lambda x: jvp(g, (x,), (torch.ones_like(x),))[1]

    torch.testing.assert_close(vmap(forward(forward(forward(f))))(X), third)
    torch.testing.assert_close(vmap(forward(grad(forward(f))))(X), third)
    second = torch.diag_embed(torch.diag(f.derivatives(X, 2)[2]))
    torch.testing.assert_close(jacfwd(jacrev(f))(X), second)
    torch.testing.assert_close(vmap(f, in_dims=1)(X.reshape(1, 5)), f(X).reshape(5, 1))


def test_any_shape_and_no_graph():
    x = torch.zeros(2, 0, 3, requires_grad=True)
    assert tanh(x).shape == x.shape
    assert tanh(torch.tensor(0.5)).shape == ()
    y = tanh.derivatives(torch.randn(3, 2, requires_grad=True), 5)
    assert not any(d.requires_grad for d in y)


def test_arguments_are_left_alone_and_results_are_separate():
    for f in FUNCTIONS:
        x = X.clone()
        results = f.derivatives(x, MAX_ORDER)
        assert torch.equal(x, X)
        assert len({r.data_ptr() for r in (x, *results)}) == MAX_ORDER + 2


@pytest.mark.parametrize("order", [-1, 6])
def test_order_out_of_range(order):
    with pytest.raises(ActivationError, match="order 0 to 5"):
        tanh.derivatives(X, order)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64, torch.float16])
def test_other_dtypes_are_refused(dtype):
    x = torch.ones(2, dtype=dtype)
    with pytest.raises(ActivationError, match="float32 or float64"):
        tanh(x)
    with pytest.raises(ActivationError, match="float32 or float64"):
        tanh.derivatives(x, 1)
