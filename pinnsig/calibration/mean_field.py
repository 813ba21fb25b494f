"""Mean-field maps: how variance and gradient norm pass from layer to layer.

Gaussian weights w_ij ~ N(0, sigma_w^2 / N) have weight variance sigma_w^2 (a row's expected sum of
squares); the calibrated scheme D + Z has omega^2 + sigma_z^2 in its place. q is the variance of a
layer's preactivation h.
"""

import numpy as np
import torch

from pinnsig.activations import Activation
from pinnsig.calibration.quadrature import Array, normal_expectation
from pinnsig.core.errors import CalibrationError
from pinnsig.core.memory import require

LARGEST_SLOPE = 1e150  # whose square is a number
_LINEAR = 1e-280  # E[f^2] below: f is linear there, and f^2 would leave the normal doubles
_BLOCK = 2048  # torch starts threads above, whose meeting costs more than these few values


def evaluate(activation: Activation, x: Array, order: int) -> Array:
    """f and its derivatives up to `order` in float64; shape (order + 1, *x.shape)."""
    flat = torch.tensor(x, dtype=torch.float64).reshape(-1)
    blocks = [torch.stack(activation.derivatives(b, order)) for b in flat.split(_BLOCK)]
    return torch.cat(blocks, dim=1).numpy().reshape(order + 1, *x.shape)


def second_moments(
    activation: Activation, q: float, nodes: int | None = None
) -> tuple[float, float]:
    """(E[f(h)^2], E[f'(h)^2]) for h ~ N(0, q).

    Raises:
        CalibrationError: q is not positive and finite, the slope f'(0) of an odd-sigmoid f is too
            extreme for its square to be a number, or the quadrature does not settle.
    """
    if not 0 <= q < np.inf:
        raise CalibrationError(f"the variance q must be >= 0 and finite, not {q}")
    if not activation.odd_sigmoid:  # neither is f(0) = 0, nor need f'(0) tell the size of f'

        def plain(z: Array) -> Array:
            return evaluate(activation, np.sqrt(q) * z, 1) ** 2

        value, slope = normal_expectation(plain, nodes)
        return float(value), float(slope)
    if not 1 / LARGEST_SLOPE <= activation.slope <= LARGEST_SLOPE:
        raise CalibrationError(
            f"f'(0) = {activation.slope:g} of {activation} is too extreme: a scale that puts it "
            f"between {1 / LARGEST_SLOPE:g} and {LARGEST_SLOPE:g} can be"
        )
    slope = activation.slope**2
    if slope * q < _LINEAR:
        return slope * q, slope

    def squares(z: Array) -> Array:
        f, df = evaluate(activation, np.sqrt(q) * z, 1)
        return np.stack([f**2, q * df**2])  # both in the unit of a variance

    value, slope = normal_expectation(squares, nodes)
    return float(value), float(slope) / q


def variance_map(
    activation: Activation,
    q: float,
    weight_variance: float,
    sigma_b: float = 0.0,
    nodes: int | None = None,
) -> float:
    """Next layer's preactivation variance, weight_variance E[f(sqrt(q) z)^2] + sigma_b^2.

    Source: Poole et al. 2016; Schoenholz et al. 2017.
    """
    return weight_variance * second_moments(activation, q, nodes)[0] + sigma_b**2


def chi(
    activation: Activation, q: float, weight_variance: float, nodes: int | None = None
) -> float:
    """Gradient amplification of a layer, chi = weight_variance E[f'(sqrt(q) z)^2].

    Source: paper, section 3 for Gaussian weights, eq. (chi-proposed) for the calibrated scheme.
    """
    return weight_variance * second_moments(activation, q, nodes)[1]


def layerwise(
    activation: Activation,
    depth: int,
    weight_variance: float,
    sigma_b: float = 0.0,
    q_0: float = 1.0,
    nodes: int | None = None,
) -> tuple[Array, Array]:
    """Preactivation variance q and chi of each hidden layer.

    Args:
        activation: the hidden activation f.
        depth: number of hidden layers, L.
        weight_variance: sigma_w^2, or omega^2 + sigma_z^2 for the calibrated scheme.
        sigma_b: standard deviation of the biases.
        q_0: variance of the network's input; q_1 = weight_variance q_0 + sigma_b^2.
        nodes: see `normal_expectation`.

    Returns:
        (q, chi), each of shape (depth,), for layers 1 to L.

    Raises:
        CalibrationError: depth < 1 or too large for memory, or a variance is not finite.
    """
    if not depth >= 1:
        raise CalibrationError(f"depth must be at least 1, not {depth}")
    require(16 * depth, f"figures of {depth:,} layers", "take fewer layers", error=CalibrationError)
    q, chis = np.empty(depth), np.empty(depth)
    variance = weight_variance * q_0 + sigma_b**2
    for layer in range(depth):
        value, slope = second_moments(activation, variance, nodes)
        q[layer], chis[layer] = variance, weight_variance * slope
        following = weight_variance * value + sigma_b**2
        if following == variance:  # a fixed point: the remaining layers are alike
            q[layer:], chis[layer:] = variance, chis[layer]
            break
        variance = following
    return q, chis


def layerwise_chi(
    activation: Activation,
    depth: int,
    weight_variance: float,
    sigma_b: float = 0.0,
    q_0: float = 1.0,
    nodes: int | None = None,
) -> Array:
    """The chi of each hidden layer, shape (depth,); see `layerwise`."""
    return layerwise(activation, depth, weight_variance, sigma_b, q_0, nodes)[1]
