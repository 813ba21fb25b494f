"""SIREN: a network of sines with an initialisation of its own."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation, Scaled, sin
from pinnsig.core.errors import SettingsError
from pinnsig.initializers import Initializer, SirenUniform
from pinnsig.initializers.base import uniform
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


@register_network("siren")
class Siren(Network):
    """x^l = sin(omega_0 (W^l x^(l-1) + b^l)), `depth` hidden layers and a linear output layer.

    The first layer is always W ~ U(-1/n, 1/n) for n inputs. The others are drawn by the
    initialiser, as if omega_0 were 1, and divided by omega_0: by `siren` (the usual one here) they
    are U(-sqrt(6/n)/omega_0, sqrt(6/n)/omega_0), as is the output layer, and all biases are
    U(-1/sqrt(n), 1/sqrt(n)). There is no calibrated start: it is one of odd-sigmoid activations.

    Source: Sitzmann et al. 2020, section 3.2 and their code.

    Args:
        inputs, outputs, depth, width: see `FFNN`.
        activation: the sine, with a factor where there is a scale.
        omega_0: frequency of the first layer, and gain of the gradients of all others. The 30 of
            the source is for images: a PDE's smooth solution is missed between its points.

    Raises:
        SettingsError: another activation, omega_0 out of range, or the weights do not fit into
            memory.
    """

    usual: ClassVar[Mapping[str, Any]] = {"act": "sin", "init": "siren"}

    def __init__(
        self,
        inputs: int,
        outputs: int,
        depth: int,
        width: int,
        activation: Activation,
        *,
        omega_0: float = 5.0,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__()
        require_option(0 < omega_0 < math.inf, "siren", "omega_0", "positive and finite", omega_0)
        inner = activation.inner if isinstance(activation, Scaled) else activation
        if inner != sin:
            raise SettingsError(
                f"network siren is made of sines: leave act out, it cannot be {activation}"
            )
        weights = hidden_layer_weights(inputs, depth, width) + linear_weights(width, outputs)
        require_memory(weights, depth, width, dtype, device)
        self.activation = activation
        self.omega_0 = omega_0
        self.signal_depth = depth
        self.layers = hidden_layers(inputs, depth, width, dtype, device)
        self.last = linear(width, outputs, dtype, device)

    def initialize(self, initializer: Initializer, generator: torch.Generator) -> None:
        """Draw the first layer by its own law, then the others, then the biases by theirs."""
        scales = initializer.scales(self.activation, self.signal_depth)
        own = isinstance(initializer, SirenUniform)
        first, *inner = self.layers
        for layer in (first, *inner, self.last):
            assert isinstance(layer, nn.Linear)
            n_out, n_in = layer.weight.shape
            draw(layer, initializer, scales, generator)
            if layer is first:
                layer.weight.copy_(uniform((n_out, n_in), 1 / n_in, generator))
            elif own or layer is not self.last:
                layer.weight.div_(self.omega_0)
            if own:
                layer.bias.copy_(uniform((n_out,), 1 / math.sqrt(n_in), generator))
            elif layer is not self.last:
                layer.bias.div_(self.omega_0)

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """See `Network.states`."""
        for layer in self.layers:
            x = self.activation(self.omega_0 * layer(x))
            yield x
