"""Problems on shapes: the common checks, and their references against other resolutions."""

import numpy as np
import pytest
import torch
from pinnsig.problems import (  # pyright: ignore[reportMissingImports]
    cylinder_wake,
    gear,
    poisson_holes,
    poisson_l,
)

from pinnsig.testing import ProblemChecks


class TestPoissonL(ProblemChecks):
    problem = poisson_l.PoissonL


class TestPoissonHoles(ProblemChecks):
    problem = poisson_holes.PoissonHoles


class TestGear(ProblemChecks):
    problem = gear.Gear


class TestCylinderWake(ProblemChecks):
    problem = cylinder_wake.CylinderWake
    residual_tolerance = 1e-3
    condition_tolerance = 1e-8


@pytest.mark.parametrize("kind", [poisson_l.PoissonL, poisson_holes.PoissonHoles])
def test_poisson_references_are_finite_at_the_origin(kind):
    found = kind().solution(*torch.zeros(2, 1, dtype=torch.float64))
    assert found.isfinite().all()


def inside(problem, count=300):
    generator = np.random.default_rng(1)
    points = problem.domain.sample(count, lambda *shape: generator.random(shape))
    return torch.from_numpy(points).unbind(1)


@pytest.mark.parametrize("module", [poisson_l, poisson_holes])
def test_poisson_references_are_as_good_as_they_say(module):
    problem = next(
        kind for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__
    )()  # fmt: skip
    sides = [
        problem.domain.sample_part(part, 2000, lambda *s: np.random.default_rng(2).random(s))[0]
        for part in problem.domain.sides
    ]
    x, y = torch.from_numpy(np.concatenate(sides)).unbind(1)
    hot = torch.hypot(x, y) < 0.99 if module is poisson_holes else torch.zeros_like(x)
    # by the maximum principle no error is larger than that on the boundary
    assert (problem.solution(x, y) - hot.double()).abs().max() < 1e-10


def test_the_wake_is_as_good_as_it_says():
    x, y = inside(cylinder_wake.CylinderWake())
    fine = cylinder_wake.reference(10.0, 38, 36)(x, y)
    for found, better, error in zip(
        cylinder_wake.reference(10.0)(x, y), fine, (1e-6, 1e-6, 2e-4), strict=True
    ):
        assert (found - better).norm() < error * better.norm()
