"""Evolution equations without closed form: the common checks, what is conserved, refinement."""

import math

import numpy as np
import pytest
import torch
from pinnsig.problems import (  # pyright: ignore[reportMissingImports]
    cahn_hilliard,
    ginzburg_landau,
    gray_scott,
    kuramoto_sivashinsky,
    reaction_diffusion,
)
from scipy.integrate import solve_ivp

from pinnsig.testing import ProblemChecks


class TestReactionDiffusion(ProblemChecks):
    problem = reaction_diffusion.ReactionDiffusion


class TestReactionDiffusionSlow(ProblemChecks):
    problem = reaction_diffusion.ReactionDiffusion(nu=0.1, rho=2.0)


class TestKuramotoSivashinsky(ProblemChecks):
    problem = kuramoto_sivashinsky.KuramotoSivashinsky
    residual_tolerance = 1e-7


class TestCahnHilliard(ProblemChecks):
    problem = cahn_hilliard.CahnHilliard


class TestGrayScott(ProblemChecks):
    problem = gray_scott.GrayScott
    residual_points = 20
    residual_tolerance = 1e-7


class TestGinzburgLandau(ProblemChecks):
    problem = ginzburg_landau.GinzburgLandau
    residual_points = 20
    residual_tolerance = 1e-7


def grid(problem, points=21):
    ends = [problem.domain.interval(name) for name in problem.domain.names]
    axes = [torch.linspace(low, high, points, dtype=torch.float64) for low, high in ends]
    return torch.cartesian_prod(*axes).unbind(1)


def fields(problem, *points):
    found = problem.solution(*points)
    return torch.stack(found) if isinstance(found, tuple) else found


# what each docstring says of its solution's error, against a finer one in time, or in space
FINER = [
    (reaction_diffusion, "ReactionDiffusion", {"points": 96, "steps": 4000}, 1e-11),
    (kuramoto_sivashinsky, "KuramotoSivashinsky", {"finer": 2}, 1e-8),
    (cahn_hilliard, "CahnHilliard", {"points": 384, "steps": 6000}, 1e-8),
    pytest.param(
        *(gray_scott, "GrayScott", {"points": 144, "rate": 15_000}, 2e-7), marks=pytest.mark.slow
    ),
    pytest.param(
        *(ginzburg_landau, "GinzburgLandau", {"points": 216}, 2e-7), marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("module", "problem", "other", "bound"), FINER)
def test_reference_is_converged(module, problem, other, bound):
    made = getattr(module, problem)()
    points = grid(made)
    values = {name: float(value) for name, value in made.values().items()}
    finer = module.reference(**values, **other)(*points)
    finer = torch.stack([finer.real, finer.imag]) if finer.is_complex() else finer
    off = (fields(made, *points) - finer).abs().max().item()
    assert off < bound


def test_without_reaction_a_bell_spreads_as_heat_does():
    x, t = grid(reaction_diffusion.ReactionDiffusion())
    found = reaction_diffusion.ReactionDiffusion(nu=0.5, rho=0.0).solution(x, t)
    squares = math.pi**2 / 16 + t  # s² + 2 nu t
    images = [(x - math.pi * (1 + 2 * n)) ** 2 for n in range(-4, 5)]
    parts = [torch.exp(-image / (2 * squares)) for image in images]
    expected = (math.pi / 4) / squares.sqrt() * sum(parts[1:], parts[0])
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-7)  # of the bells farther away


def test_kuramoto_sivashinsky_in_its_regular_case_agrees_with_finite_differences():
    n, h = 256, 2 * math.pi / 256
    x = h * np.arange(n)

    def rates(_, u):
        up, down, up2, down2 = (np.roll(u, shift) for shift in (-1, 1, -2, 2))
        second, fourth = up - 2 * u + down, up2 - 4 * up + 6 * u - 4 * down + down2
        convected = (up**2 - down**2) / (4 * h)
        return -5 * convected - 0.5 * second / h**2 - 0.005 * fourth / h**4

    found = solve_ivp(rates, (0, 0.3), np.cos(x) * (1 + np.sin(x)), method="BDF", rtol=1e-7)
    made = kuramoto_sivashinsky.KuramotoSivashinsky(T=0.3, alpha=5.0, beta=0.5, gamma=0.005)
    at = torch.from_numpy(x)
    off = made.solution(at, torch.ones_like(at)).numpy() - found.y[:, -1]
    assert np.abs(off).max() < 5e-3 * np.abs(found.y[:, -1]).max()


def test_cahn_hilliard_keeps_its_mass_and_loses_energy():
    made = cahn_hilliard.CahnHilliard()
    x = torch.arange(0, 1, 1 / 512, dtype=torch.float64)
    energies = []
    for t in (0.0, 0.25, 0.5, 1.0):
        at = x.clone().requires_grad_()
        u = made.solution(at, torch.full_like(x, t))
        assert u.mean().item() == pytest.approx(0.0, abs=1e-12)
        (slope,) = torch.autograd.grad(u.sum(), at)
        energies.append((0.01 * (u**2 - 1) ** 2 / 4 + 2e-5 * slope**2 / 2).mean().item())
    assert energies == sorted(energies, reverse=True)
    assert energies[0] == pytest.approx(0.01 * 3 / 32 + math.pi**2 * 2e-5, rel=1e-12)


def test_gray_scott_gains_what_is_fed_and_loses_what_is_killed():
    made = gray_scott.GrayScott()
    axis = torch.arange(-1, 1, 1 / 32, dtype=torch.float64)
    times, weights = np.polynomial.legendre.leggauss(16)
    x, y, t = torch.cartesian_prod(axis, axis, torch.from_numpy((times + 1) / 2)).unbind(1)
    u, v = fields(made, x, y, t)
    rates = (40 * (1 - u) - 100 * v).reshape(-1, 16).mean(0) @ torch.from_numpy(weights) / 2
    ends = torch.cartesian_prod(axis, axis, torch.tensor([0.0, 1.0]).double()).unbind(1)
    before, after = fields(made, *ends).sum(0).reshape(-1, 2).mean(0)
    assert (after - before).item() == pytest.approx(0.02 * rates.item(), abs=1e-7)


def test_ginzburg_landau_turns_as_the_vortex_of_the_plane_does():
    """A = i exp(-i phi) f(r, t) there; finite differences in r, whose error falls by four."""
    errors = []
    for n in (160, 320):
        r = (np.arange(n) + 0.5) * (dr := 1.6 / n)
        outer, inner = (1 + dr / 2 / r) / dr**2, (1 - dr / 2 / r) / dr**2

        def rates(_, f, r=r, outer=outer, inner=inner, dr=dr):
            above, below = np.append(f[1:], 0), np.append(0, f[:-1])
            spread = outer * (above - f) + inner * (below - f) - f / r**2
            return 0.004 * spread + 10 * f - (10 + 15j) * np.abs(f) ** 2 * f

        start = 10 * r * np.exp(-25 * r**2) + 0j
        f = solve_ivp(rates, (0, 0.2), start, rtol=1e-8, atol=1e-10).y[:, -1]
        x = torch.from_numpy(r[r < 0.95])
        u, v = ginzburg_landau.GinzburgLandau().solution(x, 0 * x, torch.ones_like(x))
        errors.append(np.abs(u.numpy() + 1j * v.numpy() - 1j * f[r < 0.95]).max())
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4, abs=0.2)
