"""The health of any network."""

import math

import numpy as np
import pytest
import torch

from pinnsig.activations import Tanh
from pinnsig.initializers import Calibrated, GivenNoise, He
from pinnsig.networks import FFNN, Network, parse_network
from pinnsig.signal import RandomNetwork, network_health, normal_inputs, profile


def health(text, initializer, depth=10, width=12, f=None, seed=0):
    x = normal_inputs(16, width)
    network = parse_network(text).build(width, 1, depth, width, f or Tanh(), torch.float64)
    initializer.fill(network, torch.Generator().manual_seed(seed))
    return network_health(network, initializer, x), network, x


def test_states_of_a_feed_forward_network_are_its_activations():
    f, initializer, x = 2.0 * Tanh(), Calibrated(p=0.3), normal_inputs(8, 12)
    streamed = RandomNetwork(f, initializer, 10, 12, seed=5)
    network = FFNN(12, 1, 10, 12, f, torch.float64)
    with torch.no_grad():
        for layer, own in zip(streamed.layers(x), network.linears, strict=False):
            own.weight.copy_(layer.weight)
            own.bias.zero_()
    report = network_health(network, initializer, x)
    expected = profile(streamed, x)
    for name in ("low", "high", "spread", "negative_rate"):
        found, wanted = getattr(report.profile, name), getattr(expected, name)
        assert found == pytest.approx(wanted, rel=1e-12)
    assert report.rms == pytest.approx(float(streamed.last(x).square().mean().sqrt()) / 2)


def test_gradients_are_those_of_a_linear_loss():
    report, network, x = health("resnet", Calibrated(p=0.3), depth=5)
    assert isinstance(network, Network)
    leaf = x.clone().requires_grad_()
    *_, last = network.states(leaf)
    v = torch.randn(last.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    (slope,) = torch.autograd.grad((v * last).sum(), leaf)
    ratios = (slope.norm(dim=1) / v.norm(dim=1)).numpy()
    assert report.gradient_ratio == pytest.approx(np.median(ratios))
    assert len(report.gradients) == len(report.chis) == 3
    assert report.gradients[-1] == 1.0
    assert report.chi**3 == pytest.approx(float(slope.square().sum() / v.square().sum()))


@pytest.mark.parametrize("text", ["resnet", "pirate", "modified-mlp"])
def test_without_noise_nothing_is_lost(text):
    report, *_ = health(text, GivenNoise(sigma=0.0))
    assert report.grade == "good"
    assert report.negative_rate == 0
    assert math.isnan(report.saturation)
    assert len(set(np.round(report.profile.variance, 12))) == 1  # the same all along the depth


def test_a_network_that_loses_its_gradients_is_bad():
    report, *_ = health("adaptive", He(), depth=60, f=1e-2 * Tanh())
    assert report.grade == "bad"
    assert "vanish" in report.verdict
