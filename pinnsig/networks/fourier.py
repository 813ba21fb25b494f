"""Random Fourier features: fixed sines and cosines of random frequencies, then an FFNN."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import linear as apply_linear

from pinnsig.activations import Activation, sin
from pinnsig.initializers import Initializer
from pinnsig.initializers.base import standard_normal
from pinnsig.networks.base import (
    Network,
    draw,
    hidden_layer_weights,
    hidden_layers,
    linear,
    linear_weights,
    require_memory,
)
from pinnsig.networks.registry import register_network, require_option


class FourierFeatures(nn.Module):
    """sin(2 pi B x) and cos(2 pi B x) = sin(2 pi B x + pi/2), with B ~ N(0, sigma^2) fixed.

    Args:
        inputs: size of the input.
        size: number of features: sines first, then as many cosines, or one fewer.
        sigma: standard deviation of the frequencies.

    Attributes:
        weight: 2 pi B, each row once for a sine and once for a cosine, shape (size, inputs).
        phase: 0 or pi/2, shape (size,).
    """

    weight: Tensor
    phase: Tensor

    def __init__(
        self, inputs: int, size: int, sigma: float, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        super().__init__()
        self.sigma = sigma
        self.sines = (size + 1) // 2
        place = {"dtype": dtype, "device": device}
        self.register_buffer("weight", torch.zeros(size, inputs, **place))
        phase = torch.zeros(size, **place)
        phase[self.sines :] = math.pi / 2
        self.register_buffer("phase", phase)

    def initialize(self, generator: torch.Generator) -> None:
        """Draw the frequencies."""
        size, inputs = self.weight.shape
        rows = 2 * math.pi * self.sigma * standard_normal((self.sines, inputs), generator)
        self.weight.copy_(torch.cat([rows, rows])[:size])

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs of shape (N, inputs) to features of shape (N, size)."""
        return sin(apply_linear(x, self.weight, self.phase))


@register_network("fourier")
class Fourier(Network):
    """An FFNN of `depth` hidden layers on random Fourier features of its inputs.

    Frequencies are of the run's seed, and are not trained. The calibrated start is that of an FFNN
    for the layers behind the features, which have their own law.

    Source: Tancik et al. 2020; Wang, Wang and Perdikaris, Comput. Methods Appl. Mech. Engrg. 384
    (2021) 113938.

    Args:
        inputs, outputs, depth, width, activation: see `FFNN`.
        sigma: standard deviation of the frequencies, in periods per unit of an input. The usual
            one suits smooth solutions; larger ones need more collocation points, between which
            they swing.
        features: how many, half of them sines and half cosines.

    Raises:
        SettingsError: a parameter is out of range, or the weights do not fit into memory.
    """

    keeps_signs = True

    def __init__(
        self,
        inputs: int,
        outputs: int,
        depth: int,
        width: int,
        activation: Activation,
        *,
        sigma: float = 0.25,
        features: int = 64,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__()
        require_option(0 < sigma < math.inf, "fourier", "sigma", "positive and finite", sigma)
        require_option(features >= 1, "fourier", "features", "at least 1", features)
        hidden = hidden_layer_weights(features, depth, width)
        weights = linear_weights(inputs, features) + hidden + linear_weights(width, outputs)
        require_memory(weights, depth, width, dtype, device)
        self.activation = activation
        self.signal_depth = depth
        self.features = FourierFeatures(inputs, features, sigma, dtype, device)
        self.layers = hidden_layers(features, depth, width, dtype, device)
        self.last = linear(width, outputs, dtype, device)

    def initialize(self, initializer: Initializer, generator: torch.Generator) -> None:
        """Draw the frequencies, then all layers in order."""
        scales = initializer.scales(self.activation, self.signal_depth)
        self.features.initialize(generator)
        for layer in (*self.layers, self.last):
            draw(layer, initializer, scales, generator)

    def embed(self, x: Tensor) -> Tensor:
        """The features; see `Network.embed`."""
        return self.features(x)

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """See `Network.states`."""
        for layer in self.layers:
            x = self.activation(layer(x))
            yield x
