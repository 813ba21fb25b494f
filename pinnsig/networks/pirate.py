"""PirateNet: gated residual blocks whose gates begin at zero, so that it grows deep by training."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation
from pinnsig.initializers import Initializer
from pinnsig.networks.base import Network, draw, linear, linear_weights, require_memory
from pinnsig.networks.fourier import FourierFeatures
from pinnsig.networks.registry import register_network, require_option

BLOCK = 3  # layers


@register_network("pirate")
class PirateNet(Network):
    """Random Fourier features of size `width`, then blocks x <- alpha h + (1 - alpha) x.

    h is x after three layers z <- f(W z + b), each but the last mixed with two encoders of the
    features as in `ModifiedMLP`: z <- (1 - z) U + z V. The gate alpha of each block is trained and
    begins at 0: the network is linear in its features at the start. All blocks together have
    `depth` hidden layers, the last one fewer than three if need be; encoders and features come
    beside them. (The paper may set the output layer by least squares; here it is drawn.)

    Calibrated start. At alpha = 0 every block is the identity, of gain 1, whatever its layers.
    They, and the encoders, are W = D + Z with the noise sigma*(p, L, omega) for L = depth, the
    layers that a signal goes through once the gates are open; features have their own law.

    Source: Wang, Li, Chen and Perdikaris, J. Mach. Learn. Res. 25 (2024).

    Args:
        inputs, outputs, depth, width, activation: see `FFNN`.
        sigma: standard deviation of the features' frequencies; see `Fourier`.

    Raises:
        SettingsError: sigma is out of range, or the weights do not fit into memory.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        depth: int,
        width: int,
        activation: Activation,
        *,
        sigma: float = 0.25,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__()
        require_option(0 < sigma < math.inf, "pirate", "sigma", "positive and finite", sigma)
        hidden = (2 + depth) * linear_weights(width, width) + -(-depth // BLOCK)
        weights = linear_weights(inputs, width) + hidden + linear_weights(width, outputs)
        require_memory(weights, depth, width, dtype, device)
        self.activation = activation
        self.signal_depth = depth
        self.features = FourierFeatures(inputs, width, sigma, dtype, device)
        self.u, self.v = (linear(width, width, dtype, device) for _ in range(2))
        sizes = [min(BLOCK, depth - done) for done in range(0, depth, BLOCK)]
        self.blocks = nn.ModuleList(
            nn.ModuleList(linear(width, width, dtype, device) for _ in range(size))
            for size in sizes
        )
        self.gates = nn.ParameterList(
            nn.Parameter(torch.zeros((), dtype=dtype, device=device)) for _ in sizes
        )
        self.last = linear(width, outputs, dtype, device)

    def initialize(self, initializer: Initializer, generator: torch.Generator) -> None:
        """Draw the frequencies, the encoders, then all layers in order; close the gates."""
        scales = initializer.scales(self.activation, self.signal_depth)
        self.features.initialize(generator)
        inner = (layer for block in self.blocks for layer in block.children())
        for layer in (self.u, self.v, *inner, self.last):
            draw(layer, initializer, scales, generator)
        for gate in self.gates:
            gate.zero_()

    def embed(self, x: Tensor) -> Tensor:
        """The features; see `Network.embed`."""
        return self.features(x)

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """x after each block; see `Network.states`."""
        u, v = self.activation(self.u(x)), self.activation(self.v(x))
        difference = v - u
        for block, gate in zip(self.blocks, self.gates, strict=True):
            *inner, end = block.children()
            z = x
            for layer in inner:
                z = u + self.activation(layer(z)) * difference
            x = x + gate * (self.activation(end(z)) - x)
            yield x
