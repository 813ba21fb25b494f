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
    pair, rates = kdv_soliton.KdVSoliton(), (math.sqrt(6), math.sqrt(2))
    x = torch.linspace(-10, 10, 40001, dtype=torch.float64)
    u = pair.solution(x, torch.full_like(x, 2.5))
    inner = u[1:-1]
    crests = (inner > u[:-2]) & (inner > u[2:])
    assert inner[crests].tolist() == pytest.approx([1.0, 3.0], abs=1e-3)
    # the integral of k² / 2 sech²(k x / 2) is 2 k, and 2 k³ / 3 that of its square
    assert torch.trapezoid(u, x).item() == pytest.approx(2 * sum(rates), abs=1e-3)
    squares = sum(2 / 3 * k**3 for k in rates)
    assert torch.trapezoid(u**2, x).item() == pytest.approx(squares, abs=1e-5)
    # each is shifted by the log of (k + l) / (k - l) over its own rate, the slow one twice so far
    log = math.log(2 + math.sqrt(3))
    after = [-8 + 2 * 2.5 - log / rates[1], -12 + 6 * 2.5 + log / rates[0]]
    assert x[1:-1][crests].tolist() == pytest.approx(after, abs=2e-3)
    early = pair.solution(x, torch.zeros_like(x))
    assert x[early.argmax()].item() == pytest.approx(-8 + log / rates[1], abs=2e-3)
    one = kdv_soliton.KdVSoliton(solitons="one")
    crest, late = torch.tensor([[2.0], [5.0]], dtype=torch.float64)
    assert one.solution(crest, late).item() == pytest.approx(1.0, abs=1e-12)


def test_two_solitons_are_those_of_the_source():
    """By the closed form of Urbán, Stefanou and Pons, whose x is larger by 10."""
    x = torch.linspace(-10, 10, 101, dtype=torch.float64)[:, None]
    t = torch.linspace(0, 5, 51, dtype=torch.float64)
    c, d = 6.0, 2.0
    k, m = math.sqrt(c), math.sqrt(d)
    fast, slow = x + 10 - c * t + 2, x + 10 - d * t - 2
    above = c * torch.cosh(m * slow / 2) ** 2 + d * torch.sinh(k * fast / 2) ** 2
    plus, minus = (k * fast + m * slow) / 2, (k * fast - m * slow) / 2
    below = (k - m) * torch.cosh(plus) + (k + m) * torch.cosh(minus)
    found = kdv_soliton.KdVSoliton().solution(x, t)
    torch.testing.assert_close(found, 2 * (c - d) * above / below**2, rtol=0, atol=1e-13)


def test_the_slope_of_solitons_is_their_derivative():
    for problem in (kdv_soliton.KdVSoliton(), kdv_soliton.KdVSoliton(solitons="one")):
        x = torch.linspace(-10, 10, 41, dtype=torch.float64).requires_grad_()
        t = torch.linspace(0, 5, 41, dtype=torch.float64)
        (slope,) = torch.autograd.grad(problem.solution(x, t).sum(), x)
        torch.testing.assert_close(problem.slope(x, t), slope, rtol=1e-10, atol=1e-12)


def test_the_front_of_burgers_equations_in_the_plane():
    u, v = at(burgers_2d.Burgers2D(), x=[0.5, 0.0], y=[0.75, 1.0], t=[1.0, 0.0])
    assert u.tolist() == pytest.approx([0.625, 0.75], abs=1e-5)
    torch.testing.assert_close(u + v, torch.full_like(u, 1.5))
