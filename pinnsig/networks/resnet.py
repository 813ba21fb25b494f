"""A residual network: x + branch(x), block after block."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation
from pinnsig.initializers import Initializer
from pinnsig.networks.base import (
    Network,
    draw,
    hidden_layer_weights,
    linear,
    linear_weights,
    require_memory,
)
from pinnsig.networks.registry import register_network, require_option


@register_network("resnet")
class ResNet(Network):
    """x^1 = f(W^1 x^0 + b^1), then blocks x + f(W_k ... f(W_1 x + b_1) ... + b_k).

    All layers together are `depth` hidden layers: the first one, and `depth - 1` in blocks of
    `block`, the last of which may have fewer.

    Calibrated start. A calibrated layer W = D + Z with D = omega I, linearised at 0, is
    f'(0) (D + Z) = I + f'(0) Z: an identity and a noisy branch. In a block the skip is that
    identity, and 1 + f'(0)^k d_1 ... d_k is the gain on the diagonal for diagonals d_1 ... d_k of
    its layers. So that it is 1 while every layer but the last keeps what it is given (d_i = omega),
    the last layer has d_k = 0: its weights are the noise Z alone (with epsilon, epsilon I + Z,
    and the gain of a block is that of a layer, 1 + epsilon f'(0)). A block is then, to first order,
    I + f'(0) Z, one noisy layer, and the noise is sigma*(p, L, omega) for L = 1 + the number of
    blocks.

    Source: He et al. 2016; E and Yu 2018 (blocks of two layers).

    Args:
        inputs, outputs, depth, width, activation: see `FFNN`.
        block: layers in a block.

    Raises:
        SettingsError: the block has no layer, or the weights do not fit into memory.
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
        block: int = 2,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__()
        require_option(block >= 1, "resnet", "block", "at least 1", block)
        weights = hidden_layer_weights(inputs, depth, width) + linear_weights(width, outputs)
        require_memory(weights, depth, width, dtype, device)
        self.activation = activation
        self.first = linear(inputs, width, dtype, device)
        sizes = [min(block, depth - 1 - done) for done in range(0, depth - 1, block)]
        self.blocks = nn.ModuleList(
            nn.ModuleList(linear(width, width, dtype, device) for _ in range(size))
            for size in sizes
        )
        self.last = linear(width, outputs, dtype, device)
        self.signal_depth = 1 + len(sizes)

    def initialize(self, initializer: Initializer, generator: torch.Generator) -> None:
        """Draw all layers in order; with a diagonal, the skip takes its place in each block."""
        scales = initializer.scales(self.activation, self.signal_depth)
        ending = scales
        if scales.diagonal is not None:
            ending = replace(scales, diagonal=scales.diagonal - self.activation.omega)
        draw(self.first, initializer, scales, generator)
        for block in self.blocks:
            *inner, end = block.children()
            for layer in inner:
                draw(layer, initializer, scales, generator)
            draw(end, initializer, ending, generator)
        draw(self.last, initializer, scales, generator)

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """x after the first layer and after each block; see `Network.states`."""
        x = self.activation(self.first(x))
        yield x
        for block in self.blocks:
            branch = x
            for layer in block.children():
                branch = self.activation(layer(branch))
            x = x + branch
            yield x
