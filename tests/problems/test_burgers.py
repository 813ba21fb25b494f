import math
from typing import Any

import mpmath
import pytest
import torch
from pinnsig.problems.burgers import Burgers  # pyright: ignore[reportMissingImports]

from pinnsig.problem import problem_class


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def cole_hopf(x: float, t: float, nu: float) -> float:
    """The transform as it is usually written, integrated over y piece by piece."""
    with mpmath.workdps(30):
        width = mpmath.sqrt(4 * mpmath.mpf(nu) * t)

        def exponent(y):
            return -(((x - y) / width) ** 2) - mpmath.cos(mpmath.pi * y) / (2 * mpmath.pi * nu)

        pieces = int(mpmath.sqrt(60 + 1 / (mpmath.pi * nu))) + 1
        ends = [x + k * width for k in range(-pieces, pieces + 1)]
        peak = max(exponent(y) for y in ends)  # mpmath's tolerance is absolute

        def integral(factor) -> Any:
            return mpmath.quad(
                lambda y: factor(y) * mpmath.exp(exponent(y) - peak), ends, method="gauss-legendre"
            )

        return float(integral(lambda y: (x - y) / t) / integral(lambda y: 1))


def partials(problem: Burgers, x: torch.Tensor, t: torch.Tensor) -> dict[str, torch.Tensor]:
    x, t = x.clone().requires_grad_(), t.clone().requires_grad_()
    u = problem.solution(x, t)
    u_x, u_t = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
    (u_xx,) = torch.autograd.grad(u_x.sum(), x)
    return {"u": u.detach(), "x": u_x.detach(), "t": u_t.detach(), "xx": u_xx}


def test_known_values():
    found = Burgers().solution(column(0.5, 0.5, 0.01), column(0.5, 1.0, 0.5))
    expected = column(-0.5927695, -0.3761814, -0.8980496)
    torch.testing.assert_close(found, expected, rtol=0, atol=5e-8)
    slope = partials(Burgers(), column(0.0), column(0.5105))["x"]
    assert slope.item() == pytest.approx(-152.0052, abs=5e-5)


@pytest.mark.parametrize("nu", [1e-3, 0.01 / math.pi, 0.1, 1.0, 10.0])
def test_agrees_with_quadrature(nu):
    points = [(0.5, 0.5), (1e-3, 1.0), (-0.95, 0.9), (0.3, 1e-4)]
    x, t = zip(*points, strict=True)
    found = Burgers(nu=nu).solution(column(*x), column(*t))
    expected = column(*[cole_hopf(a, b, nu) for a, b in points])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("nu", [1e-4, 0.01 / math.pi, 1.0])
def test_solves_the_equation(nu):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(300, generator=generator, dtype=torch.float64) * 2 - 1
    t = torch.rand(300, generator=generator, dtype=torch.float64)
    x, t = torch.cat([x, column(0.3, 0.0, -1.0)]), torch.cat([t, column(0.0, 0.0, 1e-300)])
    u = partials(Burgers(nu=nu), x, t)
    residual = u["t"] + u["u"] * u["x"] - nu * u["xx"]
    assert residual.abs().max() < 1e-9


def test_conditions_hold():
    problem = Burgers()
    x = torch.linspace(-1, 1, 41, dtype=torch.float64)
    assert torch.equal(problem.solution(x, torch.zeros_like(x)), -torch.sin(math.pi * x))
    t = torch.linspace(0, 1, 41, dtype=torch.float64)
    for side in (-1.0, 1.0):
        assert problem.solution(torch.full_like(t, side), t).abs().max() < 1e-15
    terms = problem.terms()
    assert list(terms) == ["initial", "boundary"]
    value = terms["initial"].residual({"u": -torch.sin(math.pi * x)}, {"x": x, "t": 0 * x}, {})
    assert torch.equal(value["u"], torch.zeros_like(x))


def test_is_odd_and_joins_its_expansion_near_the_start():
    problem = Burgers()
    x = torch.linspace(0, 1, 101, dtype=torch.float64)
    t = torch.full_like(x, 0.6)
    torch.testing.assert_close(problem.solution(-x, t), -problem.solution(x, t), rtol=0, atol=1e-13)
    before, after = (problem.solution(x, torch.full_like(x, v)) for v in (0.99e-12, 1.01e-12))
    torch.testing.assert_close(before, after, rtol=0, atol=1e-12)


def test_chunks_do_not_show():
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(10_000, generator=generator, dtype=torch.float64) * 2 - 1
    t = torch.rand(10_000, generator=generator, dtype=torch.float64)
    whole = Burgers().solution(x, t)
    assert whole.shape == x.shape
    torch.testing.assert_close(whole[-3:], Burgers().solution(x[-3:], t[-3:]), rtol=0, atol=1e-14)
    assert Burgers().solution(x[:0], t[:0]).shape == (0,)


@pytest.mark.filterwarnings("error")
def test_learned_viscosity_reads_as_a_number():
    problem = Burgers()
    expected = problem.solution(column(0.5), column(0.5))
    problem = problem.bound({"nu": column(0.01 / math.pi)[0].requires_grad_()})
    assert torch.equal(problem.solution(column(0.5), column(0.5)), expected)


def test_is_registered():
    assert problem_class("burgers") is Burgers
