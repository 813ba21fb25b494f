import math

import mpmath as mp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnsig.activations import Softsign, Tanh, parse_activation
from pinnsig.core.errors import SignalError
from pinnsig.signal import bifurcation, constant_gains, iterate, normal_gains, uniform_gains

ACTIVATIONS = st.sampled_from(["tanh", "erf", "gd", "arctan", "softsign2", "3*tanh(2x)+softsign1"])
POINT = st.floats(-5, 5).filter(lambda x: abs(x) > 1e-3)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def test_iterates_against_plain_arithmetic():
    gains, x = torch.tensor([0.5, 2.0, -1.5], dtype=torch.float64), 0.7
    found = iterate(Tanh(), gains, torch.tensor([0.7, -0.7], dtype=torch.float64))
    assert found.shape == (4, 2)
    for n, a in enumerate([0.5, 2.0, -1.5]):
        x = math.tanh(a * x)
        assert found[n + 1].tolist() == pytest.approx([x, -x], rel=1e-15)


def test_softsign1_in_closed_form():
    # 1/x_{n+1} = 1 + 1/x_n for x -> x / (1 + x)
    found = iterate(Softsign(1.0), constant_gains(1.0, 1000), torch.tensor(0.5).double())
    assert found[-1].item() == pytest.approx(1 / 1002, rel=1e-12)


def test_gains_of_their_own_for_each_start():
    gains = normal_gains(1.0, 0.5, (20, 3), generator())
    x = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    together = iterate(Tanh(), gains, x)
    assert torch.equal(together[:, 1], iterate(Tanh(), gains[:, 1], x[1]))


@settings(deadline=None, max_examples=40)
@given(ACTIVATIONS, POINT)
def test_gain_at_or_below_omega_leads_to_zero(name, x):
    f = parse_activation(name)
    start = torch.tensor(x, dtype=torch.float64)
    assert abs(iterate(f, constant_gains(0.8 * f.omega, 400), start)[-1].item()) < 1e-15 * f.bound
    critical = iterate(f, constant_gains(f.omega, 400), start).abs()
    assert torch.all(critical[1:] < critical[:-1])
    assert critical[-1] < 0.15 * f.bound


@settings(deadline=None, max_examples=40)
@given(ACTIVATIONS, POINT, st.floats(1.2, 6.0))
def test_gain_above_omega_leads_to_the_fixed_point_of_the_sign(name, x, ratio):
    f = parse_activation(name)
    a = ratio * f.omega
    last = iterate(f, constant_gains(a, 600), torch.tensor(x, dtype=torch.float64))[-1].item()
    (xi,) = bifurcation(f, [a])
    assert last == pytest.approx(math.copysign(xi, x), rel=1e-10)


@settings(deadline=None, max_examples=40)
@given(ACTIVATIONS, st.integers(0, 2**32))
def test_iteration_is_odd(name, seed):
    f = parse_activation(name)
    rng = torch.Generator().manual_seed(seed)
    gains = uniform_gains(3.0, (30,), rng)
    x = torch.randn(5, generator=rng, dtype=torch.float64)
    assert torch.equal(iterate(f, gains, -x), -iterate(f, gains, x))


def test_fixed_points_of_tanh():
    a = [0.5, 1.0, 1.0001, 1.5, 4.0]
    found = bifurcation(Tanh(), a)
    assert found[:2].tolist() == [0.0, 0.0]
    with mp.workdps(40):
        for gain, xi in zip(a[2:], found[2:], strict=True):
            exact = mp.findroot(lambda x, g=gain: mp.tanh(mp.mpf(g) * x) - x, mp.mpf(xi))
            assert abs(xi / exact - 1) < 1e-14
    assert np.all(np.diff(found[1:]) > 0)


def test_random_gains():
    uniform = uniform_gains(3.0, (100_000,), generator())
    assert uniform.min() >= -2
    assert uniform.max() <= 4
    assert uniform.mean().item() == pytest.approx(1.0, abs=4 * math.sqrt(3 / 1e5))
    normal = normal_gains(2.0, 0.5, (100_000,), generator())
    assert normal.mean().item() == pytest.approx(2.0, abs=4 * 0.5 / math.sqrt(1e5))
    assert normal.std().item() == pytest.approx(0.5, rel=4 / math.sqrt(2e5))
    assert torch.equal(normal, normal_gains(2.0, 0.5, (100_000,), generator()))


def test_bad_values():
    with pytest.raises(SignalError, match="delta .* not -1"):
        uniform_gains(-1, (3,), generator())
    with pytest.raises(SignalError, match="sigma .* not nan"):
        normal_gains(1.0, math.nan, (3,), generator())
