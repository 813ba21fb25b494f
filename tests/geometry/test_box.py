import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pinnsig.core.errors import ProblemError
from pinnsig.problem import Box, Face

PLANE = Box(x=(-1.0, 1.0), t=(0.0, 2.0))
ends = st.floats(-1e9, 1e9)


def test_names_intervals_and_time():
    assert PLANE.names == ("x", "t")
    assert PLANE.dimensions == 2
    assert PLANE.interval("t") == (0.0, 2.0)
    assert repr(PLANE) == "Box(x=(-1, 1), t=(0, 2))"
    assert [Box(x=(0, 1), **{name: (0, 1)}).time for name in ("t", "tau", "time", "y")] == [
        "t",
        "tau",
        "time",
        None,
    ]


@pytest.mark.parametrize(
    ("intervals", "words"),
    [
        ({}, "at least one coordinate"),
        ({"x": (1.0, 1.0)}, "lower < upper"),
        ({"x": (0.0, float("inf"))}, "finite ends"),
        ({"x": (float("nan"), 1.0)}, "finite ends"),
        ({"x": 3.0}, "not a pair"),
        ({"x": (0, 1, 2)}, "not a pair"),
        ({"x": ("0", "1")}, "not a pair"),
        ({"lambda": (0, 1)}, "cannot be used"),
        ({"_x": (0, 1)}, "cannot be used"),
    ],
)
def test_refuses_what_is_no_box(intervals, words):
    with pytest.raises(ProblemError, match=words):
        Box(**intervals)


@pytest.mark.parametrize(
    ("on", "faces"),
    [
        ("x", [("x", False), ("x", True)]),
        ("x-", [("x", False)]),
        ("t+", [("t", True)]),
        (("x-", "t+"), [("x", False), ("t", True)]),
        (["x", "t-"], [("x", False), ("x", True), ("t", False)]),
    ],
)
def test_faces(on, faces):
    assert PLANE.parts(on) == tuple(Face(*face) for face in faces)


@pytest.mark.parametrize("on", ["y", "x*", "", ("x", "z-")])
def test_faces_of_no_coordinate(on):
    with pytest.raises(ProblemError, match=r"names no coordinate of the domain: it has x, t"):
        PLANE.parts(on)


@example(low=3.0, high=3.0, unit=list(np.linspace(0, 1, 101)))  # a box one rounding wide
@given(low=ends, high=ends, unit=st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_points_stay_in_the_box_and_ends_are_exact(low, high, unit):
    low, high = min(low, high), max(low, high)
    if low == high:
        high = np.nextafter(low, np.inf)
    box = Box(x=(low, high), t=(0.0, 1.0))
    points = box.place(np.stack([unit, unit], axis=1))
    assert points.dtype == np.float64
    assert box.contains(points).all()
    for face in box.parts(("x", "t")):
        assert isinstance(face, Face)
        on_face = box.place(np.array(unit)[:, None], face)
        column = on_face[:, box.names.index(face.coordinate)]
        assert (column == box.interval(face.coordinate)[face.upper]).all()
        assert box.contains(on_face).all()


def test_contains():
    points = np.array([[0.0, 1.0], [1.0, 2.0], [1.1, 1.0], [0.0, np.nan]])
    assert PLANE.contains(points).tolist() == [True, True, False, False]


def test_steps_that_numbers_can_tell_apart():
    far = Box(t=(1.7e9, 1.7e9 + 10), x=(0.0, 1.0), y=(1000.0, 1001.0), z=(0.0, 1e39))
    steps = far.steps(np.dtype(np.float32))
    assert steps["t"] == 0.0  # both ends are one number
    assert steps["x"] == 2**23
    assert steps["y"] == 2**14
    assert steps["z"] == 0.0  # beyond the largest number
    assert far.steps(np.dtype(np.float64))["t"] == pytest.approx(10 / 2**-22)


def test_points_outside_are_counted_and_placed():
    points = np.array([[0.0, 1.0], [1.5, 1.0], [0.0, -3.0], [2.0, 5.0]])
    assert PLANE.describe_outside(points[:1]) is None
    assert PLANE.describe_outside(points) == (
        "3 of 4 points lie outside the domain: x = 1.5 to 2, where the domain has -1 to 1; "
        "t = -3 to 5, where the domain has 0 to 2"
    )
