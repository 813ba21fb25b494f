# arguments that are wrong on purpose
# pyright: reportArgumentType=false, reportOperatorIssue=false
import math

import numpy as np
import pytest

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import (
    Annulus,
    Ball,
    Box,
    Cylinder,
    Disc,
    Ellipse,
    Face,
    Interval,
    NamedPart,
    Polygon,
)
from pinnsig.geometry.parts import Flat
from tests.geometry.shapes import L_SHAPE, drawer

SQUARE = Box(x=(0.0, 1.0), y=(0.0, 1.0))
TIMES = Interval(t=(0.0, 2.0))


# --- what constructors refuse -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Disc(radius=0.0), r"Disc: radius = 0 cannot be: it must be above 0"),
        (lambda: Disc(radius="1"), r"Disc: radius = '1' cannot be"),
        (lambda: Disc(radius=math.nan), r"Disc: radius = nan cannot be"),
        (lambda: Disc(radius=True), r"Disc: radius = True cannot be"),
        (lambda: Disc(center=(0, 0, 0)), r"Disc: center = \(0, 0, 0\) must have 2 coordinates"),
        (lambda: Disc(center=3), r"Disc: center = 3 is no point"),
        (lambda: Disc(center=(0, math.inf)), r"Disc: center: all coordinates must be finite"),
        (lambda: Disc(names=("x",)), r"Disc: names=\('x',\) must be 2 coordinates"),
        (lambda: Disc(names=("x", "lambda")), r"coordinate name 'lambda' cannot be used"),
        (lambda: Disc(names="xy"), r"Disc: names='xy' must be 2 coordinates"),
        (lambda: Disc(name="boundary"), r"Disc: 'boundary' cannot be the name .* whole"),
        (lambda: Disc(name="x-"), r"Disc: 'x-' cannot be the name"),
        (lambda: Disc(name=3), r"Disc: 3 cannot be the name"),
        (lambda: Ball(center=(1.0,)), r"one coordinate is that of an Interval"),
        (lambda: Annulus(inner=1.0, outer=0.5), r"inner = 1 must be smaller than outer = 0.5"),
        (lambda: Annulus(inner=0.0, outer=0.5), r"inner = 0 cannot be: it must be above 0"),
        (lambda: Cylinder(height=(1, 0)), r"Cylinder: height = \(1, 0\) is empty"),
        (lambda: Cylinder(height=1), r"Cylinder: height = 1 is not a pair"),
        (lambda: Interval(x=(0, 1), y=(0, 1)), r"an interval has one coordinate, not x, y"),
        (lambda: Polygon([(0, 0), (1, 0)]), r"2 vertices make no polygon"),
        (lambda: Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), r"edges 0 .* and 2 .* meet"),
        (lambda: Polygon([(0, 0), (2, 0), (1, 0), (1, 1)]), r"edges .* meet"),
        (lambda: Polygon([(0, 0), (2, 0), (2, 2), (1, 0)]), r"edges .* meet"),
        (lambda: Polygon([(0, 0), (0, 0), (1, 0), (1, 1)]), r"\(0, 0\) stands twice in a row"),
        (lambda: Polygon([(0, 0), (1, 0), (1, "a")]), r"holds more than numbers"),
        (lambda: Polygon([0, 1, 2]), r"must have shape \(N, 2\), not \(3,\)"),
        (lambda: Polygon(L_SHAPE, edges=("a", "b")), r"must name all of its 6 edges"),
        (lambda: Polygon(L_SHAPE, edges={6: "a"}), r"edges names edge 6 of 0 to 5"),
        (lambda: Ellipse(radii=(1, -2)), r"Ellipse: radii = -2 cannot be"),
        (lambda: Ellipse(radii=(1, 2, 3)), r"Ellipse: radii = .* must have 2 coordinates"),
        (lambda: Ellipse(angle="a"), r"Ellipse: angle = 'a' cannot be"),
        (lambda: SQUARE - Disc(names=("y", "x")), r"has the coordinates x, y, .* has y, x"),
        (lambda: Disc() - Disc(radius=2.0), r"Disc\(.*\) - .* is empty"),
        (lambda: Disc() & Disc(center=(3, 0)), r"Disc\(.*\) & .* is empty"),
        (lambda: Disc() & Disc(center=(1.9, 1.9)), r"is empty"),
        (lambda: Disc() | "a", r"'a' is no domain"),
        (lambda: Disc() * 2, r"2 is no domain"),
        (lambda: Disc() * Box(x=(0, 1)), r"both have the coordinate x"),
        (lambda: Interval(x=(0, 2)) - Interval(x=(0, 1)), r"intervals are not combined"),
    ],
)  # fmt: skip
def test_refused_in_words(make, words):
    with pytest.raises(ProblemError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


# --- names of parts ---------------------------------------------------------------------------


def test_parts_have_names():
    domain = (
        SQUARE
        - Disc(center=(0.3, 0.5), radius=0.1, name="hole")
        - Disc(center=(0.7, 0.5), radius=0.1, name="hole")
    )
    assert domain.parts("hole") == (NamedPart("hole"),)
    assert domain.parts(("x-", "hole")) == (Face("x", upper=False), NamedPart("hole"))
    assert set(domain.parts("boundary")) == {NamedPart("hole"), *SQUARE.all_parts}
    assert domain.part_measure(NamedPart("hole")) == pytest.approx(0.4 * math.pi, rel=1e-6)
    points, normals = domain.sample_part(NamedPart("hole"), 400, drawer())
    assert (points[:, 0] < 0.5).mean() == pytest.approx(0.5, abs=0.1)  # both holes
    centers = np.where(points[:, :1] < 0.5, [[0.3, 0.5]], [[0.7, 0.5]])
    np.testing.assert_allclose(normals, (centers - points) / 0.1, atol=1e-9)  # out of the domain
    with pytest.raises(ProblemError, match=r"on='hols' names no part .*: did you mean hole\?"):
        domain.parts("hols")
    with pytest.raises(ProblemError, match="names no part of the boundary: write 'boundary'"):
        Disc().parts("hole")


def test_a_part_that_a_combination_takes_away_is_gone():
    domain = (SQUARE - Disc(center=(0.5, 0.5), radius=0.1, name="small")) - Disc(
        center=(0.5, 0.5), radius=0.2, name="large"
    )
    assert domain.parts("large") == (NamedPart("large"),)
    with pytest.raises(ProblemError, match="on='small' names no part"):
        domain.parts("small")


def test_edges_have_names():
    polygon = Polygon(L_SHAPE, edges={0: "floor", 5: "inlet"}, name="wall")
    assert polygon.parts("inlet") == (NamedPart("inlet"),)
    sizes = [polygon.part_measure(NamedPart(name)) for name in ("floor", "inlet", "wall")]
    assert sizes == [2.0, 2.0, 4.0]
    points, normals = polygon.sample_part(NamedPart("inlet"), 20, drawer())
    assert (points[:, 0] == 0.0).all()
    assert (normals == [-1.0, 0.0]).all()
    backwards = Polygon(L_SHAPE[::-1], edges=[None] * 3 + ["right", None, None])
    points, normals = backwards.sample_part(NamedPart("right"), 20, drawer())
    assert (points[:, 0] == 2.0).all()
    assert (normals == [1.0, 0.0]).all()


def test_predicates_of_shapes():
    disc = Disc()
    points, normals = disc.sample_part(disc.parts(lambda x: x > 0.5)[0], 500, drawer("sobol"))
    assert (points[:, 0] > 0.5).all()
    assert len(points) == 500
    np.testing.assert_allclose(points, normals)
    (part,) = disc.parts(lambda x: x > 0.5)
    assert disc.part_measure(part) == pytest.approx(2 * math.pi / 3, rel=2e-3)
    (nowhere,) = disc.parts(lambda x: x > 2)
    with pytest.raises(ProblemError, match="0 of .* points fall where on=<lambda> holds"):
        disc.sample_part(nowhere, 10, drawer())
    interval = Interval(x=(0.0, 1.0))
    points, normals = interval.sample_part(interval.parts(lambda x: x > 0)[0], 10, drawer())
    assert (points.tolist(), normals.tolist()) == ([[1.0]], [[1.0]])
    with pytest.raises(ProblemError, match="holds at no end"):
        interval.sample_part(nowhere, 10, drawer())


@pytest.mark.parametrize("sampler", ["grid", "lhs"])
def test_predicates_of_a_box_on_every_sampler(sampler):
    (part,) = SQUARE.parts(lambda x, y: x + y > 1.5)
    points, _ = SQUARE.sample_part(part, 60, drawer(sampler))
    assert len(np.unique(points, axis=0)) == len(points)
    assert len(points) == 60 if sampler == "lhs" else 40 < len(points) <= 60
    assert (points.sum(axis=1) > 1.5).all()
    assert set(np.flatnonzero((points == 1.0).any(axis=0))) == {0, 1}


# --- other dimensions and coordinates ---------------------------------------------------------


def test_names_of_coordinates():
    assert Disc(names=("r1", "r2")).names == ("r1", "r2")
    assert Ball().names == ("x", "y", "z")
    assert Ball(center=(0.0,) * 5).names == ("x1", "x2", "x3", "x4", "x5")
    assert Cylinder(height=(0, 1), names=("y", "z", "x")).names == ("y", "z", "x")
    assert (Disc(names=("a", "b")) - Disc(radius=0.5, names=("a", "b"))).names == ("a", "b")


@pytest.mark.parametrize("n", [2, 3, 4, 7, 20])
def test_balls_of_many_dimensions(n):
    ball = Ball(center=(0.0,) * n, radius=2.0)
    volume = {2: 12.566370614, 3: 33.510321638, 4: 78.956835209, 7: 2048 * math.pi**3 / 105}
    if n in volume:  # 2^n pi^(n/2) / Gamma(n/2 + 1)
        assert ball.measure == pytest.approx(volume[n], rel=1e-9)
        assert ball.part_measure(ball.sides[0]) == pytest.approx(n * volume[n] / 2, rel=1e-9)
    points = ball.sample(20_000, drawer())
    radius = np.linalg.norm(points, axis=1) / 2.0
    grid = np.linspace(0.0, 1.0, 11) ** (1 / n)  # of P(R < r) = r^n
    np.testing.assert_allclose(np.histogram(radius, grid)[0] / 20_000, 0.1, atol=0.01)
    # E x_i x_j = delta_ij R^2 / (n + 2) inside, R^2 / n on the sphere
    second = points.T @ points / len(points) * (n + 2) / 4.0
    np.testing.assert_allclose(second, np.eye(n), atol=0.06)
    points, normals = ball.sample_part(ball.sides[0], 20_000, drawer())
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 2.0)
    np.testing.assert_allclose(points, 2.0 * normals)
    np.testing.assert_allclose(points.T @ points / len(points) * n / 4.0, np.eye(n), atol=0.06)
    # E x_i^4 = 3 R^4 / (n (n + 2)) on the sphere
    np.testing.assert_allclose((points**4).mean(axis=0) * n * (n + 2) / 48.0, 1.0, atol=0.12)


