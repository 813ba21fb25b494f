"""The grids that fields are looked at on."""

import numpy as np
import pytest

from pinnsig.core.errors import ReportError
from pinnsig.problem import problem_class
from pinnsig.reports.solution import arranged, views
from pinnsig.run.building import build
from pinnsig.run.planes import planes
from pinnsig.run.settings import resolve


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("lorenz", {"": (("t",), None, [])}),
        ("burgers", {"": (("t", "x"), "t", [])}),
        ("black-scholes", {"": (("tau", "S"), "tau", [])}),
        ("poisson", {"": (("x", "y"), None, [])}),
        ("heat-2d", {"over t": (("x", "y"), "t", [])}),
        ("beltrami", {"over t": (("x", "y"), "t", ["z"]), "over z": (("x", "y"), "z", ["t"])}),
    ],
)
def test_what_spans_and_what_moves(name: str, found: dict):
    made = views(problem_class(name)())
    assert {key: (v.plane, v.slider, list(v.held)) for key, v in made.items()} == found
    for view in made.values():
        assert np.prod([len(axis) for axis in view.axes.values()]) <= 101 * 101 * 41


def test_frames_are_rows_upwards_and_columns_to_the_right():
    (view,) = views(problem_class("burgers")()).values()
    x, t = np.meshgrid(view.axes["x"], view.axes["t"], indexing="ij")
    (frame,) = arranged(x + 10 * t, view)
    assert frame.shape == (101, 41)
    assert (frame[0, 0], frame[-1, 0], frame[0, -1]) == (-1, 1, 9)
    view = views(problem_class("beltrami")())["over z"]
    mesh = dict(zip(view.axes, np.meshgrid(*view.axes.values(), indexing="ij"), strict=True))
    frames = arranged(mesh["x"] + 10 * mesh["y"] + 100 * mesh["z"], view)
    assert (frames[0, 0, 0], frames[0, 0, -1], frames[0, -1, 0]) == (-111, -109, -91)
    assert frames[-1, 0, 0] == 89


@pytest.mark.slow
def test_more_coordinates_than_an_array_has_dimensions():
    model = build(resolve({"problem": "poisson-100d", "depth": 1, "width": 4})).model
    assert planes(model, {}) == ({}, {})
    with pytest.raises(ReportError, match="100 coordinates are too many"):
        views(model.problem)
