import functools
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.core.errors import ProblemError
from pinnsig.problem import Box, Coefficient, Dirichlet, Problem
from pinnsig.problem.binding import call_by_name, parameter_names
from tests.conftest import SMALL

KNOWN = {"x": 1.0, "t": 2.0, "u": 3.0}


class Method:
    def plain(self, t, x=0.0):
        return t, x

    def __call__(self, u):
        return u


@dataclass
class Unhashable:
    k: float

    def __call__(self, x):
        return self.k * x


def wrapped(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


class Module(torch.nn.Module):
    def forward(self, x, t=None):
        return x, t


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda x, t: (x, t), (1.0, 2.0)),
        (lambda t, x=7.0: (t, x), (2.0, 1.0)),
        (lambda x, t=0.0: (x, t), (1.0, 2.0)),
        (lambda x, k=5.0: (x, k), (1.0, 5.0)),
        (lambda x, k=5.0, t=0.0: (x, k, t), (1.0, 5.0, 2.0)),
        (lambda x, *, t: (x, t), (1.0, 2.0)),
        (lambda *, t=0.0: t, 2.0),
        (lambda x, /, t=0.0: (x, t), (1.0, 2.0)),
        (lambda u, **rest: (u, rest), (3.0, {"x": 1.0, "t": 2.0})),
        (lambda: 4.0, 4.0),
        (functools.partial(lambda x, t, k: (x, t, k), k=9.0), (1.0, 2.0, 9.0)),
        (functools.partial(lambda x, t: (x, t), t=0.0), (1.0, 0.0)),
        (functools.partial(lambda k, x: (k, x), 9.0), (9.0, 1.0)),
        (Method().plain, (2.0, 1.0)),
        (Method(), 3.0),
        (Unhashable(2.0), 2.0),
        (wrapped(lambda x, t: (x, t)), (1.0, 2.0)),
        (Module(), (1.0, 2.0)),
    ],
)
def test_arguments_are_found_by_their_names(function, found):
    assert call_by_name(function, KNOWN, "f") == found


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda y: y, r"^f: its parameter 'y' is none of x, t, u$"),
        (lambda x, *, y: y, r"its parameter 'y' is none of x, t, u"),
        (lambda *args: args, r"^f: \*args names nothing: name what it needs, such as x, t, u$"),
        (torch.sin, "a built-in function does not name its parameters: write lambda x"),
        (np.sin, "a built-in function does not name its parameters"),
        (functools.partial(torch.add, 1.0), "does not name its parameters"),
        (float, "does not name its parameters|none of"),
    ],
)
def test_functions_that_cannot_be_called(function, words):
    with pytest.raises(ProblemError, match=words):
        call_by_name(function, KNOWN, "f")


def test_what_stands_behind_fills_needed_parameters_only():
    behind = {"k": 8.0, "x": 9.0}
    assert call_by_name(lambda x, k: (x, k), KNOWN, "f", behind) == (1.0, 8.0)
    assert call_by_name(lambda x, k=5.0: (x, k), KNOWN, "f", behind) == (1.0, 5.0)


def test_needed_names():
    assert parameter_names(lambda n, x, t=0.0, *, k, j=1, **rest: None) == ("n", "x", "k")


class Travelling(Problem):
    """u_t + u_x = 0, solved by sin(x - t)."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))

    def residual(self, u, t=None):
        assert t is not None
        return u.t + u.x

    def solution(self, x, t=0.0):
        return torch.sin(x - t)


def test_a_solutions_default_is_no_value(runs):
    """Where the exact answer is met by the ansatz, the error is 0."""

    class Exact(Travelling):
        def ansatz(self, n, x, *, t=0.0):
            return torch.sin(x - t) + 0 * n

    found = pinnsig.solve(Exact, runs=runs, figures=False, **SMALL)
    assert found.relative_l2 < 1e-6


def test_features_with_defaults(runs):
    class Featured(Travelling):
        def features(self, x, t=0.0):
            return x - t, x

    assert pinnsig.solve(Featured, runs=runs, figures=False, **SMALL).iterations == 6


@pytest.mark.parametrize("learn", [False, True])
def test_prescribed_values_may_name_coefficients(runs, learn):
    class Case(Problem):
        domain = Box(x=(0.0, 1.0))
        h = Coefficient(2.0, learn=learn)

        def residual(self, u):
            return u.x

        def conditions(self):
            yield Dirichlet("x-", u=lambda h: h)
            yield Dirichlet("x+", u=lambda x, h: h * x)
            yield Dirichlet("x+", u=lambda x, h=3.0: h * x, name="fixed")

        def ansatz(self, n, x):
            return 0 * n + 1.0 + 0 * x

    found = pinnsig.solve(Case, runs=runs, figures=False, **{**SMALL, "adam": 0, "lbfgs": 0})
    assert found.terms["boundary_x-"] == pytest.approx(1.0)
    assert found.terms["boundary_x+"] == pytest.approx(1.0)
    assert found.terms["fixed"] == pytest.approx(4.0)


def test_values_that_depend_on_fields_are_sent_to_on(runs):
    class Case(Travelling):
        def conditions(self):
            yield Dirichlet("x+", u=lambda u: u**4)

    with pytest.raises(
        ProblemError, match=r"cannot depend on the field u: .* On\(\"x\+\", lambda u"
    ):
        pinnsig.solve(Case, runs=runs, **SMALL)
