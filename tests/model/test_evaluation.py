"""Errors where a solution is known of some fields only."""

import math

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.core.errors import ProblemError
from pinnsig.model import Model
from pinnsig.model.evaluation import Comparison, compare, max_error, reference_values, relative_l2
from pinnsig.problem import Box, Coefficient, Problem
from pinnsig.run.building import build
from pinnsig.run.judging import Estimate, Judgement, suspicions
from pinnsig.run.settings import resolve
from pinnsig.testing import ProblemChecks
from tests.conftest import SMALL

AT = {"x": torch.linspace(0, 1, 5, dtype=torch.float64)}


class Pair(Problem):
    """u' = 1 and v' = 2, held at u = x and v = 2 x + 1 by an ansatz."""

    domain = Box(x=(0.0, 1.0))
    fields = ("u", "v")

    def residual(self, u, v):
        return u.x - 1.0, v.x - 2.0

    def ansatz(self, a, b, x):
        return {"v": 2 * x + 1 + 0 * b, "u": x + 0 * a}


def giving(solution, base=Pair):
    return type("Case", (base,), {"solution": solution})


@pytest.mark.parametrize(
    ("given", "known"),
    [
        (lambda self, x: {"v": 2 * x}, {"v"}),
        (lambda self, x: (None, 2 * x), {"v"}),
        (lambda self, x: {"u": x, "v": None}, {"u"}),
        (lambda self, x: {}, set()),
        (lambda self, x: (x, 2 * x), {"u", "v"}),
        (lambda self, x: [x, 2 * x], {"u", "v"}),
    ],
)
def test_the_fields_that_a_solution_gives(given, known):
    assert set(reference_values(giving(given)(), AT)) == known
    assert reference_values(Pair(), AT) == {}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda self, x: x, r"gives 1 of 2 fields: return a dict, such as \{'u': \.\.\.\}"),
        (lambda self, x: (x,), "gives 1 of 2 fields"),
        (lambda self, x: (x, x, x), "gives 3 of 2 fields"),
        (lambda self, x: {"w": x}, "gives 'w', which is no field: they are u, v"),
        (lambda self, x: {"u": 3.0}, "must give a real tensor of shape .* for u, not float"),
        (lambda self, x: {"u": x + 0j}, "must give a real tensor .* not torch.complex128"),
        (lambda self, x: {"u": x[:2]}, r"must give shape \(1001,\) for u, not \(2,\)"),
        (lambda self, x: {"u": 1 / x}, "must be finite: u is inf at x = 0"),
        (lambda self, y: {"u": y}, "its parameter 'y' is none of x"),
    ],
)
def test_solutions_that_are_refused_before_training(runs, given, words):
    with pytest.raises(ProblemError, match=words):
        pinnsig.solve(giving(given), runs=runs, **SMALL)
    assert not runs.exists()


def test_a_single_field_has_no_none():
    class One(Problem):
        domain = Box(x=(0.0, 1.0))

        def residual(self, u):
            return u.x

        def solution(self, x):
            return None

    with pytest.raises(ProblemError, match=r"must give a tensor of shape \(N,\), not None"):
        reference_values(One(), AT)


def test_an_unknown_true_value_hides_only_the_fields_that_depend_on_it():
    class Learned(Pair):
        k = Coefficient(2.0, learn=True)

        def solution(self, x):
            return x, self.k * x

    assert set(reference_values(Learned(), AT)) == {"u"}


def test_a_solution_that_changes_its_arguments_changes_no_others():
    def solution(self, x):
        x -= 0.5
        return {"u": x}

    before = AT["x"].clone()
    assert torch.equal(reference_values(giving(solution)(), AT)["u"], before - 0.5)
    assert torch.equal(AT["x"], before)


