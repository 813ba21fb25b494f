"""Evolution equations of the list: the common checks, and values from elsewhere."""

import math

import pytest
import torch
from pinnsig.problems import (  # pyright: ignore[reportMissingImports]
    burgers,
    burgers_2d,
    convection,
    heat_2d,
    heat_4d,
    kdv_soliton,
    klein_gordon,
    reaction,
    wave_2d,
)
from scipy.integrate import solve_ivp

from pinnsig.testing import ProblemChecks


class TestHeat2D(ProblemChecks):
    problem = heat_2d.Heat2D


class TestHeat4D(ProblemChecks):
    problem = heat_4d.Heat4D


class TestWave2D(ProblemChecks):
    problem = wave_2d.Wave2D(c=1.5)


class TestKleinGordon(ProblemChecks):
    problem = klein_gordon.KleinGordon(beta=0.5)


class TestAdvection(ProblemChecks):
    problem = convection.Advection


class TestReaction(ProblemChecks):
    problem = reaction.Reaction


class TestBurgersMild(ProblemChecks):
    problem = burgers.BurgersMild


class TestBurgers2D(ProblemChecks):
    problem = burgers_2d.Burgers2D


class TestKdVSolitons(ProblemChecks):
    problem = kdv_soliton.KdVSoliton


class TestKdVSoliton(ProblemChecks):
    problem = kdv_soliton.KdVSoliton(solitons="one")


def at(problem, **coordinates):
    named = {name: torch.as_tensor(c, dtype=torch.float64) for name, c in coordinates.items()}
    return problem.solution(**{name: c.reshape(-1) for name, c in named.items()})


def hard_fields(problem, points, output):
    """What the hard ansatz makes of an output, at points of shape (N,) each."""
    problem.hard = True
    columns = dict(zip(problem.domain.names, points, strict=True))
    outputs = dict.fromkeys(problem.outputs, output)
    return problem.call("hard_ansatz", {**columns, **outputs})


@pytest.mark.parametrize(
    "problem", [heat_2d.Heat2D, wave_2d.Wave2D, klein_gordon.KleinGordon, reaction.Reaction]
)
def test_hard_ansatz_is_the_solution_where_conditions_are(problem):
    made = problem()
    generator = torch.Generator().manual_seed(0)
    unit = torch.rand(40, made.domain.dimensions, generator=generator, dtype=torch.float64)
    unit[:20, -1] = 0.0  # the start
    if problem is not reaction.Reaction:
        unit[20:, 0] = unit[20:, 0].round()  # sides
    points = torch.from_numpy(made.domain.place(unit.numpy())).unbind(1)
    held = slice(20) if problem is reaction.Reaction else slice(None)
    found = hard_fields(made, points, torch.full_like(points[0], 3.0))
    torch.testing.assert_close(found[held], made.solution(*points)[held], rtol=0, atol=1e-14)


def test_advection_is_convection_at_a_higher_speed():
    assert convection.Advection().values() == {"beta": 100.0}
    found = at(convection.Advection(), x=[1.0, 2.0], t=[0.3, 1.0])
    assert found.tolist() == pytest.approx([math.sin(1 - 30), math.sin(2 - 100)], abs=1e-13)


def test_reaction_is_the_logistic_equation():
    x = [0.5, 2.0, math.pi]
    start = reaction.bell(torch.tensor(x, dtype=torch.float64)).numpy()
    found = solve_ivp(lambda _, u: 5 * u * (1 - u), (0, 0.7), start, rtol=1e-11, atol=1e-13)
    expected = found.y[:, -1].tolist()
    assert at(reaction.Reaction(), x=x, t=[0.7] * 3).tolist() == pytest.approx(expected, abs=1e-9)


def test_mild_burgers_agrees_with_the_coefficient_set():
    x, t = [0.3, -0.05, 0.9], [0.4, 0.7, 1.0]
    found = at(burgers.BurgersMild(), x=x, t=t)
    torch.testing.assert_close(found, at(burgers.Burgers(nu=0.01), x=x, t=t), rtol=0, atol=0)


def test_solitons_have_their_heights_speeds_and_mass():
    pair = kdv_soliton.KdVSoliton()
    x = torch.linspace(-10, 10, 40001, dtype=torch.float64)
    for t in (0.0, 3.0):
        u = pair.solution(x, torch.full_like(x, t))
        crests = (u[1:-1] > u[:-2]) & (u[1:-1] > u[2:])
        assert u[1:-1][crests].sort().values.tolist() == pytest.approx([0.5, 2.0], abs=2e-2)
        # the integral of k² / 2 sech²(k x / 2) is 2 k; what lies outside weighs 5e-3
        assert torch.trapezoid(u, x).item() == pytest.approx(6.0, abs=6e-3)
        assert torch.trapezoid(u**2, x).item() == pytest.approx(2 / 3 + 16 / 3, abs=5e-5)
    # a fast one of speed 4 gains log(3) by the collision, the slow one loses 2 log(3)
    one = kdv_soliton.KdVSoliton(solitons="one")
    late = torch.tensor([3.0], dtype=torch.float64)
    crest = torch.tensor([6.0 + math.log(3) / 2], dtype=torch.float64)
    assert pair.solution(crest, late).item() == pytest.approx(2.0, abs=2e-2)
    assert one.solution(late * 2, late).item() == pytest.approx(2.0, abs=1e-12)


def test_the_slope_of_solitons_is_their_derivative():
    for problem in (kdv_soliton.KdVSoliton(), kdv_soliton.KdVSoliton(solitons="one")):
        x = torch.linspace(-10, 10, 41, dtype=torch.float64).requires_grad_()
        t = torch.linspace(0, 3, 41, dtype=torch.float64)
        (slope,) = torch.autograd.grad(problem.solution(x, t).sum(), x)
        torch.testing.assert_close(problem.slope(x, t), slope, rtol=1e-10, atol=1e-12)


def test_the_front_of_burgers_equations_in_the_plane():
    u, v = at(burgers_2d.Burgers2D(), x=[0.5, 0.0], y=[0.75, 1.0], t=[1.0, 0.0])
    assert u.tolist() == pytest.approx([0.625, 0.75], abs=1e-5)
    torch.testing.assert_close(u + v, torch.full_like(u, 1.5))
