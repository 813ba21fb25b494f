"""Points of one's own: for conditions, and for the residual."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.core.errors import PinnsigError
from pinnsig.problem import Box, Dirichlet, Disc, Initial, Neumann, On, Problem, Robin
from pinnsig.run.directory import RunDirectory
from pinnsig.run.points import Drawn
from pinnsig.sampling import Counts, draw_sites
from tests.conftest import SMALL


class Plane(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 2.0))

    def residual(self, u):
        return u.t - u.xx


def sites_of(condition: Any, kind: type[Problem] = Plane, draw_number: int = 0) -> Any:
    made = type("Case", (kind,), {"conditions": lambda self: [condition]})()
    drawn = draw_sites(made, Counts(3, 8, 8), "lhs", 0, draw_number)
    return next(sites for name, sites in drawn.items() if name != "residual")


POINTS = [[0.0, 0.5], [1.0, 1.5], [0.0, 2.0]]


@pytest.mark.parametrize(
    "table",
    [POINTS, np.array(POINTS), torch.tensor(POINTS), {"t": [0.5, 1.5, 2.0], "x": [0.0, 1.0, 0.0]}],
)
@pytest.mark.parametrize("draw_number", [0, 1])
def test_arrays_and_dicts_of_points(table, draw_number):
    found = sites_of(Dirichlet(points=table, u=0.0), draw_number=draw_number)
    assert found.points.tolist() == POINTS
    assert found.extra == {}


def test_files_with_normals_and_weights(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,t,normal_x,weights,note\n0,0.5,-1,2,a\n1,1.5,1,3,b\n", "utf-8")
    found = sites_of(Neumann(points=path, u=0.0))
    assert found.extra["normal_x"].tolist() == [-1.0, 1.0]
    assert found.extra["weights of points"].tolist() == [2.0, 3.0]
    beside = sites_of(Robin(points=path, normals={"x": [1, 1]}, weights=5, a=1.0, b=1.0, u=0.0))
    assert beside.extra["normal_x"].tolist() == [1.0, 1.0]
    assert beside.extra["weights of points"].tolist() == [5.0, 5.0]
    everything = sites_of(On(points=path, residual=lambda u, normal_t: u * normal_t))
    assert everything.extra["normal_t"].tolist() == [0.0, 0.0]


def test_normals_of_the_faces_that_points_lie_on():
    found = sites_of(Neumann("x", points=POINTS, u=0.0))
    assert found.extra["normal_x"].tolist() == [-1.0, 1.0, -1.0]
    start = sites_of(Initial(points=[[0.25, 0.0]], u=0.0))
    assert start.points.tolist() == [[0.25, 0.0]]


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (lambda: Dirichlet(u=0.0), "names no boundary"),
        (lambda: Dirichlet(points=[[0.0, 3.0]], u=0.0), "1 of 1 points lie outside"),
        (lambda: Dirichlet(points=[[0.0, math.nan], [0, 0]], u=0.0), "must be finite: row 0"),
        (lambda: Dirichlet(points=[0.0, 1.0], u=0.0), r"must have shape \(N, 2\), .*, not \(2,\)"),
        (lambda: Dirichlet(points={"x": [0.0]}, u=0.0), "points lack the coordinate t"),
        (lambda: Dirichlet(points={"x": [0.0], "t": [0, 1]}, u=0.0), "need one common length"),
        (lambda: Dirichlet(points={"x": [], "t": []}, u=0.0), "there is no point in it"),
        (lambda: Dirichlet("x+", points=POINTS, u=0.0), r"2 of 3 points do not lie .* rows 0, 2"),
        (lambda: Initial(points=[[0.5, 0.1]], u=0.0), "1 of 1 points do not lie on its faces"),
        (lambda: Dirichlet("x", weights=[1.0], u=0.0), "belong to points of one's own"),
        (lambda: Dirichlet(points=POINTS, weights=[1, 2], u=0.0), "must be one number or 3"),
        (lambda: Dirichlet(points=POINTS, weights=[1, -2, 0], u=0.0), "negative: -2 in row 1"),
        (lambda: Dirichlet(points=POINTS, hard=True, u=0.0), "hard=True needs no points"),
        (lambda: Neumann(points=POINTS, u=0.0), "need their outward normals"),
        (lambda: Neumann(points=POINTS, normals=[[1, 0]], u=0.0), "1 normals for 3 points"),
        (lambda: Neumann(points=POINTS, normals={"z": [1.0] * 3}, u=0.0), "along 'z'"),
        (lambda: Neumann(points=POINTS, normals={"x": [1, 2, 1]}, u=0.0),
         r"must have length 1: row 1 \(counted from 0\), the first of length 2"),
    ],
)  # fmt: skip
def test_refused_in_one_line(condition, words):
    with pytest.raises(PinnsigError, match=words) as caught:
        sites_of(condition())
    assert "\n" not in str(caught.value)


def test_weights_weigh_and_redrawing_leaves_points_alone(runs):
    """u = x exactly, asked to be 0 at x = 0 and 1: squares 0 and 1, weighted 1 and 3."""

    class Case(Plane):
        def ansatz(self, n, x, t):
            return x + 0.0 * n

        def conditions(self):
            yield Dirichlet(points=[[0.0, 0.5], [1.0, 0.5]], weights=[1.0, 3.0], u=0.0)
            yield Dirichlet("x+", u=0.0, name="drawn")

    found = pinnsig.solve(
        Case, runs=runs, figures=False, depth=2, width=4, collocation=20, initial=0, boundary=6,
        phases=["adam:4,every=1"],
    )  # fmt: skip
    assert found.terms["boundary"] == pytest.approx((0 + 3) / 2)
    assert found.terms["drawn"] == pytest.approx(1.0)
    assert found.independent["terms"]["boundary"]["ratio"] == pytest.approx(1.0, rel=1e-5)


class OwnInside(Problem):
    """u'' = -sin x at points of one's own, from u = 0 at both ends of (0, pi): u = sin x."""

    domain = Box(x=(0.0, math.pi))

    def residual(self, u, x):
        return u.xx + torch.sin(x)

    def conditions(self):
        yield Dirichlet(points=[[0.0], [math.pi]], weights=2.0, u=0.0)

    def collocation_points(self):
        return np.linspace(0.05, 3.1, 37)

    def solution(self, x):
        return torch.sin(x)


