"""Numerical references against closed forms: solitons, a forced wave, an oscillator."""

import math

import pytest
import torch

from pinnsig.problem import ODEReference, PeriodicReference


def points(low, high, until, n=400):
    generator = torch.Generator().manual_seed(0)
    x, t = torch.rand(2, n, generator=generator, dtype=torch.float64)
    ends = torch.tensor([[low, 0.0], [high, until], [low, until]], dtype=torch.float64)
    return torch.cat([low + (high - low) * x, ends[:, 0]]), torch.cat([until * t, ends[:, 1]])


def korteweg_de_vries(points=256, steps=400):
    return PeriodicReference(
        start=lambda x: 3 / torch.cosh(x / 2) ** 2,
        linear=lambda k: 1j * k**3,
        source=lambda u, x, t: u**2,
        outer=lambda k: -0.5j * k,
        interval=(-40.0, 40.0),
        until=1.0,
        points=points,
        steps=steps,
    )


def test_a_soliton_of_the_korteweg_de_vries_equation_keeps_its_shape():
    x, t = points(-40.0, 40.0, 1.0)
    expected = 3 / torch.cosh((x - t) / 2) ** 2  # u_t + u u_x + u_xxx = 0, speed 1
    torch.testing.assert_close(korteweg_de_vries()(x, t), expected, rtol=0, atol=1e-10)


def test_a_soliton_of_the_nonlinear_schrodinger_equation_turns_in_phase():
    def soliton(x, t):
        phase = x / 2 + 3 * t / 8  # speed 1/2, i h_t + h_xx / 2 + |h|² h = 0
        return torch.complex(torch.cos(phase), torch.sin(phase)) / torch.cosh(x - t / 2)

    low, high = -8 * math.pi, 8 * math.pi  # so that the phase x / 2 closes on itself
    reference = PeriodicReference(
        start=lambda x: soliton(x, torch.zeros_like(x)),
        linear=lambda k: -0.5j * k**2,
        source=lambda h, x, t: 1j * h.abs() ** 2 * h,
        interval=(low, high),
        until=1.0,
        points=256,
        steps=500,
    )
    x, t = points(low, high, 1.0)
    torch.testing.assert_close(reference(x, t), soliton(x, t), rtol=0, atol=1e-9)


def forced_wave(steps):
    """u = exp(t) sin(x) solves u_t = u_xx + 3 exp(t) sin(x) - u."""
    return PeriodicReference(
        start=torch.sin,
        linear=lambda k: -(k**2),
        source=lambda u, x, t: 3 * torch.exp(t) * torch.sin(x) - u,
        interval=(0.0, 2 * math.pi),
        until=1.0,
        points=16,
        steps=steps,
    )


def test_a_source_may_depend_on_place_and_time_and_the_order_is_four():
    x, t = points(0.0, 2 * math.pi, 1.0)
    expected = torch.exp(t) * torch.sin(x)
    torch.testing.assert_close(forced_wave(200)(x, t), expected, rtol=0, atol=1e-10)
    coarse, fine = ((forced_wave(n)(x, t) - expected).abs().max() for n in (20, 40))
    assert 14 < coarse / fine < 18


