from typing import Any

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.core.errors import ProblemError, SamplingError
from pinnsig.problem import Box, Coefficient, Condition, PointData, Problem, Sites
from tests.conftest import SMALL

PLANE = Box(x=(0.0, 1.0), t=(0.0, 1.0))


def draw(n: int, dimensions: int) -> np.ndarray:
    raise AssertionError("data are not drawn")


def test_points_in_the_order_of_the_domain():
    sites = PointData(t=[0.1, 0.2], u=[1.0, 2.0], x=[0.3, 0.4]).sites(PLANE, 99, draw)
    assert sites.points.tolist() == [[0.3, 0.1], [0.4, 0.2]]
    assert sites.points.dtype == np.float64
    assert {key: values.tolist() for key, values in sites.extra.items()} == {"u": [1.0, 2.0]}


def test_one_point_as_numbers():
    assert PointData(t=0, x=1, u=2).sites(PLANE, 0, draw).points.tolist() == [[1.0, 0.0]]


def test_residual_is_field_less_measured_value():
    data = PointData(x=[0.3, 0.4], t=[0.1, 0.2], u=[1.0, 2.0])
    found = data.residual({"u": torch.tensor([1.5, 1.0])}, {}, {"u": torch.tensor([1.0, 2.0])})
    assert found["u"].tolist() == [0.5, -1.0]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "one common length"),
        ({"x": [0.0, 1.0], "t": [0.0], "u": [1.0]}, "one common length"),
        ({"x": [[0.0]], "t": [[0.0]], "u": [[1.0]]}, "one common length"),
        ({"x": [], "t": [], "u": []}, "there is no point in it"),
        (
            {"x": [0.0], "t": [0.0], "u": [float("nan")]},
            "column u holds values that are not fin",
        ),
        ({"x": [0.0], "t": [0.0], "u": ["one"]}, "columns hold numbers only"),
        ({"x": [[0.0], [1.0, 2.0]], "t": [0.0], "u": [0.0]}, "columns hold numbers only"),
        ({"x": [0.0], "u": [1.0]}, "lacks the coordinate t"),
        ({"x": [0.0], "t": [1.0]}, "holds no field"),
    ],
)
def test_refused(columns, words):
    with pytest.raises(ProblemError, match=words):
        PointData(**columns).sites(PLANE, 1, draw)


@pytest.mark.parametrize("held", [lambda s: s * torch.ones(2), lambda s: [s, 2 * s]])
def test_measured_values_cannot_be_learned(runs, held):
    class Scaled(Problem):
        domain = Box(x=(0.0, 1.0))
        s = Coefficient(2.0, learn=True)

        def residual(self, u):
            return u.x - u

        def conditions(self):
            yield PointData(x=[0.0, 1.0], u=held(self.s))

    with pytest.raises(ProblemError, match="column u depends on a learned coefficient"):
        pinnsig.solve(Scaled, runs=runs, **SMALL)
    assert not runs.exists()


@pytest.mark.parametrize(
    "column",
    [["1.5"], [1 + 0j], np.array([1j]), [True], ["warm"], [None, "a"], [object()], [[1.0], [2, 3]]],
)
def test_columns_of_anything_but_real_numbers_are_refused_in_one_line(column):
    with pytest.raises(ProblemError, match="PointData") as caught:
        PointData(x=[0.0] * len(column), u=column)
    assert "\n" not in str(caught.value)


MEASURED: dict[str, Any] = {"x": [0.5, 0.5, 0.5], "u": [1.0, 0.9, 0.8]}


@pytest.mark.parametrize(
    ("t", "words"),
    [
        (
            [0.1, 1.5, 0.9],
            r"^PointData: 1 of 3 points lie outside the domain: t = 1\.5, where the domain",
        ),
        ([-3.0, 1.5, 0.9], r"2 of 3 .*: t = -3 to 1\.5, where the domain has 0 to 1; leave them"),
        ([100.0, 500.0, 900.0], r"3 of 3 .*\(a factor of 1000: is it in another unit\?\)"),
        ([6.0, 30.0, 54.0], r"\(a factor of 60: is it in another unit\?\)"),
        ([0.1, 1.0 + 1e-5, 0.2], "1 of 3 points"),
    ],
)
def test_points_outside_the_domain_are_refused(t, words):
    with pytest.raises(ProblemError, match=words) as caught:
        PointData(**MEASURED, t=t).sites(PLANE, 1, draw)
    assert "outside=True" in str(caught.value)
    if "factor" not in words:
        assert "factor" not in str(caught.value)


def test_points_on_the_border_may_be_rounded():
    assert len(PointData(**MEASURED, t=[0.0, 0.1 * 3 / 0.3, 1 + 1e-9]).sites(PLANE, 1, draw).points)


class Decay(Problem):
    """u' = -k u on (0, 1) with data at times in milliseconds."""

    domain = Box(t=(0.0, 1.0))
    outside = False

    def residual(self, u):
        return u.t + u

    def conditions(self):
        yield PointData(t=[100.0, 500.0], u=[0.9, 0.6], outside=self.outside)


class DecayOutside(Decay):
    outside = True


def test_a_run_with_points_outside(runs):
    with pytest.raises(ProblemError, match="2 of 2 points lie outside"):
        pinnsig.solve(Decay, runs=runs, **SMALL)
    assert not runs.exists()
    heard = []

    class Notices(pinnsig.Callback):
        def started(self, parts, path):
            heard.extend(parts.notices)

    found = pinnsig.solve(DecayOutside, runs=runs, callbacks=[Notices()], **SMALL)
    assert "data" in found.terms
    assert any("data: 2 of 2 points lie outside the domain: t = 100 to 500" in n for n in heard)


def test_outside_is_a_word_of_yes_or_no():
    with pytest.raises(ProblemError, match="outside='yes' must be True or False"):
        PointData(**MEASURED, t=[0.0, 0.0, 0.0], outside="yes")  # type: ignore[arg-type]


def test_own_conditions_outside_the_domain(runs):
    class Somewhere(Condition):
        group = "data"

        def __init__(self, points, extra=None, outside=False):
            super().__init__()
            self.points, self.extra, self.outside = points, extra or {}, outside

        def sites(self, domain, count, draw):
            return Sites(np.array(self.points), self.extra)

        def residual(self, fields, coordinates, extra):
            return {"u": fields["u"] - 1.0}

    def solving(*given, **named):
        class Case(Problem):
            domain = Decay.domain

            def residual(self, u):
                return u.t + u

            def conditions(self):
                yield Somewhere(*given, **named)

        return pinnsig.solve(Case, runs=runs, figures=False, **SMALL)

    for given, words in (
        ([[[0.5], [2.0]]], r"term 'data': 1 of 2 points lie outside the domain: t = 2, where"),
        ([[0.5, 0.6]], r"its points must have shape \(N, 1\), not \(2,\)"),
        ([[[float("nan")]]], "its points must be finite"),
        ([[[0.5]], {"weight": np.ones(3)}], r"its column 'weight' must have shape \(1,\)"),
    ):
        with pytest.raises(SamplingError, match=words):
            solving(*given)
    assert "data" in solving([[2.0]], outside=True).terms
