import math

import numpy as np
import pytest
import torch
from torch.func import jacrev

from pinnsig.activations import Tanh, parse_activation
from pinnsig.initializers import Calibrated, EdgeOfChaos, Orthogonal, parse_initializer
from pinnsig.signal import (
    RandomNetwork,
    end_to_end_singular_values,
    gradient_norms,
    layer_chi,
    layer_jacobian,
    normal_inputs,
    singular_values,
)


@pytest.mark.parametrize("spec", ["calibrated", "eoc"])
def test_gradient_norms_against_autograd(spec):
    network = RandomNetwork(Tanh(), parse_initializer(spec), 7, 6, seed=2)
    x = normal_inputs(3, 4)
    layers = list(network.layers(x))
    y, preactivations = x, []
    for layer in layers:
        bias = layer.h - layer.x_in @ layer.weight.T
        h = (y @ layer.weight.T + bias).requires_grad_()
        preactivations.append(h)
        y = torch.tanh(h)
    gradients = torch.autograd.grad(0.5 * y.square().sum(), preactivations)
    expected = torch.stack([g.norm(dim=1) for g in gradients])
    assert torch.allclose(gradient_norms(network, x), expected, rtol=1e-12)


def test_gradient_of_a_network_without_noise():
    # x -> f(omega x) in every unit: the chain rule by hand
    f = parse_activation("2*tanh")
    network = RandomNetwork(f, Calibrated(p=0.0), 4, 1)
    x = torch.tensor([[0.3]], dtype=torch.float64)
    h = [0.15]
    for _ in range(3):
        h.append(math.tanh(h[-1]))
    slopes = [2 / math.cosh(v) ** 2 for v in h]
    norms = gradient_norms(network, x)[:, 0]
    expected = 2 * math.tanh(h[3]) * slopes[3]
    assert norms[3].item() == pytest.approx(expected, rel=1e-13)
    for i in (2, 1, 0):
        expected *= 0.5 * slopes[i]
        assert norms[i].item() == pytest.approx(expected, rel=1e-13)


def test_jacobians_against_autograd():
    network = RandomNetwork(Tanh(), EdgeOfChaos(), 5, 6)
    x = normal_inputs(2, 6)
    extremes = singular_values(network, x)
    product = torch.eye(6, dtype=torch.float64)
    for i, layer in enumerate(network.layers(x)):
        bias = layer.h - layer.x_in @ layer.weight.T

        def step(v, layer=layer, bias=bias):
            return torch.tanh(layer.weight @ v + bias[1])

        jacobian = jacrev(step)(layer.x_in[1])
        assert isinstance(jacobian, torch.Tensor)
        assert torch.allclose(layer_jacobian(network, layer, which=1), jacobian, rtol=1e-12)
        own = layer_jacobian(network, layer)
        values = np.linalg.svd(own.numpy(), compute_uv=False)
        assert extremes[i] == pytest.approx([values[-1], values[0]])
        product = own @ product
    assert end_to_end_singular_values(network, x) == pytest.approx(
        np.linalg.svd(product.numpy(), compute_uv=False)
    )


def test_measured_chi_is_the_mean_squared_singular_value():
    network = RandomNetwork(Tanh(), Calibrated(), 3, 12)
    x = normal_inputs(1, 12)
    found = layer_chi(network, x)
    for i, layer in enumerate(network.layers(x)):
        values = torch.linalg.svdvals(layer_jacobian(network, layer))
        assert found.measured[i] == pytest.approx(values.square().mean().item())


def test_chi_without_noise_is_the_slope():
    # sigma_z = 0: chi = omega^2 E[f'^2], 1 for a signal that has died down
    network = RandomNetwork(3.0 * Tanh(), Calibrated(p=0.0), 4, 5)
    found = layer_chi(network, 1e-9 * normal_inputs(3, 5))
    for chi in (found.measured, found.formula, found.mean_field):
        assert chi == pytest.approx(1.0, abs=1e-12)
    larger = layer_chi(network, normal_inputs(3, 5))
    assert larger.measured == pytest.approx(larger.formula, rel=1e-12)


def test_wide_gaussian_network_follows_mean_field():
    network = RandomNetwork(Tanh(), EdgeOfChaos(), 5, 1500)
    found = layer_chi(network, normal_inputs(2, 1500))
    assert found.measured == pytest.approx(found.mean_field, rel=0.03)
    assert found.formula == pytest.approx(found.mean_field, rel=0.03)


def test_orthogonal_layers_at_small_signals_are_isometries():
    network = RandomNetwork(Tanh(), Orthogonal(), 4, 9)
    assert singular_values(network, 1e-9 * normal_inputs(1, 9)) == pytest.approx(1.0, abs=1e-12)
