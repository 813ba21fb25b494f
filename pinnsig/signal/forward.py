"""How a signal goes forward through a freshly initialised network."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pinnsig.calibration.quadrature import Array
from pinnsig.core.errors import SignalError
from pinnsig.signal.network import Layer, RandomNetwork
from pinnsig.signal.spread import BINS, spread


@dataclass(frozen=True)
class Profile:
    """Statistics of chosen hidden layers over all inputs and units; arrays of one shape.

    Attributes:
        layer: l.
        low: smallest activation.
        high: largest activation.
        variance: mean square of the preactivations h, the q of mean-field theory.
        spread: normalised histogram entropy over [-bound, bound].
        correlation: mean cosine between the h of inputs 1 and 2, 3 and 4, ...; NaN for one input.
        negative_rate: share of units whose sign is not that of the input x_{i mod N_0}.
    """

    layer: Array
    low: Array
    high: Array
    variance: Array
    spread: Array
    correlation: Array
    negative_rate: Array


def profile(
    network: RandomNetwork, x: Tensor, at: Sequence[int] | None = None, bins: int = BINS
) -> Profile:
    """Statistics along the depth.

    Args:
        network: the layers.
        x: inputs, shape (M, N_0).
        at: the layers wanted; None for all of them.
        bins: B of the spread.

    Raises:
        ActivationError: the activation is not odd-sigmoid.
        SignalError: a layer is wanted that is not there; or activations are not finite.
    """
    network.activation.require_odd_sigmoid("the profile")
    wanted = set(range(1, network.depth + 1) if at is None else at)
    outside = sorted(layer for layer in wanted if not 1 <= layer <= network.depth)
    if outside:
        raise SignalError(f"layer {outside[0]} is not there: layers go from 1 to {network.depth}")
    rows = [
        measure(layer, x, network.activation.bound, bins)
        for layer in network.layers(x)
        if layer.index in wanted
    ]
    return Profile(*np.array(rows, dtype=np.float64).T)


def measure(layer: Layer, x_0: Tensor, bound: float, bins: int = BINS) -> tuple[float, ...]:
    """The fields of `Profile` for one layer, in order."""
    return (
        layer.index,
        layer.x.min().item(),
        layer.x.max().item(),
        layer.h.double().square().mean().item(),
        spread(layer.x.double().cpu().numpy(), bound, bins),
        correlation(layer.h),
        sign_changes(x_0, layer.x).mean().item(),
    )


def correlation(h: Tensor) -> float:
    """Mean cosine between rows 1 and 2, 3 and 4, ...; NaN where there is no such pair."""
    h = torch.nn.functional.normalize(h.double(), dim=1)
    pairs = len(h) // 2
    return (h[0 : 2 * pairs : 2] * h[1 : 2 * pairs : 2]).sum(1).mean().item()


def sign_changes(x_0: Tensor, x: Tensor) -> Tensor:
    """For each input, the share of units i with another sign than x_0's entry i mod N_0; (M,).

    An odd increasing f keeps signs, so that the chains y_{l+1} = f(a_i y_l) with the effective
    gains a_i = h_i / x_i of the network are negative just there.

    Source: paper, appendix B.4.
    """
    start = x_0
    if x.shape[1] != x_0.shape[1]:
        start = x_0[:, torch.arange(x.shape[1], device=x.device) % x_0.shape[1]]
    return ((x < 0) != (start < 0)).float().sum(1).double() / x.shape[1]


def log_spaced(depth: int, count: int = 100) -> list[int]:
    """About `count` layers from 1 to depth, evenly spaced in the logarithm."""
    return sorted({round(v) for v in np.geomspace(1, depth, min(count, depth))})
