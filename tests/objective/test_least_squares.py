"""The loss as a sum of squares, with weights of terms and points, against torch's own Jacobian."""

import pytest
import torch
from torch.func import functional_call, grad, jacrev, vmap

from pinnsig.objective import Weights
from pinnsig.objective.rows import LeastSquares, jacobian_blocks
from pinnsig.problem import Box, Dirichlet, Initial, Problem
from tests.objective.test_jacobian import Everything, objective
from tests.objective.test_objective import Inverse


class Burgers(Problem):
    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))

    def residual(self, u):
        return u.t + u * u.x - 0.01 * u.xx

    def conditions(self):
        yield Initial(u=lambda x: -torch.sin(x))
        yield Dirichlet(on="x", u=0.0)


def weighted(made):
    """Weights of terms and of collocation points, none of them 1."""
    terms = torch.linspace(0.5, 3.0, len(made.term_names), dtype=torch.float64)
    points = torch.linspace(0.1, 2.0, len(made.blocks[0]), dtype=torch.float64)
    return Weights(terms, points)


def whole(squares, rows=7):
    """r and J put together from blocks of rows."""
    r = torch.full((squares.count,), torch.nan, dtype=torch.float64)
    jacobian = None
    for place, part, block in squares.blocks(rows):
        if jacobian is None:
            jacobian = torch.full((squares.count, block.shape[1]), torch.nan, dtype=torch.float64)
        r[place], jacobian[place] = part, block
    assert jacobian is not None
    return r, jacobian


def test_rows_are_those_of_jacrev_with_points_and_terms_weighted():
    made = objective(Burgers(), depth=3, width=7)
    network, weights = made.model.network, weighted(made)
    parameters = {name: p.detach() for name, p in network.named_parameters()}

    def u(values, x, t):
        return functional_call(network, values, (torch.stack([x, t])[None],))[0, 0]

    def pde(values, point):
        x, t = point
        u_x = grad(u, 1)
        first = grad(u, 2)(values, x, t) + u(values, x, t) * u_x(values, x, t)
        return first - 0.01 * grad(u_x, 1)(values, x, t)

    def scaled(values):
        assert weights.points is not None
        found = []
        for block, weight in zip(made.blocks, weights.terms, strict=True):
            x = block.points[:, 0]
            if block.name == "residual":
                r = vmap(pde, (None, 0))(values, block.points) * weights.points
            else:
                r = vmap(lambda p: u(values, *p))(block.points)
                r = r + torch.sin(x) if block.name == "initial" else r
            found.append(r * (weight / len(block)).sqrt())
        return torch.cat(found)

    r, jacobian = whole(LeastSquares(made, weights))
    exact = jacrev(scaled)(parameters)
    rows = torch.cat([part.flatten(1) for part in exact.values()], dim=1)
    torch.testing.assert_close(r, scaled(parameters), rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(jacobian, rows, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("problem", [Burgers, Everything, Inverse])
def test_all_answers_are_of_one_function(problem):
    made = objective(problem())
    weights = weighted(made)
    squares = LeastSquares(made, weights)
    r, jacobian = whole(squares)
    torch.testing.assert_close(squares.residuals(), r, rtol=1e-12, atol=1e-14)
    loss = made.evaluate(weights).loss
    assert float(r.square().sum()) == pytest.approx(float(loss), rel=1e-12)
    gradient = made.flat.gradient.clone()
    scale = float(gradient.abs().max())
    torch.testing.assert_close(2 * r @ jacobian, gradient, rtol=0, atol=1e-11 * scale)
    cotangent = torch.randn(len(r), generator=torch.Generator().manual_seed(0)).double()
    pulled = squares.pullback(cotangent)
    scale = float(pulled.abs().max())
    torch.testing.assert_close(pulled, cotangent @ jacobian, rtol=0, atol=1e-11 * scale)


def test_without_weights_it_has_the_objectives_own():
    made = objective(Burgers(), weights={"initial": 5.0})
    r = LeastSquares(made).residuals()
    assert float(r.square().sum()) == pytest.approx(float(made.losses().loss), rel=1e-12)
    parts = list(jacobian_blocks(made, 5))
    squares = sum(float(part.weights @ part.residual.square()) for part in parts)
    assert squares == pytest.approx(float(made.losses().loss), rel=1e-12)