def test_collocation_points_of_ones_own(runs):
    heard = []

    class Notices(pinnsig.Callback):
        def started(self, parts, path):
            heard.extend(parts.notices)

    found = pinnsig.solve(
        OwnInside, runs=runs, figures=False, depth=2, width=10, collocation=500, initial=0,
        boundary=0, dtype="float64", phases=["lm:15", "lm:15,points=rad,every=5"],
        callbacks=[Notices()],
    )  # fmt: skip
    assert found.relative_l2 < 1e-4
    assert any("the collocation points are the problem's own" in line for line in heard)
    kept = Drawn.load(RunDirectory(found.path))
    assert kept is not None
    np.testing.assert_array_equal(kept.sites["residual"].points[:, 0], np.linspace(0.05, 3.1, 37))
    # judged at others
    assert found.independent["points"] > 500
    assert found.independent["terms"]["residual"]["ratio"] != 1.0


def test_collocation_points_outside_are_refused(runs):
    class Case(OwnInside):
        collocation_points = {"x": [0.1, 4.0]}  # noqa: RUF012  # type: ignore[assignment]

    with pytest.raises(PinnsigError, match=r"Case.collocation_points: 1 of 2 points lie outside"):
        pinnsig.solve(Case, runs=runs, **SMALL)


def test_points_on_a_shape_with_their_normals():
    class Round(Problem):
        domain = Disc(radius=2.0)

        def residual(self, u):
            return u.xx + u.yy

    angle = np.linspace(0, 6, 7)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    found = sites_of(Neumann(points=2 * around, normals=around, u=0.0), Round)
    np.testing.assert_allclose(found.extra["normal_y"], np.sin(angle), atol=1e-15)
