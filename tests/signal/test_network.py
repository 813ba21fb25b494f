import weakref

import pytest
import torch

from pinnsig.activations import Tanh, parse_activation
from pinnsig.core.errors import SignalError
from pinnsig.core.seeds import weight_generator
from pinnsig.initializers import Calibrated, Gaussian, GivenNoise, parse_initializer
from pinnsig.networks import FFNN
from pinnsig.signal import RandomNetwork, normal_inputs

SPECS = ["calibrated", "calibrated:sigma_b=0.1", "eoc", "xavier", "he", "orthogonal"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_same_network_as_one_held_in_memory(spec, dtype):
    initializer = parse_initializer(spec)
    f = 1.3 * Tanh()
    network = FFNN(3, 1, 5, 8, f, dtype=dtype)
    initializer.fill(network, weight_generator(7))
    x = normal_inputs(4, 3, dtype=dtype)
    expected = x
    for linear, layer in zip(
        network.linears, RandomNetwork(f, initializer, 5, 8, seed=7).layers(x), strict=False
    ):
        assert torch.equal(layer.weight, linear.weight)
        assert torch.equal(layer.x_in, expected)
        expected = f(linear(expected)).detach()
        assert torch.equal(layer.x, expected)
        assert layer.x.dtype == dtype


@pytest.mark.parametrize("depth", [1, 2, 5, 16, 17])
def test_reversed(depth):
    network = RandomNetwork(Tanh(), Calibrated(sigma_b=0.1), depth, 6, seed=1)
    x = normal_inputs(3, 2)
    there, back = list(network.layers(x)), list(network.layers_reversed(x))
    assert [n.index for n in back] == list(range(depth, 0, -1))
    for a, b in zip(there, reversed(back), strict=True):
        assert torch.equal(a.weight, b.weight)
        assert torch.equal(a.x, b.x)
    assert torch.equal(network.last(x), there[-1].x)


@pytest.mark.parametrize("factor", [1e-4, 1e3])
@pytest.mark.parametrize("spec", ["calibrated", "eoc:sigma_b=0", "orthogonal"])
def test_scale_equivariance(spec, factor):
    # a f with omega / a passes on a times the signal
    initializer, f = parse_initializer(spec), parse_activation("softsign2")
    x = normal_inputs(4, 10)
    base = RandomNetwork(f, initializer, 30, 10).last(x)
    scaled = RandomNetwork(factor * f, initializer, 30, 10).last(factor * x)
    assert torch.allclose(scaled / factor, base, rtol=1e-9, atol=1e-12)


def test_odd_without_biases():
    network = RandomNetwork(Tanh(), Calibrated(), 20, 8)
    x = normal_inputs(4, 8)
    assert torch.equal(network.last(-x), -network.last(x))


def test_layers_are_not_kept():
    # memory does not grow with depth
    layers = RandomNetwork(Tanh(), Calibrated(), 5, 8).layers(normal_inputs(2, 8))
    first = weakref.ref(next(layers).weight)
    next(layers)
    assert first() is None


def test_noise_of_ones_own():
    f, x = 2 * Tanh(), normal_inputs(3, 6)
    found = RandomNetwork(f, Calibrated(p=0.3), 9, 6)
    given = RandomNetwork(f, GivenNoise(sigma=found.scales.noise), 9, 6)
    assert torch.equal(given.last(x), found.last(x))
    xavier = RandomNetwork(f, parse_initializer("xavier"), 9, 6)
    gaussian = RandomNetwork(f, Gaussian(sigma_w=1.0), 9, 6)
    assert torch.allclose(gaussian.last(x), xavier.last(x), rtol=1e-12)


def test_inputs_are_normal_and_apart_from_the_weights():
    x = normal_inputs(400, 50, seed=3)
    assert abs(x.mean().item()) < 4 / 20_000**0.5
    assert abs(x.std().item() - 1) < 4 / 40_000**0.5
    assert torch.equal(x, normal_inputs(400, 50, seed=3))
    assert not torch.equal(x, normal_inputs(400, 50, seed=4))
    assert normal_inputs(2, 2, dtype=torch.float32).dtype == torch.float32


def test_bad_values():
    with pytest.raises(SignalError, match="depth .* not 0"):
        RandomNetwork(Tanh(), Calibrated(), 0, 8)
    with pytest.raises(SignalError, match="width .* not -2"):
        RandomNetwork(Tanh(), Calibrated(), 3, -2)
    with pytest.raises(SignalError, match=r"\(M, N_0\), not \(4,\)"):
        RandomNetwork(Tanh(), Calibrated(), 3, 4).last(torch.zeros(4))
