import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnsig.activations import Tanh, parse_activation
from pinnsig.calibration import negative_rate, sigma_star, target_negative_rate
from pinnsig.core.errors import SignalError
from pinnsig.initializers import Calibrated
from pinnsig.signal import (
    RandomNetwork,
    Rate,
    fit_exponential,
    network_rates,
    normal_inputs,
    sign_changes,
    surrogate_rate,
    surrogate_target,
)


def agree(a: Rate, b: Rate | float) -> bool:
    other = b if isinstance(b, Rate) else Rate(b, 0.0)
    return abs(a.value - other.value) < 4 * math.hypot(a.error, other.error)


@pytest.mark.parametrize(
    ("sigma", "depth", "omega"), [(0.5, 20, 1.0), (2.0, 3, 1.0), (3e-4, 9, 1e-3)]
)
def test_surrogate_against_the_closed_form(sigma, depth, omega):
    assert agree(surrogate_rate(sigma, depth, omega), negative_rate(sigma, depth, omega))


@settings(deadline=None, max_examples=40)
@given(st.floats(1e-6, 0.4999), st.integers(1, 10_000), st.floats(1e-6, 1e6))
def test_sigma_star_inverts_the_rate(p, depth, omega):
    # where p is near 1/2 the rate has lost it: compare 1 - 2 p
    found = negative_rate(sigma_star(p, depth, omega), depth, omega)
    assert 1 - 2 * found == pytest.approx(1 - 2 * p, rel=1e-9)
    assert found == pytest.approx(p, rel=1e-9)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.05, 5.0), st.floats(1.01, 3.0), st.integers(1, 500))
def test_rate_grows_with_the_noise(sigma, factor, depth):
    assert negative_rate(sigma, depth) <= negative_rate(factor * sigma, depth) <= 0.5


@pytest.mark.parametrize("name", ["tanh", "10*erf(2x)"])
def test_network_rate_against_networks_with_matrices(name):
    f = parse_activation(name)
    depth, width, networks = 6, 16, 400
    initializer = Calibrated(p=0.3)
    sigma_z = sigma_star(0.3, depth, f.omega)
    found = network_rates(f, sigma_z, depth, width, networks=2000)[-1]
    shares = []
    for seed in range(networks):
        x = normal_inputs(1, width, seed=seed)
        last = RandomNetwork(f, initializer, depth, width, seed).last(x)
        shares.append(sign_changes(x, last).item())
    real = Rate(float(np.mean(shares)), float(np.std(shares)) / math.sqrt(networks))
    assert agree(found, real)


def test_first_layer_in_closed_form():
    # width 1: the gain is omega + sigma_z z, just the surrogate's
    found = network_rates(Tanh(), 0.8, 1, 1, networks=100_000)[0]
    assert agree(found, negative_rate(0.8, 1))


def test_network_rate_without_noise_and_with_nothing_else():
    assert [r.value for r in network_rates(Tanh(), 0.0, 5, 8, networks=10)] == [0.0] * 5
    gaussian = network_rates(Tanh(), 1.0, 3, 16, networks=3000, diagonal=0.0)[-1]
    assert agree(gaussian, 0.5)


def test_float32_and_float64_agree_and_seeds_repeat():
    single = network_rates(Tanh(), 0.4, 20, 32)[-1]
    double = network_rates(Tanh(), 0.4, 20, 32, dtype=torch.float64)[-1]
    assert agree(single, double)
    assert network_rates(Tanh(), 0.4, 20, 32)[-1] == single
    assert network_rates(Tanh(), 0.4, 20, 32, seed=1)[-1] != single


def test_surrogate_target_reaches_the_wanted_rate():
    found = surrogate_target(Tanh(), 20, 32, p_real=0.4, networks=500)
    assert found.reached.value == pytest.approx(0.4, abs=1e-3)
    assert sigma_star(found.p, 20) == pytest.approx(found.sigma_z, rel=1e-9)
    fresh = network_rates(Tanh(), found.sigma_z, 20, 32, networks=500, seed=9)[-1]
    assert abs(fresh.value - 0.4) < 4 * math.hypot(fresh.error, found.reached.error)
    # a scaled activation has the same target for inputs of its own scale
    scaled = surrogate_target(100 * Tanh(), 20, 32, networks=500, input_scale=100.0)
    assert scaled.p == pytest.approx(found.p, rel=1e-2)


def test_the_papers_fit():
    # p_sur(L) = 2.05 exp(-0.133 L) for tanh at width 64
    depths = [10, 20, 35, 50, 75, 100]
    found = [surrogate_target(Tanh(), d, 64, networks=600) for d in depths]
    for target in found[1:]:
        off = math.log(target.p / target_negative_rate(target.depth))
        assert abs(off) < 0.1 + 4 * target.log_error
    fit = fit_exponential(depths, [target.p for target in found])
    assert fit.rate == pytest.approx(0.133, rel=0.06)
    assert 1.4 < fit.amplitude < 2.6


def test_fit_is_exact_on_an_exponential():
    depths = [1, 10, 20, 30, 50]
    fit = fit_exponential(depths, [0.4, *(2.05 * math.exp(-0.133 * d) for d in depths[1:])])
    assert fit.amplitude == pytest.approx(2.05, rel=1e-10)
    assert fit.rate == pytest.approx(0.133, rel=1e-10)
    assert fit.at(40) == pytest.approx(2.05 * math.exp(-0.133 * 40))
    assert fit.rate_error < 1e-8


def test_bad_values():
    with pytest.raises(SignalError, match="sigma_z -1"):
        network_rates(Tanh(), -1, 3, 3)
    with pytest.raises(SignalError, match="not 0.5"):
        surrogate_target(Tanh(), 3, 3, p_real=0.5)
    with pytest.raises(SignalError, match="three depths"):
        fit_exponential([10, 20], [0.3, 0.1])