def test_errors_are_claimed_for_known_fields_only(runs):
    # v = 2 x + 1 beside 2 x: off by 1 everywhere
    found = pinnsig.solve(giving(lambda self, x: {"v": 2 * x}), runs=runs, **SMALL)
    x = np.linspace(0, 1, 1001)
    off = math.sqrt(1001 / np.sum((2 * x) ** 2))
    assert found.relative_l2 == pytest.approx(off, rel=1e-5)
    assert found.max_error == pytest.approx(1.0, rel=1e-5)
    assert found.errors["fields"]["v"]["relative_l2"] == pytest.approx(off, rel=1e-5)
    assert found.errors["fields"]["u"]["relative_l2"] is None
    assert found.errors["fields"]["u"]["max_error"] is None
    figures = {path.name for path in (found.path / "figures").iterdir()}
    assert {"solution_u.png", "solution_v.png"} <= figures


def comparison(field, values, reference=None):
    return Comparison(field, {"x": np.linspace(0, 1, len(values))}, values, reference)


def test_measures_skip_what_has_no_reference():
    ones = np.ones(4)
    both = {"u": comparison("u", 2 * ones, ones), "v": comparison("v", 9 * ones)}
    assert relative_l2(both) == 1.0
    assert max_error(both) == 1.0
    assert relative_l2({"v": both["v"]}) is None
    assert max_error({"v": both["v"]}) is None
    zero = {"u": comparison("u", 3 * ones, 0 * ones), "v": both["v"]}
    assert relative_l2(zero) == 3.0


@pytest.mark.parametrize(("guess", "doubted"), [(0.5, True), (1e-4, False)])
def test_the_estimate_decides_on_fields_without_reference(guess, doubted):
    x = np.sin(np.linspace(0, 6, 50))
    both = {"u": comparison("u", x, x), "v": comparison("v", x)}
    judgement = Judgement(estimate=Estimate(guess, {"u": 0.9, "v": guess}, 0.1))
    found = suspicions(both, 1e-9, 1.0, judgement)
    assert bool(found) is doubted
    if doubted:
        assert "the estimated relative L2 error of v is 0.5 though the loss fell" in found[0]


class TestPair(ProblemChecks):
    """The checks of a problem whose solution has one field only."""

    problem = giving(lambda self, x: {"v": 2 * x + 1})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda self, a, b: {"u": a}, r"must return 2 field\(s\), u, v: it returns u$"),
        (lambda self, a, b: {"u": a, "v": b, "w": b}, "u, v: it returns u, v, w$"),
        (lambda self, a, b: {}, "u, v: it returns nothing$"),
        (lambda self, a, b: (a,), r"must return 2 field\(s\)"),
        (lambda self, *n: n, r"ansatz names no output of the network: write ansatz\(self, n, x\)"),
        (lambda self, x: x, "ansatz names no output of the network"),
        (lambda self, a, *b: a, r"\*b names nothing"),
    ],
)
def test_ansatz_that_misses_fields(runs, given, words):
    with pytest.raises(ProblemError, match=words):
        pinnsig.solve(type("Case", (Pair,), {"ansatz": given}), runs=runs, **SMALL)
    assert not runs.exists()


def in_many_dimensions(dimensions: int) -> Model:
    """A network of no size on a cube whose fields are known."""

    class Linear(Problem):
        domain = Box(**{f"x_{i}": (0.0, 1.0) for i in range(dimensions)})

        def residual(self, u):
            return u.x_0 - 1.0

        def solution(self, **x):
            return sum(x.values()) / dimensions

    return build(resolve({"problem": "any", "depth": 1, "width": 2}), Linear).model


@pytest.mark.parametrize("dimensions", [4, 5, 12, 60])
def test_errors_take_as_much_memory_in_many_dimensions_as_in_few(dimensions):
    found = compare(in_many_dimensions(dimensions))["u"]
    assert found.scattered == (dimensions > 4)
    assert found.reference is not None
    assert found.prediction.size <= 10**5
    assert list(found.axes) == [f"x_{i}" for i in range(dimensions)]
    # the mean of a sum of independent uniform numbers, and its deviation
    assert found.reference.mean() == pytest.approx(0.5, abs=1e-3)
    if dimensions > 4:
        assert found.reference.std() == pytest.approx((12 * dimensions) ** -0.5, rel=0.02)
        again = compare(in_many_dimensions(dimensions))["u"]
        np.testing.assert_array_equal(found.reference, again.reference)
