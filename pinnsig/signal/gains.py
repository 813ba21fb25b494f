"""Effective gains: every unit of a network as a scalar chain x_i' = f(a_i x_i)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pinnsig.calibration.quadrature import Array
from pinnsig.core.errors import SignalError
from pinnsig.signal.network import Layer, RandomNetwork


def effective_gains(layer: Layer) -> Tensor:
    """a_i = h_i / x_i of a square layer, shape (M, N).

    Raises:
        SignalError: the layer has another number of inputs than units.

    Source: paper, section 3, eq. (prelim-signal).
    """
    if layer.h.shape != layer.x_in.shape:
        raise SignalError("effective gains pair units with inputs: the layer must be square")
    return layer.h / layer.x_in


def variance_ratio(x: Tensor) -> Tensor:
    """R_i = |x|^2 / (N x_i^2) for activations of shape (M, N).

    Given x, the gain a_i has variance sigma_z^2 R_i (Lemma 4.5) in a calibrated layer.
    """
    return x.square().mean(1, keepdim=True) / x.square()


def gain_variance(x: Tensor, sigma_z: float) -> Tensor:
    """Var(a_i | x) = sigma_z^2 / N (1 + sum over j != i of (x_j / x_i)^2), shape (M, N).

    Source: paper, lemma 4.5.
    """
    return sigma_z**2 * variance_ratio(x)


def standardised_gains(network: RandomNetwork, x: Tensor) -> Tensor:
    """(a_i - D_ii) / sqrt(Var(a_i | x)) of all layers, shape (L, M, N): N(0, 1) by Lemma 4.5.

    Raises:
        SignalError: the initialiser has no diagonal, or no noise; or N_0 is not the width.
    """
    scales = network.scales
    if scales.diagonal is None or not scales.sigma_z:
        raise SignalError("effective gains are compared for W = D + Z with sigma_z > 0 only")
    return torch.stack(
        [
            (effective_gains(layer) - scales.diagonal)
            / gain_variance(layer.x_in, scales.sigma_z).sqrt()
            for layer in network.layers(x)
        ]
    )


@dataclass(frozen=True)
class RatioProfile:
    """The ratio R over all inputs and units of each layer's activations; arrays of shape (L,).

    Attributes:
        median: half of the units lie below.
        within: share of units with |R - 1| <= gamma.
    """

    median: Array
    within: Array


def ratio_profile(network: RandomNetwork, x: Tensor, gamma: float = 0.1) -> RatioProfile:
    """R of every layer: it tends to 1 where the diagonal is above omega, and nowhere else.

    Source: paper, theorem 4.6.
    """
    median, within = [], []
    for layer in network.layers(x):
        ratio = variance_ratio(layer.x)
        median.append(ratio.median().item())
        within.append(((ratio - 1).abs() <= gamma).double().mean().item())
    return RatioProfile(np.array(median), np.array(within))
