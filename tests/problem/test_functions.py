"""`Function`: what it may be, its values, and what a class with one is refused for."""

import math

import pytest
import torch

from pinnsig.core.errors import ProblemError
from pinnsig.problem import Box, Coefficient, Function, Problem
from pinnsig.problem.bijections import Bijection


@pytest.mark.parametrize(
    "bijection",
    [
        Bijection(2.0),
        Bijection(1.5, 0.5),
        Bijection(-3.0, upper=1.0),
        Bijection(0.2, -1.0, 3.0),
    ],
)
def test_the_smooth_form_of_a_bijection_is_the_same_map(bijection):
    theta = torch.linspace(-4, 4, 33, dtype=torch.float64)
    expected = torch.stack([bijection.value(x) for x in theta])
    torch.testing.assert_close(bijection.smooth(theta), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("limits", "start"),
    [
        ({}, 0.0),
        ({"above": 0.0}, 1.0),
        ({"maximum": 3.0}, 2.0),
        ({"minimum": 1.0, "maximum": 2.0}, 1.5),
        ({"minimum": 1.0, "start": 1.25}, 1.25),
    ],
)
def test_it_starts_inside_its_limits_and_stays_there(limits, start):
    function = Function(of="x", **limits)
    assert float(function.value(torch.zeros(1))) == start
    far = function.value(torch.tensor([-30.0, 30.0], dtype=torch.float64))
    assert (far >= limits.get("minimum", limits.get("above", -math.inf))).all()
    assert (far <= limits.get("maximum", math.inf)).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"of": ()}, "must name its coordinates"),
        ({"of": ("x", "x")}, "each once"),
        ({"of": "x", "above": 1.0, "maximum": 1.0}, "nothing lies between 1 and 1"),
        ({"of": "x", "above": 0.0, "start": 0.0}, "must lie strictly between"),
        ({"of": "x", "minimum": math.nan}, "is no number"),
        ({"of": "x", "width": 0}, "width=0 must be a whole number"),
        ({"of": "x", "true": 3.0}, "must be a function of x"),
    ],
)
def test_what_cannot_be_is_refused(arguments, words):
    with pytest.raises(ProblemError, match=words):
        Function("k", **arguments)


def made(**attributes):
    body = {"domain": Box(x=(0.0, 1.0), t=(0.0, 1.0)), "residual": lambda self, u, k: u.t - k}
    return type("P", (Problem,), {**body, **attributes})


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"k": Function(of="y")}, "is of 'y', which is no coordinate"),
        ({"k": Function("m", of="x")}, "has two names"),
        ({"u": Function(of="x")}, "'u' is the name of two things"),
        ({"u_t": Function(of="x")}, "would also be the partial u.t"),
    ],
)
def test_a_class_is_refused_that_holds_one_that_cannot_be(attributes, words):
    with pytest.raises(ProblemError, match=words):
        made(**attributes)()


def test_its_truth_may_be_a_method_and_read_coefficients():
    class Named(Problem):
        domain = Box(x=(0.0, 1.0))
        a = Coefficient(3.0)
        k = Function(of="x", true="truth")
        m = Function(of="x", true=lambda x, a: a * x)
        n = Function(of="x", true=lambda: 2.0)
        o = Function(of="x")

        def residual(self, u, k):
            return u.x - k

        def truth(self, x):
            return self.a + x

    x = torch.tensor([0.5, 1.0], dtype=torch.float64)
    true = {n: f.true_values(Named(), {"x": x}) for n, f in Named.functions().items()}
    found = {name: None if values is None else values.tolist() for name, values in true.items()}
    assert found == {"k": [3.5, 4.0], "m": [1.5, 3.0], "n": [2.0, 2.0], "o": None}
    assert Named().outputs == ("u", "k", "m", "n", "o")