def test_periodic_reference_is_differentiable_and_the_same_on_a_grid():
    reference = korteweg_de_vries(steps=800)
    axis, times = torch.linspace(-3, 3, 7), torch.linspace(0, 1, 5)
    x, t = torch.cartesian_prod(axis.double(), times.double()).unbind(1)
    plain = reference(x, t)
    x, t = x.clone().requires_grad_(), t.clone().requires_grad_()
    u = reference(x, t)
    torch.testing.assert_close(u, plain, rtol=0, atol=1e-14)
    u_x, u_t = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
    (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
    (u_xxx,) = torch.autograd.grad(u_xx.sum(), x)
    assert (u_t + u * u_x + u_xxx).abs().max() < 1e-7


@pytest.mark.parametrize("samples", [50, 100])
def test_an_oscillator(samples):
    reference = ODEReference(lambda t, y: (y[1], -9 * y[0]), (1.0, 0.0), 2.0, samples)
    t = torch.linspace(0, 2, 333, dtype=torch.float64).requires_grad_()
    y, velocity = reference(t)
    atol = 1e-9 if samples == 50 else 1e-11  # joined by polynomials of degree 7
    torch.testing.assert_close(y, torch.cos(3 * t), rtol=0, atol=atol)
    torch.testing.assert_close(velocity, -3 * torch.sin(3 * t), rtol=0, atol=3 * atol)
    (slope,) = torch.autograd.grad(y.sum(), t)
    torch.testing.assert_close(slope, velocity, rtol=0, atol=1e3 * atol)


TORUS = {"interval": (0.0, 2 * math.pi), "until": 1.0, "dimensions": 2}


def points_in_the_plane(n=300):
    generator = torch.Generator().manual_seed(1)
    x, y, t = torch.rand(3, n, generator=generator, dtype=torch.float64)
    return 2 * math.pi * x, 2 * math.pi * y, t


def forced_pair(steps, every=1):
    """u = exp(t) sin(x) cos(y) and v = exp(-t) cos(2 x) of u_t = Lap u + ..., v_t = Lap v / 2."""

    def pair(x, y, t):
        return torch.exp(t) * torch.sin(x) * torch.cos(y), torch.exp(-t) * torch.cos(2 * x)

    def source(fields, x, y, t):
        u, v = fields
        exact = pair(x, y, t)
        return torch.stack(
            [4 * exact[0] - u + v - exact[1], exact[1] + u * v - exact[0] * exact[1]]
        )

    reference = PeriodicReference(
        start=lambda x, y: torch.stack(pair(x, y, torch.zeros_like(x))),
        linear=lambda k, m: torch.stack([-(k**2 + m**2), -(k**2 + m**2) / 2]),
        source=source,
        points=16,
        steps=steps,
        every=every,
        **TORUS,
    )
    return reference, lambda x, y, t: torch.stack(pair(x, y, t))


def test_a_system_in_the_plane_and_the_order_is_four():
    at = points_in_the_plane()
    errors = []
    for steps in (20, 40, 200):
        reference, exact = forced_pair(steps)
        errors.append((reference(*at) - exact(*at)).abs().max())
    assert 14 < errors[0] / errors[1] < 18
    assert errors[2] < 1e-9
    reference, exact = forced_pair(200, every=5)
    torch.testing.assert_close(reference(*at), exact(*at), rtol=0, atol=1e-8)


def test_a_plane_wave_of_the_ginzburg_landau_equation():
    size, turn = math.sqrt(1 - 0.1 * 5), 0.0 - 2.0 * (1 - 0.1 * 5)
    reference = PeriodicReference(
        start=lambda x, y: size * torch.exp(1j * (x - 2 * y)),
        linear=lambda k, m: 1 - 0.1 * (k**2 + m**2),
        source=lambda A, *_: -(1 + 2j) * A.abs() ** 2 * A,
        points=8,
        steps=200,
        **TORUS,
    )
    x, y, t = points_in_the_plane()
    found = reference(x, y, t)
    expected = size * torch.exp(1j * (x - 2 * y + turn * t))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


def test_in_the_plane_a_reference_is_differentiable_and_the_same_on_a_grid():
    reference, _ = forced_pair(100)
    axis = torch.linspace(0, 2 * math.pi, 5, dtype=torch.float64)
    times = torch.linspace(0, 1, 3, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, axis, times).unbind(1)
    order = torch.randperm(len(grid[0]), generator=torch.Generator().manual_seed(2))
    on_grid = reference(*grid)
    torch.testing.assert_close(reference(*(c[order] for c in grid)), on_grid[:, order])
    x, y, t = (c.clone().requires_grad_() for c in grid)
    u, v = reference(x, y, t)
    torch.testing.assert_close(torch.stack([u, v]), on_grid, rtol=0, atol=1e-13)
    u_x, u_t = torch.autograd.grad(u.sum(), (x, t))
    torch.testing.assert_close(u_x, torch.exp(t) * torch.cos(x) * torch.cos(y), rtol=0, atol=1e-6)
    torch.testing.assert_close(u_t, torch.exp(t) * torch.sin(x) * torch.cos(y), rtol=0, atol=1e-5)
