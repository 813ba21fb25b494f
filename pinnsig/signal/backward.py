"""How gradients go back through a freshly initialised network."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pinnsig.calibration import layerwise
from pinnsig.calibration.quadrature import Array
from pinnsig.signal.network import Layer, RandomNetwork


def gradient_norms(network: RandomNetwork, x: Tensor) -> Tensor:
    """|delta^l| of every hidden layer for the loss 0.5 |x^L|^2, with delta^l = dloss/dh^l.

    Take float64 inputs for deep networks: float32 underflows at 1e-38.

    Args:
        network: the layers.
        x: inputs, shape (M, N_0), each with a loss of its own.

    Returns:
        Shape (L, M), for layers 1 to L.

    Source: paper, section 4.3, figure on layerwise gradient norms.
    """
    norms = []
    gradient = None
    for layer in network.layers_reversed(x):
        gradient = layer.x if gradient is None else gradient
        delta = gradient * network.activation.derivatives(layer.h, 1)[1]
        norms.append(delta.norm(dim=1))
        gradient = delta @ layer.weight
    return torch.stack(norms[::-1])


@dataclass(frozen=True)
class Chi:
    """The gradient amplification of each hidden layer, by three ways; arrays of shape (L,).

    Attributes:
        measured: mean squared singular value of the layer's Jacobian diag(f'(h)) W, that is
            |J|_F^2 / N_l, mean over the inputs.
        formula: weight variance times the mean of f'(h)^2 over the network's own h.
        mean_field: the same with h ~ N(0, q) and q from the mean-field recursion. The weight
            variance is sigma_w^2, or omega^2 + sigma_z^2 for the calibrated scheme.
    """

    measured: Array
    formula: Array
    mean_field: Array


def layer_chi(network: RandomNetwork, x: Tensor) -> Chi:
    """The chi of every hidden layer; see `Chi`.

    Source: paper, section 3 for Gaussian weights, appendix A.3 for the calibrated scheme.
    """
    scales = network.scales
    measured, formula = [], []
    for layer in network.layers(x):
        slope = network.activation.derivatives(layer.h, 1)[1].double().square().mean(0)
        rows = layer.weight.double().square().sum(1)
        measured.append((slope * rows).mean().item())
        formula.append(scales.weight_variance * slope.mean().item())
    _, mean_field = layerwise(
        network.activation,
        network.depth,
        scales.weight_variance,
        scales.sigma_b,
        q_0=x.double().square().mean().item(),
    )
    return Chi(np.array(measured), np.array(formula), mean_field)


def layer_jacobian(network: RandomNetwork, layer: Layer, which: int = 0) -> Tensor:
    """diag(f'(h)) W of a layer at one of its inputs, shape (N_l, N_{l-1})."""
    return network.activation.derivatives(layer.h[which], 1)[1][:, None] * layer.weight


def singular_values(network: RandomNetwork, x: Tensor) -> Array:
    """Smallest and largest singular value of each layer's Jacobian at the first input; (L, 2)."""
    found = [torch.linalg.svdvals(layer_jacobian(network, n)) for n in network.layers(x[:1])]
    return np.array([(s[-1].item(), s[0].item()) for s in found])


def end_to_end_singular_values(network: RandomNetwork, x: Tensor) -> Array:
    """Singular values of dx^L/dx^0 at the first input, largest first.

    Those below 1e-16 times the largest are lost to rounding, and what is left of them is noise.
    """
    product = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    for layer in network.layers(x[:1]):
        product = layer_jacobian(network, layer) @ product
    return torch.linalg.svdvals(product).double().cpu().numpy()
