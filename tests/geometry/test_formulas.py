"""Smooth distances vanish where they should, are positive elsewhere, and have slope 1."""

import numpy as np
import pytest
import torch

from pinnsig.core.errors import ProblemError
from pinnsig.derivatives.inputs import coordinate_jets
from pinnsig.geometry import Box, Disc, Domain, Interval, Polygon
from pinnsig.geometry.parts import Flat
from tests.geometry.shapes import ALL, L_SHAPE, SQUARE, drawer

NAMED = Polygon(L_SHAPE, edges={0: "floor", 2: "step"})
TRIANGLE = Polygon([(0.1, 0.1), (0.9, 0.2), (0.3, 0.8)], names=("x", "y"))
MORE: dict[str, Domain] = {
    **ALL,
    "square": SQUARE,
    "named": NAMED,
    "in time": (SQUARE - Disc(center=(0.4, 0.5), radius=0.25, name="hole")) * Interval(t=(0, 2)),
    "box hole": SQUARE - Box(x=(0.3, 0.6), y=(0.4, 0.8)).called("hole"),
    "polygon hole": SQUARE - TRIANGLE,
    "deep": (SQUARE - TRIANGLE) | Disc(center=(1.0, 1.0), radius=0.3),
    "inverse": Disc(radius=1.0) - (Disc(radius=0.5) - Box(x=(0.0, 1.0), y=(-1.0, 1.0))),
    "corner": Disc(radius=0.8) & (Box(x=(0, 1), y=(0, 1)) | Box(x=(-1, 0), y=(-1, 1))),
}
COINCIDENT = ("L of boxes",)
"""Where faces of both lie on each other, each one counts, and slopes are smaller."""


def at(domain: Domain, points: np.ndarray) -> dict[str, torch.Tensor]:
    return dict(zip(domain.names, torch.from_numpy(points).unbind(1), strict=True))


def nearest(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - others[None], axis=2).min(axis=1)


@pytest.mark.parametrize("name", MORE)
def test_each_part(name):
    domain = MORE[name]
    inside = domain.sample(500, drawer("sobol"))
    on = {part: domain.sample_part(part, 400, drawer("sobol")) for part in domain.all_parts}
    for part, (points, normals) in on.items():
        formula = domain.approximate_distance(part)
        assert formula(at(domain, points)).abs().max() < 1e-9
        assert (formula(at(domain, inside)) > 0).all()
        elsewhere = [p for other, (p, _) in on.items() if other != part]
        far = np.concatenate(elsewhere) if elsewhere else inside
        away = far[nearest(far, points) > 0.15 * domain.size]
        assert (formula(at(domain, away)) > 1e-4).all()
        step = 1e-6
        good = np.abs(formula(at(domain, points - step * normals)).numpy() / step - 1.0) < 2e-3
        if name not in COINCIDENT:
            least = 1.0 if name in ("disc", "annulus", "ball", "square", "hole", "in time") else 0.8
            assert good.mean() >= least  # but where pieces meet


@pytest.mark.parametrize("name", MORE)
def test_the_whole_boundary(name):
    domain = MORE[name]
    formula = domain.approximate_distance()
    found = formula(at(domain, domain.sample(500, drawer("sobol"))))
    assert (found > 0).all()
    assert (found < domain.size).all()
    for part in domain.sides:
        assert formula(at(domain, domain.sample_part(part, 100, drawer())[0])).abs().max() < 1e-9


@pytest.mark.parametrize("name", MORE)
def test_the_sign_tells_inside_from_outside(name):
    domain = MORE[name]
    generator = np.random.default_rng(0)
    room = 0.2 * (domain.upper - domain.lower)
    points = generator.uniform(domain.lower - room, domain.upper + room, (2000, domain.dimensions))
    found = domain.signed_formula()(at(domain, points)).numpy()
    assert ((found > 0) == domain.inside(points)).all()


@pytest.mark.parametrize("name", MORE)
def test_jets_follow(name):
    domain = MORE[name]
    points = domain.sample(200, drawer("sobol"))
    points = points[domain.distance(points) < -0.02]
    formula = domain.approximate_distance()
    jets = coordinate_jets(domain.names, torch.from_numpy(points))
    found, step = formula(jets), 1e-4
    near = formula(at(domain, points)).numpy()
    np.testing.assert_allclose(found.value, near, rtol=1e-12)
    for i, x in enumerate(domain.names):
        shift = step * np.eye(domain.dimensions)[i]
        high, low = (formula(at(domain, points + s * shift)).numpy() for s in (1, -1))
        slope, bend = (getattr(found, x * k).value.numpy() for k in (1, 2))
        np.testing.assert_allclose(slope, (high - low) / (2 * step), atol=2e-5)
        np.testing.assert_allclose(bend, (high - 2 * near + low) / step**2, rtol=1e-3, atol=1e-2)


def test_closed_forms():
    disc = Disc(center=(1.0, 0.0), radius=2.0)
    found = disc.approximate_distance()({"x": torch.tensor([2.0]), "y": torch.tensor([1.0])})
    assert found.item() == pytest.approx((4 - 2) / 4)
    interval = Interval(x=(1.0, 3.0)).approximate_distance()
    assert interval({"x": torch.tensor([1.5])}).item() == pytest.approx(0.5 * 1.5 / 2)


def test_corners_are_finite():
    for domain in (SQUARE, NAMED, MORE["box hole"]):
        corner = coordinate_jets(("x", "y"), torch.zeros(1, 2, dtype=torch.float64))
        for part in (None, *domain.all_parts):
            assert domain.approximate_distance(part)(corner).value.isfinite().all()


def test_parts_by_predicates_are_refused():
    (part,) = SQUARE.parts(lambda x: x > 0.5)
    with pytest.raises(ProblemError, match="on=<lambda>: a predicate has no formula"):
        SQUARE.approximate_distance(part)


def test_an_inner_face_of_a_union():
    union = MORE["L of boxes"]
    (part,) = [p for p in union.all_parts if isinstance(p, Flat) and str(p) == "x+"]
    formula = union.approximate_distance(part)
    points = np.array([[1.0, 1.5], [1.0, 0.5], [0.5, 1.5]])
    found = formula(at(union, points)).numpy()
    assert found[0] == pytest.approx(0.0, abs=1e-12)
    assert found[1] > 0.2  # on the face's plane, inside the other box
    assert found[2] == pytest.approx(0.5, abs=0.1)
