import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.errors import ProblemError
from pinnsig.problem import Box, Coefficient, PointData, Problem
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
