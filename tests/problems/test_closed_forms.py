"""Problems whose solution is a closed form: the common checks, and values from elsewhere."""

import math

import numpy as np
import pytest
import torch

from pinnsig.model.evaluation import reference_values
from pinnsig.problem import PointData, problem_class
from pinnsig.testing import ProblemChecks

Beam = problem_class("beam")
Convection = problem_class("convection")
Elasticity = problem_class("elasticity")
Heat = problem_class("heat")
HeatConductivity = problem_class("heat-conductivity")
Helmholtz = problem_class("helmholtz")
InverseHeat = problem_class("inverse-heat")
Kovasznay = problem_class("kovasznay")
Poisson = problem_class("poisson")
Poisson5D = problem_class("poisson-5d")
Wave = problem_class("wave")


class TestHeat(ProblemChecks):
    problem = Heat


class TestHeatOther(ProblemChecks):
    problem = Heat(k=0.7)


class TestPoisson(ProblemChecks):
    problem = Poisson


class TestPoisson5D(ProblemChecks):
    problem = Poisson5D


class TestHelmholtz(ProblemChecks):
    problem = Helmholtz


class TestHelmholtzOther(ProblemChecks):
    problem = Helmholtz(k=3.0, m=0.5, n=2.3)


class TestWave(ProblemChecks):
    problem = Wave


class TestWaveOther(ProblemChecks):
    problem = Wave(c=0.3)


class TestKovasznay(ProblemChecks):
    problem = Kovasznay


class TestKovasznayOther(ProblemChecks):
    problem = Kovasznay(Re=1e5)


class TestBeam(ProblemChecks):
    problem = Beam


class TestBeamOther(ProblemChecks):
    problem = Beam(q=2.5)


class TestElasticity(ProblemChecks):
    problem = Elasticity


class TestElasticityOther(ProblemChecks):
    problem = Elasticity(lam=3.0, mu=2.0, Q=-1.5)


class TestConvection(ProblemChecks):
    problem = Convection


class TestConvectionOther(ProblemChecks):
    problem = Convection(beta=-4.0)


class TestHeatConductivity(ProblemChecks):
    problem = HeatConductivity


class TestHeatConductivityOther(ProblemChecks):
    problem = HeatConductivity(k0=2.0, a=-0.5)


class TestInverseHeat(ProblemChecks):
    problem = InverseHeat


def at(problem, **coordinates):
    columns = {name: torch.tensor([x], dtype=torch.float64) for name, x in coordinates.items()}
    found = reference_values(problem, columns)
    assert found is not None
    return [value.item() for value in found.values()]


@pytest.mark.parametrize(
    ("problem", "point", "expected"),
    [
        # the tip of a cantilever sinks by q/8, Gere and Timoshenko's table
        (Beam(), {"x": 1.0}, [-0.125]),
        # s = 20 - sqrt(400 + 4 pi²) = -0.96374054419
        (Kovasznay(), {"x": 0.0, "y": 0.25}, [1.0, -0.96374054419 / (2 * math.pi), 0.0]),
        (Wave(), {"x": 0.125, "t": 0.5}, [0.5 - math.sin(math.pi / 8)]),
        (Elasticity(), {"x": 0.5, "y": 1.0}, [0.0, 1.0]),
        (Helmholtz(), {"x": 0.5, "y": 0.125}, [1.0]),
        (Convection(), {"x": 0.0, "t": math.pi / 60}, [-1.0]),
    ],
)
def test_known_values(problem, point, expected):
    np.testing.assert_allclose(at(problem, **point), expected, rtol=0, atol=1e-10)


def test_kovasznay_keeps_its_digits_at_large_reynolds_numbers():
    v = at(Kovasznay(Re=1e9), x=0.0, y=0.25)[1]
    assert v == pytest.approx(-4 * math.pi**2 / 1e9 / (2 * math.pi), rel=1e-12)


def test_the_truth_of_an_inverse_problem_does_not_follow_what_is_learned():
    problem = InverseHeat()
    expected = math.exp(-0.2 * math.pi**2 * 0.5)
    for k in (0.1, 0.15, 0.3):
        problem = problem.bound({"k": torch.tensor(k, dtype=torch.float64, requires_grad=True)})
        assert at(problem, x=0.5, t=0.5)[0] == pytest.approx(expected, rel=1e-14)


def test_the_data_tell_the_diffusivity():
    data = InverseHeat(k_true=0.35).terms()["data"]
    assert isinstance(data, PointData)
    x, t, u = (data.columns[name] for name in ("x", "t", "u"))
    decay = np.log(np.sin(np.pi * x) / u)
    np.testing.assert_allclose(decay, 0.35 * np.pi**2 * t, rtol=1e-10)
    assert len(u) == 90
