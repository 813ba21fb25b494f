"""Which figures a run leaves, and of what."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.model.evaluation import compare
from pinnsig.problem import problem_class
from pinnsig.run.building import build, build_objective
from pinnsig.run.directory import RunDirectory
from pinnsig.run.planes import measurements, planes
from pinnsig.run.settings import resolve
from tests.conftest import SMALL


def names_of(run: Path) -> set[str]:
    return {path.name for path in (run / "figures").iterdir()}


def test_an_inverse_problem_has_a_figure_of_what_it_learned(runs: Path):
    result = pinnsig.solve("inverse-heat", runs=runs, **SMALL)
    assert names_of(result.path) >= {"coefficients.png", "solution.png", "slices.png", "loss.png"}
    trace = [record["coefficients"]["k"] for record in RunDirectory(result.path).metrics()]
    assert trace[0] == pytest.approx(0.1)
    assert len(trace) == 7
    assert trace[-1] == pytest.approx(result.coefficients["k"]["value"], rel=1e-6)


def test_an_ordinary_differential_equation_is_drawn_once(runs: Path):
    result = pinnsig.solve("beam", runs=runs, **{**SMALL, "boundary": 8})
    assert "solution.png" in names_of(result.path)
    assert not names_of(result.path) & {"slices.png", "coefficients.png"}


def test_many_coordinates_are_cut_at_full_resolution_through_the_middle():
    parts = build(resolve({"problem": "poisson-5d", **SMALL, "boundary": 20}))
    coarse = compare(parts.model)
    maps, cuts = planes(parts.model, coarse)
    map, cut = maps["u"], cuts["u"]
    assert map.prediction.shape == (201, 201, 1, 1, 1)
    assert cut.prediction.shape == (201, 1, 1, 1, 201)
    assert [float(axis[0]) for axis in map.axes.values()] == [0.0, 0.0, 0.5, 0.5, 0.5]
    # u* = cos(pi a) + cos(pi b) + ... on the plane c = d = e = 1/2
    a, b = map.axes["x1"], map.axes["x2"]
    exact = parts.model.problem
    columns = {n: torch.full((201,), 0.5, dtype=torch.float64) for n in map.axes}
    columns |= {"x1": torch.from_numpy(a), "x2": torch.from_numpy(b)}
    assert map.reference is not None
    np.testing.assert_allclose(
        map.reference[range(201), range(201), 0, 0, 0],
        exact.call("solution", columns).numpy(),
        rtol=1e-12,
    )


def test_two_coordinates_are_drawn_as_they_are_compared():
    parts = build(resolve({"problem": "burgers", **SMALL}))
    compared = compare(parts.model)
    assert planes(parts.model, compared) == (compared, compared)


def test_measured_values_are_found_among_the_points():
    parts = build(resolve({"problem": "inverse-heat", **SMALL}))
    found = measurements(parts.problem, build_objective(parts).sites)
    points, values = found["u"]
    assert points.shape == (90, 2)
    x, t = points.T
    expected = np.exp(-0.2 * math.pi**2 * t) * np.sin(math.pi * x)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    burgers = build(resolve({"problem": "burgers", **SMALL}))
    assert measurements(burgers.problem, build_objective(burgers).sites) == {}
    assert problem_class("burgers").learned() == {}
