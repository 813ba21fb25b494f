# arguments that are wrong on purpose
# pyright: reportArgumentType=false
import math

import numpy as np
import pytest
import torch

from pinnsig.core.errors import ProblemError
from pinnsig.derivatives.inputs import coordinate_jets
from pinnsig.geometry import Box, Cylinder, Disc, Domain, Face, Interval, NamedPart
from tests.geometry.shapes import drawer

CAR = Box(x=(-0.5, 0.5), y=(-0.2, 0.2)) - Disc(center=(0.2, 0.0), radius=0.1, name="hole")
DISC = Disc(radius=0.5, name="rim").moving(t=(0.0, 2.0), shift=lambda t: (torch.sin(t), 0.3 * t**2))
TURNING = CAR.moving(t=(0.0, 1.0), shift=lambda t: (t, 0.0), angle=lambda t: 3 * t)
GROWING = Disc(name="rim").moving(t=(0.0, 1.0), scale=lambda t: 1 + t)
SPUN = Cylinder(radius=0.2, height=(-1, 1)).moving(
    t=(0.0, 1.0), angle=lambda t: math.pi * t, axis=(1.0, 0.0, 0.0)
)
ALL: dict[str, Domain] = {"disc": DISC, "turning": TURNING, "growing": GROWING, "spun": SPUN}


def where(points: np.ndarray) -> np.ndarray:
    """The disc's centre."""
    t = points[:, 2]
    return np.column_stack([np.sin(t), 0.3 * t**2])


def test_a_disc_that_is_carried_along():
    assert DISC.names == ("x", "y", "t")
    np.testing.assert_allclose(DISC.lower, [-0.5, -0.5, 0.0])
    np.testing.assert_allclose(DISC.upper, [1.5, 1.7, 2.0], atol=1e-6)
    assert DISC.measure == pytest.approx(math.pi / 2)
    assert DISC.part_measure(NamedPart("rim")) == pytest.approx(2 * math.pi)
    assert DISC.parts("boundary") == (NamedPart("rim"),)
    assert DISC.parts("t-") == (Face("t", upper=False),)
    points = DISC.sample(4000, drawer("sobol"))
    radius = np.linalg.norm(points[:, :2] - where(points), axis=1)
    assert radius.max() <= 0.5
    np.testing.assert_allclose(np.histogram(radius**2, 5, (0, 0.25))[0], 800, atol=40)
    np.testing.assert_allclose(np.histogram(points[:, 2], 5, (0, 2))[0], 800, atol=2)
    points, normals = DISC.sample_part(NamedPart("rim"), 500, drawer())
    np.testing.assert_allclose(normals[:, :2], (points[:, :2] - where(points)) / 0.5, atol=1e-12)
    assert (normals[:, 2] == 0.0).all()
    points, normals = DISC.sample_part(Face("t", upper=True), 100, drawer())
    assert (points[:, 2] == 2.0).all()
    assert (normals == [0, 0, 1]).all()
    assert np.linalg.norm(points[:, :2] - where(points), axis=1).max() <= 0.5
    assert DISC.normal_names(DISC.parts("rim")) == ("x", "y")


def test_a_body_that_turns():
    ends = np.array([[0.5, 0.0, 0.0], [1.5, 0.0, 0.5], [0.5, 0.4, 0.5]])
    # at t = .5 the long axis has turned by 1.5: almost upright
    assert TURNING.contains(ends).tolist() == [True, False, True]
    points, normals = TURNING.sample_part(NamedPart("hole"), 300, drawer())
    t = points[:, 2]
    center = np.column_stack([t + 0.2 * np.cos(3 * t), 0.2 * np.sin(3 * t)])
    np.testing.assert_allclose(normals[:, :2], (center - points[:, :2]) / 0.1, atol=1e-9)
    (right,) = TURNING.parts("x+")
    points, normals = TURNING.sample_part(right, 300, drawer())
    t = points[:, 2]
    np.testing.assert_allclose(normals[:, :2], np.column_stack([np.cos(3 * t), np.sin(3 * t)]))
    reach = np.hypot(0.5, 0.2)
    assert TURNING.upper[1] == pytest.approx(reach, rel=0.03)
    assert TURNING.upper[1] >= reach * 0.995


