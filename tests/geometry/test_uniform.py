"""Points are uniform inside and on boundaries, for every shape and sampler.

What is expected in each cell of a coarse grid comes from the distance alone: inside from its sign
on a fine grid, on the boundary from the volume of a thin shell about it.
"""

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy.special import ellipe
from scipy.stats import chi2

from tests.geometry.shapes import ALL, PLANE, bins, boundary, cells, drawer

SAMPLERS = ["uniform", "lhs", "sobol", "halton", "grid"]


@lru_cache
def distances(name: str):
    domain = ALL[name]
    points, size = cells(domain, 500 if name in PLANE else 100)
    return points, domain.distance(points), size


@lru_cache
def expected_inside(name: str):
    points, found, _ = distances(name)
    return bins(ALL[name], points[found < 0]) / (found < 0).sum()


@lru_cache
def expected_on(name: str):
    domain = ALL[name]
    points, found, _ = distances(name)
    shell = 0.01 * float((domain.upper - domain.lower).max()) * (1 if name in PLANE else 2)
    # the inner half alone, which lies within the box around it
    near = (found < 0) & (found > -shell)
    return bins(domain, points[near]) / near.sum()


def chi_square(observed: np.ndarray, shares: np.ndarray, slack: float) -> tuple[float, float]:
    """The statistic, less what errors of `slack` in the shares explain, and its 0.9999 quantile."""
    total = observed.sum()
    assert observed[shares == 0].sum() <= slack * total
    used = shares * total > 5
    wanted = shares[used] * total
    off = np.maximum(np.abs(observed[used] - wanted) - slack * total, 0.0)
    return float((off**2 / wanted).sum()), float(chi2.ppf(0.9999, used.sum() - 1))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", ALL)
def test_inside(name, sampler):
    domain = ALL[name]
    points = domain.sample(4000, drawer(sampler))
    assert len(points) == 4000 or (sampler == "grid" and 2500 < len(points) < 4000)
    assert domain.contains(points).all()
    value, most = chi_square(bins(domain, points), expected_inside(name), 5e-4)
    assert value < (most if sampler != "grid" else 2 * most)
    if sampler == "sobol" and name in ("disc", "ellipse", "annulus", "L", "star", "ball"):
        assert value < most / 8  # spread better than at random, by maps that keep neighbours


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", ALL)
def test_on_the_boundary(name, sampler):
    domain = ALL[name]
    points, normals = boundary(domain, 3000, sampler)
    assert len(points) >= (2500 if sampler == "grid" else 3000)
    assert np.abs(domain.distance(points)).max() < 1e-12
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=1e-12)
    value, most = chi_square(bins(domain, points), expected_on(name), 6e-3)
    assert value < (most if sampler != "grid" else 2 * most)


@pytest.mark.parametrize("name", ALL)
def test_measures_by_counting(name):
    _, found, size = distances(name)
    counted = (found < 0).sum() * size
    assert ALL[name].measure == pytest.approx(counted, rel=3e-3 if name in PLANE else 1e-2)


LENS = [math.acos((0.64 + a**2 - b**2) / (1.6 * a)) for a, b in ((1.0, 0.8), (0.8, 1.0))]
"""Half the angles of the arcs of the circles with radii 1 and .8, whose centres are .8 apart."""
MEASURES = {
    "disc": (math.pi * 0.49, 1.4 * math.pi),
    "ellipse": (math.pi * 0.48, 4.8 * float(ellipe(1 - 1 / 9))),
    "annulus": (math.pi * (1.21 - 0.16), 3.0 * math.pi),
    "L": (3.0, 8.0),
    "hole": (1.0 - math.pi / 16, 4.0 + math.pi / 2),
    "bite": (1.0 - 0.045 * math.pi, 3.4 + 0.3 * math.pi),
    "lens": (
        sum(r * r * (a - math.sin(2 * a) / 2) for r, a in zip((1.0, 0.8), LENS, strict=True)),
        2 * (LENS[0] + 0.8 * LENS[1]),
    ),
    "L of boxes": (3.0, 8.0),
    "ball": (4 / 3 * math.pi * 0.512, 4 * math.pi * 0.64),
    "cylinder": (math.pi * 0.36 * 1.2, 2 * math.pi * 0.6 * 1.2 + 2 * math.pi * 0.36),
    "cut ball": (
        4 / 3 * math.pi - math.pi * 0.64 * 2.2 / 3,
        2 * math.pi * 1.2 + math.pi * 0.96,
    ),
    "bored": (2.0 - math.pi / 8, 8.0 - math.pi / 2 + 4.0 + math.pi / 2),
}


@pytest.mark.parametrize("name", MEASURES)
def test_measures_in_closed_form(name):
    domain, (inside, on) = ALL[name], MEASURES[name]
    assert domain.measure == pytest.approx(inside, rel=5e-4)
    assert sum(domain.part_measure(part) for part in domain.sides) == pytest.approx(on, rel=5e-4)


@pytest.mark.parametrize("name", ALL)
def test_normals_point_along_the_gradient_of_the_distance(name):
    domain = ALL[name]
    points, normals = boundary(domain, 300)
    step = 1e-6
    slope = np.stack(
        [
            (domain.distance(points + step * e) - domain.distance(points - step * e)) / (2 * step)
            for e in np.eye(domain.dimensions)
        ],
        axis=1,
    )
    smooth = np.abs(np.linalg.norm(slope, axis=1) - 1.0) < 1e-5  # not within a step of a corner
    assert smooth.mean() > 0.98
    np.testing.assert_allclose(normals[smooth], slope[smooth], atol=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_distance_is_that_to_the_nearest_boundary_point(name):
    domain = ALL[name]
    dense, _ = boundary(domain, 20_000, "sobol")
    generator = np.random.default_rng(1)
    room = 0.3 * (domain.upper - domain.lower)
    points = generator.uniform(domain.lower - room, domain.upper + room, (200, domain.dimensions))
    brute = np.linalg.norm(points[:, None] - dense[None], axis=2).min(axis=1)
    found = domain.distance(points)
    slack = 2e-3 if name in PLANE else 0.05
    assert (np.abs(found) < brute + 1e-9).all()  # never more than the distance
    if name in ("disc", "ellipse", "annulus", "L", "star", "frame", "ball", "cylinder"):
        assert (np.abs(found) > brute - slack).all()


@pytest.mark.parametrize("name", ALL)
def test_few_points(name):
    domain = ALL[name]
    for count in (1, 2, 7):
        assert domain.sample(count, drawer()).shape == (count, domain.dimensions)
        for part in domain.all_parts:
            points, normals = domain.sample_part(part, count, drawer())
            assert points.shape == normals.shape == (count, domain.dimensions)


@pytest.mark.parametrize("name", ["hole", "bored"])
def test_points_follow_the_generator(name):
    first, same, other = (ALL[name].sample(50, drawer("lhs", seed)) for seed in (3, 3, 4))
    assert (first == same).all()
    assert not (first == other).any()