# --- products ---------------------------------------------------------------------------------


def test_product_with_time():
    domain = Disc(center=(1.0, 0.0), name="rim") * TIMES
    assert domain.names == ("x", "y", "t")
    assert domain.time == "t"
    assert domain.parts("t-") == (Face("t", upper=False),)
    assert domain.parts("boundary") == (NamedPart("rim"),)
    assert domain.measure == pytest.approx(2 * math.pi)
    assert domain.part_measure(NamedPart("rim")) == pytest.approx(4 * math.pi)
    assert domain.part_measure(Face("t", upper=True)) == pytest.approx(math.pi)
    start, normals = domain.sample_part(Face("t", upper=False), 200, drawer("sobol"))
    assert (start[:, 2] == 0.0).all()
    assert (normals == [0.0, 0.0, -1.0]).all()
    assert np.linalg.norm(start[:, :2] - [1.0, 0.0], axis=1).max() <= 1.0
    wall, normals = domain.sample_part(NamedPart("rim"), 200, drawer("sobol"))
    np.testing.assert_allclose(
        normals, np.column_stack([wall[:, 0] - 1, wall[:, 1], 0 * wall[:, 2]])
    )
    assert np.histogram(wall[:, 2], 4, (0.0, 2.0))[0].tolist() == [50] * 4
    assert domain.normal_names(domain.parts("rim")) == ("x", "y")
    assert domain.normal_names(domain.parts("t+")) == ("t",)
    assert domain.normal_names(domain.parts(lambda x: x > 0)) == ("x", "y")
    assert domain.contains(np.array([[1.0, 0.5, 2.0], [1.0, 0.5, 2.1], [1.0, 1.5, 1.0]])).tolist() \
        == [True, False, False]  # fmt: skip


