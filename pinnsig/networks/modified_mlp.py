"""The modified multilayer perceptron: two encoders, mixed by every hidden layer."""

from collections.abc import Iterator

import torch
from torch import Tensor

from pinnsig.activations import Activation
from pinnsig.initializers import Initializer
from pinnsig.networks.base import (
    Network,
    draw,
    hidden_layer_weights,
    hidden_layers,
    linear,
    linear_weights,
    require_memory,
)
from pinnsig.networks.registry import register_network


@register_network("modified-mlp")
class ModifiedMLP(Network):
    """U = f(W_U x^0 + b_U), V likewise; then x^l = (1 - z) U + z V, z = f(W^l x^(l-1) + b^l).

    `depth` is the number of layers that mix; the two encoders U and V come beside them.

    Calibrated start. All layers are W = D + Z with the noise sigma*(p, L, omega) for L = depth, the
    most noisy layers that a signal goes through. Linearised at 0 every gate z keeps what it is
    given, z = (I + f'(0) Z) x^(l-1), and encoders differ by their noise alone, V - U =
    f'(0) (Z_V - Z_U) x^0. So x^l = U + z (V - U) is U, the network of one calibrated layer,
    whatever the depth, and gates act at second order, by the noise: without any, U = V and x^l = U.

    Source: Wang, Teng and Perdikaris, SIAM J. Sci. Comput. 43 (2021) A3055, with the first layer
    mixed as well, as in the authors' jaxpi.

    Args:
        inputs, outputs, depth, width, activation: see `FFNN`.

    Raises:
        SettingsError: the weights do not fit into memory.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        depth: int,
        width: int,
        activation: Activation,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__()
        hidden = 2 * linear_weights(inputs, width) + hidden_layer_weights(inputs, depth, width)
        require_memory(hidden + linear_weights(width, outputs), depth, width, dtype, device)
        self.activation = activation
        self.signal_depth = depth
        self.u, self.v = (linear(inputs, width, dtype, device) for _ in range(2))
        self.layers = hidden_layers(inputs, depth, width, dtype, device)
        self.last = linear(width, outputs, dtype, device)

    def initialize(self, initializer: Initializer, generator: torch.Generator) -> None:
        """Draw the encoders, then all layers in order."""
        scales = initializer.scales(self.activation, self.signal_depth)
        for layer in (self.u, self.v, *self.layers, self.last):
            draw(layer, initializer, scales, generator)

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """See `Network.states`."""
        u, v = self.activation(self.u(x)), self.activation(self.v(x))
        difference = v - u
        for layer in self.layers:
            x = u + self.activation(layer(x)) * difference
            yield x