def test_a_disc_that_grows():
    # the area is pi (1 + t)^2, the length 2 pi (1 + t)
    assert GROWING.measure == pytest.approx(math.pi * 7 / 3, rel=1e-6)
    assert GROWING.part_measure(NamedPart("rim")) == pytest.approx(3 * math.pi, rel=1e-6)
    assert GROWING.part_measure(Face("t", upper=True)) == pytest.approx(4 * math.pi)
    points = GROWING.sample(4000, drawer("sobol"))
    late = (points[:, 2] > 0.5).mean()
    assert late == pytest.approx((8 - 1.5**3) / 7, abs=5e-3)
    radius = np.linalg.norm(points[:, :2], axis=1) / (1 + points[:, 2])
    np.testing.assert_allclose(np.histogram(radius**2, 4, (0, 1))[0], 1000, atol=40)
    points, _ = GROWING.sample_part(NamedPart("rim"), 4000, drawer("sobol"))
    assert (points[:, 2] > 0.5).mean() == pytest.approx((4 - 2.25) / 3, abs=5e-3)
    np.testing.assert_allclose(np.linalg.norm(points[:, :2], axis=1), 1 + points[:, 2])


def test_a_body_that_turns_in_space():
    # a rod along z turns about x: after half a turn it is upside down, at t = .5 along y
    there = np.array([[0.0, 0.9, 0.0, 0.5], [0.0, 0.0, 0.9, 0.5], [0.0, 0.0, 0.9, 1.0]])
    assert SPUN.contains(there).tolist() == [True, False, True]
    (top,) = SPUN.parts("z+")
    points, normals = SPUN.sample_part(top, 200, drawer())
    angle = math.pi * points[:, 3]
    wanted = np.column_stack([0 * angle, -np.sin(angle), np.cos(angle), 0 * angle])
    np.testing.assert_allclose(normals, wanted, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_everything_fits_together(name):
    domain = ALL[name]
    points = domain.sample(1000, drawer())
    assert domain.contains(points).all()
    assert (points >= domain.lower - 1e-3).all()
    assert (points <= domain.upper + 1e-3).all()
    for part in domain.sides:
        on, normals = domain.sample_part(part, 200, drawer())
        assert np.abs(domain.distance(on)).max() < 1e-9
        assert (domain.distance(on + 1e-6 * normals) > 0).all()
        assert domain.approximate_distance(part)(columns(domain, on)).abs().max() < 1e-9
    formula = domain.approximate_distance()
    assert (formula(columns(domain, points)) > 0).all()
    inside = points[domain.distance(points) < -0.03][:50]
    jets = formula(coordinate_jets(domain.names, torch.from_numpy(inside)))
    step = np.eye(domain.dimensions)[-1] * 1e-5
    high, low = (formula(columns(domain, inside + s * step)).numpy() for s in (1, -1))
    np.testing.assert_allclose(jets.t.value.numpy(), (high - low) / 2e-5, atol=1e-6)


def columns(domain: Domain, points: np.ndarray) -> dict[str, torch.Tensor]:
    return dict(zip(domain.names, torch.from_numpy(points).unbind(1), strict=True))


def test_an_interval_may_move():
    domain = Interval(x=(0.0, 1.0)).moving(t=(0.0, 1.0), shift=lambda t: (t,))
    points, normals = domain.sample_part(Face("x", upper=True), 20, drawer())
    np.testing.assert_allclose(points[:, 0], 1 + points[:, 1])
    assert (normals == [1.0, 0.0]).all()
    assert domain.contains(np.array([[0.1, 0.0], [0.1, 1.0]])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Disc().moving(shift=lambda t: (t, t)), "one interval of time"),
        (lambda: Disc().moving(s=(0, 1)), "one interval of time, .* not s"),
        (lambda: Disc().moving(t=(1, 0)), r"moving: t = \(1, 0\) is empty"),
        (lambda: Disc().moving(t=(0, 1), shift=3), "shift=3 must be a function of time"),
        (lambda: Disc().moving(t=(0, 1), shift=lambda t: t), "shift must give a tuple of 2"),
        (lambda: Disc().moving(t=(0, 1), shift=lambda t: (t, "a")), "must give a number"),
        (lambda: Disc().moving(t=(0, 1), scale=lambda t: t), "scale must be above 0 at all times"),
        (lambda: Disc().moving(t=(0, 1), angle=lambda t: 1 / t), "angle must be finite"),
        (lambda: (Disc() * Interval(t=(0, 1))).moving(tau=(0, 1)), "has a time already"),
        (lambda: Interval(x=(0, 1)).moving(t=(0, 1), angle=lambda t: t), "turns two or three"),
        (lambda: Disc().moving(t=(0, 1), axis=(0, 0, 0)), "is no direction"),
    ],
)
def test_refused_in_words(make, words):
    with pytest.raises(ProblemError, match=words):
        make()