def test_product_of_boxes_is_a_box():
    box = Interval(x=(0, 1)) * Interval(t=(0, 2))
    assert isinstance(box, Box)
    assert repr(box) == "Box(x=(0, 1), t=(0, 2))"


def test_parts_of_a_cylinder():
    domain = Cylinder(radius=2.0, height=(0.0, 3.0))
    assert [str(part) for part in domain.sides] == ["side", "z-", "z+"]
    assert domain.part_measure(NamedPart("side")) == pytest.approx(12 * math.pi)
    assert domain.part_measure(Face("z", upper=True)) == pytest.approx(4 * math.pi)


def test_combinations_of_products_and_products_of_combinations_agree():
    hole = Disc(center=(0.5, 0.5), radius=0.2, name="hole")
    first = (SQUARE - hole) * TIMES
    second = SQUARE * TIMES - hole * TIMES
    assert first.measure == pytest.approx(second.measure, rel=1e-3)
    assert {str(part) for part in second.all_parts} == {str(part) for part in first.all_parts}
    for part in first.all_parts:
        assert first.part_measure(part) == pytest.approx(second.part_measure(part), rel=2e-3)
        points, _ = second.sample_part(part, 100, drawer())
        assert np.abs(first.distance(points)).max() < 1e-12
    points = second.sample(100, drawer())
    np.testing.assert_allclose(first.distance(points), second.distance(points), atol=1e-12)


