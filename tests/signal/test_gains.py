import math

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from pinnsig.activations import Tanh, parse_activation
from pinnsig.core.errors import SignalError
from pinnsig.initializers import Calibrated, GivenNoise, Xavier
from pinnsig.signal import (
    RandomNetwork,
    effective_gains,
    gain_variance,
    normal_inputs,
    ratio_profile,
    standardised_gains,
    variance_ratio,
)


def test_gains_by_the_papers_sum():
    network = RandomNetwork(Tanh(), Calibrated(), 3, 5)
    *_, layer = network.layers(normal_inputs(2, 5))
    found = effective_gains(layer)
    w, x = layer.weight, layer.x_in
    for m in range(2):
        for i in range(5):
            rest = sum(w[i, j] * x[m, j] / x[m, i] for j in range(5) if j != i)
            assert found[m, i].item() == pytest.approx((w[i, i] + rest).item(), rel=1e-9)


def test_gain_variance_by_the_lemma():
    x = torch.tensor([[1.0, -2.0, 4.0]], dtype=torch.float64)
    expected = [
        0.09 / 3 * (1 + 4 + 16),
        0.09 / 3 * (1 + 1 / 4 + 4),
        0.09 / 3 * (1 + 1 / 16 + 1 / 4),
    ]
    assert gain_variance(x, 0.3)[0].tolist() == pytest.approx(expected)
    # its bounds: sigma^2 / N, and sigma^2 M^2 / epsilon^2
    assert gain_variance(x, 0.3).min() >= 0.03
    assert gain_variance(x, 0.3).max() <= 0.09 * 16


@pytest.mark.parametrize("name", ["tanh", "0.1*tanh(3x)"])
def test_gains_are_normal_given_the_signal(name):
    network = RandomNetwork(parse_activation(name), Calibrated(p=0.3), 40, 64, seed=1)
    z = standardised_gains(network, normal_inputs(1, 64)).flatten().numpy()
    assert kstest(z, "norm").pvalue > 1e-3
    assert abs(np.mean(z)) < 4 / math.sqrt(z.size)
    assert abs(np.var(z) - 1) < 4 * math.sqrt(2 / z.size)


def test_ratio_tends_to_one_above_omega_only():
    # theorem 4.6: |x_i| -> xi in every unit, so that R -> 1
    x = normal_inputs(4, 32)

    def last(epsilon: float) -> tuple[float, float]:
        network = RandomNetwork(Tanh(), GivenNoise(sigma=0.1, epsilon=epsilon), 50, 32)
        network_ratio = ratio_profile(network, x, gamma=0.3)
        return network_ratio.median[-1], network_ratio.within[-1]

    above, at, below = last(1.0), last(0.0), last(-0.5)
    assert above[0] == pytest.approx(1.0, abs=0.05)
    assert above[1] > 0.95
    assert at[1] < 0.6
    assert below[1] < 0.4


def test_ratio_of_equal_magnitudes_is_one():
    assert torch.equal(variance_ratio(torch.tensor([[2.0, -2.0]])), torch.ones(1, 2))


def test_bad_values():
    x = normal_inputs(1, 3)
    (layer,) = RandomNetwork(Tanh(), Calibrated(), 1, 4).layers(x)
    with pytest.raises(SignalError, match="square"):
        effective_gains(layer)
    with pytest.raises(SignalError, match="D \\+ Z"):
        standardised_gains(RandomNetwork(Tanh(), Xavier(), 2, 3), x)
