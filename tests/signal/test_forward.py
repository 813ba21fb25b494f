import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from pinnsig.activations import Tanh
from pinnsig.core.errors import SignalError
from pinnsig.initializers import Calibrated, EdgeOfChaos
from pinnsig.signal import (
    RandomNetwork,
    correlation,
    histogram,
    log_spaced,
    normal_inputs,
    profile,
    sign_changes,
    spread,
)


def test_spread_in_closed_form():
    centres = (np.arange(10) + 0.5) / 5 - 1
    assert spread(centres, 1.0, bins=10) == pytest.approx(1.0, rel=1e-15)
    assert spread(np.zeros(100), 1.0) == 0.0
    assert spread(np.array([-0.9, 0.9]), 1.0, bins=8) == pytest.approx(math.log(2) / math.log(8))
    assert spread(np.array([1.0 + 1e-7, 0.99]), 1.0) == 0.0  # past the bound, in the last bin


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 80), st.sampled_from([1e-4, 1.0, 1e3]))
def test_spread_against_scipy_and_its_laws(seed, bins, scale):
    x = np.random.default_rng(seed).normal(0, 0.4, 300)
    p, edges = histogram(scale * x, scale, bins)
    assert p.sum() == pytest.approx(1.0)
    assert len(edges) == bins + 1
    found = spread(scale * x, scale, bins)
    assert found == pytest.approx(entropy(p) / math.log(bins), abs=1e-12)
    assert 0 <= found <= 1
    assert spread(scale * np.abs(x), scale, bins) <= found + 1e-12 or bins % 2


def test_profile_against_the_layers():
    network = RandomNetwork(Tanh(), Calibrated(), 6, 10)
    x = normal_inputs(4, 10)
    found = profile(network, x)
    assert found.layer.tolist() == [1, 2, 3, 4, 5, 6]
    for i, layer in enumerate(network.layers(x)):
        values, h = layer.x.numpy(), layer.h.numpy()
        assert found.low[i] == values.min()
        assert found.high[i] == values.max()
        assert found.variance[i] == pytest.approx(np.mean(h**2))
        assert found.spread[i] == spread(values, 1.0)
        assert found.negative_rate[i] == pytest.approx(np.mean(values * x.numpy() < 0))
        cosines = [
            h[a] @ h[a + 1] / np.linalg.norm(h[a]) / np.linalg.norm(h[a + 1]) for a in (0, 2)
        ]
        assert found.correlation[i] == pytest.approx(np.mean(cosines))


def test_some_layers_only():
    network = RandomNetwork(Tanh(), EdgeOfChaos(), 12, 10)
    x = normal_inputs(3, 10)
    every, some = profile(network, x), profile(network, x, at=[2, 12])
    assert some.layer.tolist() == [2, 12]
    assert some.spread.tolist() == every.spread[[1, 11]].tolist()
    with pytest.raises(SignalError, match="layer 13 is not there"):
        profile(network, x, at=[13])


def test_signs_are_those_of_the_chains():
    # y_0 = 1, y_{l+1} = f(a_i y_l) with a_i = h_i / x_i: paper, appendix B.4
    network = RandomNetwork(Tanh(), Calibrated(), 8, 16)
    x = normal_inputs(5, 16)
    y = torch.ones_like(x)
    for layer in network.layers(x):
        y = torch.tanh(layer.h / layer.x_in * y)
    assert torch.equal((y < 0).double().mean(1), sign_changes(x, network.last(x)))


def test_signs_where_inputs_are_repeated():
    x_0 = torch.tensor([[1.0, -1.0]])
    assert sign_changes(x_0, torch.tensor([[2.0, -3.0, -1.0, -1.0, 0.5]])).item() == 0.2


def test_correlation():
    h = torch.tensor([[1.0, 0.0], [1.0, 1.0], [2.0, 0.0], [-1.0, 0.0], [5.0, 5.0]])
    assert correlation(h) == pytest.approx((math.sqrt(0.5) - 1) / 2)
    assert math.isnan(correlation(h[:1]))


def test_float32_against_float64():
    network = RandomNetwork(Tanh(), Calibrated(p=0.1), 40, 32)
    single = profile(network, normal_inputs(8, 32, dtype=torch.float32))
    double = profile(network, normal_inputs(8, 32))
    np.testing.assert_allclose(single.variance, double.variance, rtol=1e-3)


def test_deep_network_without_noise_is_the_scalar_iteration():
    # p = 0: x -> tanh(x) in every unit, x ~ sqrt(3 / (2 l))
    network = RandomNetwork(Tanh(), Calibrated(p=0.0), 2000, 4)
    last = network.last(normal_inputs(2, 4)).abs()
    assert last.max().item() == pytest.approx(math.sqrt(3 / 4000), rel=0.01)


def test_log_spaced():
    assert log_spaced(1) == [1]
    assert log_spaced(3) == [1, 2, 3]
    layers = log_spaced(100_000, 20)
    assert layers[0] == 1
    assert layers[-1] == 100_000
    assert len(layers) <= 20


def test_bad_values():
    with pytest.raises(SignalError, match="2 bins, not 1"):
        spread(np.ones(3), 1.0, bins=1)
    with pytest.raises(SignalError, match="finite"):
        spread(np.array([np.nan]), 1.0)