def test_products_of_things_of_one_name():
    domain = Disc() * Disc(radius=2.0, names=("a", "b"))
    (part,) = domain.parts("boundary")
    # the first circle times the second disc, and the other way round
    assert domain.part_measure(part) == pytest.approx(2 * math.pi * 4 * math.pi * 1.5)
    points, normals = domain.sample_part(part, 9000, drawer())
    first = np.abs(np.linalg.norm(points[:, :2], axis=1) - 1.0) < 1e-12
    assert first.mean() == pytest.approx(2 / 3, abs=0.02)
    np.testing.assert_allclose(normals[first, :2], points[first, :2])
    np.testing.assert_allclose(normals[~first, 2:], points[~first, 2:] / 2.0)


# --- outside ----------------------------------------------------------------------------------


def test_points_outside_of_a_shape_are_told():
    points = np.array([[0.0, 0.0], [0.9, 0.9], [0.5, 0.5]])
    assert Disc().describe_outside(points) == (
        "1 of 3 points lie outside the domain: such as x = 0.9, y = 0.9"
    )
    assert Disc().contains(np.array([[1.0 + 1e-9, 0.0], [1.0 + 1e-5, 0.0]])).tolist() == [
        True,
        False,
    ]


def test_shares_are_by_lengths():
    domain = Annulus(inner=1.0, outer=3.0)
    assert domain.shares(domain.sides, 400) == [100, 300]
    assert domain.shares(domain.sides, 2) == [1, 1]


def test_faces_of_boxes_in_combinations():
    union = Box(x=(0.0, 2.0), y=(0.0, 1.0)) | Box(x=(0.0, 1.0), y=(0.5, 2.0))
    lower, upper = (union.parts(on) for on in ("x-", "x+"))
    assert lower == (Face("x", upper=False),)
    assert upper == (Face("x", upper=True), Flat(Face("x", upper=True)))
    for part, at in zip(upper, (2.0, 1.0), strict=True):
        points, normals = union.sample_part(part, 50, drawer())
        assert (points[:, 0] == at).all()
        assert (normals == [1.0, 0.0]).all()
        assert union.part_measure(part) == pytest.approx(1.0, rel=1e-3)
    inner = Box(x=(0.2, 0.6), y=(0.3, 0.8))
    frame = SQUARE - inner
    assert frame.parts("x-") == (Face("x", upper=False),)
    assert frame.part_measure(NamedPart("")) == pytest.approx(1.8, rel=1e-3)
    named = SQUARE * TIMES - (inner * TIMES).called("hole")
    assert [str(part) for part in named.sides] == ["x-", "x+", "y-", "y+", "hole"]
    assert named.part_measure(NamedPart("hole")) == pytest.approx(3.6, rel=1e-3)
    points, normals = named.sample_part(NamedPart("hole"), 100, drawer())
    right = points[:, 0] == 0.6
    assert right.any()
    assert (normals[right] == [-1.0, 0.0, 0.0]).all()  # into the hole
    assert inner.called("hole").parts("boundary") == (NamedPart("hole"),)
