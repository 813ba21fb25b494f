"""Activations with trained scales: a f(b x), the scale of the activation learned."""

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation, Scaled
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


@register_network("adaptive")
class Adaptive(Network):
    """An FFNN of hidden layers a f(b (W x + b)), where a or b or both are trained.

    Of an activation a_0 f (as `--scale` gives it), a begins at a_0, or where only b is trained, b
    does: `scale=output` trains a in a f(x), `scale=input` b in f(b x), `scale=both` both, b from 1.
    There is one scale for all layers (`per=global`), for each (`per=layer`) or for each unit
    (`per=unit`).

    Calibrated start. Both a f(x) and f(a x) have the slope a f'(0) at 0: the start is that of an
    FFNN with the scaled activation, omega = 1 / (a f'(0)).

    Source: Jagtap, Kawaguchi and Karniadakis, J. Comput. Phys. 404 (2020) 109136, and Proc. R. Soc.
    A 476 (2020) 20200334 for scales of layers and units; paper, section 4.1, for a f(x).

    Args:
        inputs, outputs, depth, width, activation: see `FFNN`.
        scale: which scales are trained.
        per: what has a scale of its own.

    Raises:
        SettingsError: the weights do not fit into memory.
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
        scale: Literal["output", "input", "both"] = "output",
        per: Literal["global", "layer", "unit"] = "global",
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__()
        count = 1 if per == "global" else depth
        size = (width,) if per == "unit" else ()
        weights = hidden_layer_weights(inputs, depth, width) + linear_weights(width, outputs)
        weights += 2 * count * (size or (1,))[0]
        require_memory(weights, depth, width, dtype, device)
        scaled = isinstance(activation, Scaled)
        self.f = activation.inner if scaled else activation
        self.start = activation.factor if scaled else 1.0
        self.activation = self.f.stretch(self.start) if scale == "input" and scaled else activation
        self.signal_depth = depth
        self.layers = hidden_layers(inputs, depth, width, dtype, device)

        def scales(trained: bool) -> nn.ParameterList:
            numbers = (torch.ones(size, dtype=dtype, device=device) for _ in range(count))
            return nn.ParameterList(map(nn.Parameter, numbers) if trained else ())

        self.outer = scales(scale != "input")
        self.inner = scales(scale != "output")
        self.last = linear(width, outputs, dtype, device)

    def initialize(self, initializer: Initializer, generator: torch.Generator) -> None:
        """Draw all layers in order, and set the scales to what they begin at."""
        drawn = initializer.scales(self.activation, self.signal_depth)
        for layer in (*self.layers, self.last):
            draw(layer, initializer, drawn, generator)
        for scales, start in ((self.inner, 1.0 if self.outer else self.start),
                              (self.outer, self.start)):  # fmt: skip
            for number in scales:
                number.fill_(start)

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """See `Network.states`."""
        inner, outer = list(self.inner), list(self.outer)
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if inner:
                x = inner[i if len(inner) > 1 else 0] * x
            x = self.f(x)
            if outer:
                x = outer[i if len(outer) > 1 else 0] * x
            yield x
