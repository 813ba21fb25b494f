"""An untrained network whose weights are drawn layer by layer and never kept.

Memory does not depend on depth, so 100,000 layers are as easy as ten.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear

from pinnsig.activations import Activation
from pinnsig.core.errors import SignalError
from pinnsig.core.memory import require
from pinnsig.core.seeds import weight_generator
from pinnsig.initializers import Initializer, Scales

WEIGHT_BYTES = 24  # as drawn, as used, and beside those of the next layer
LAYER_BYTES = 400  # of what is reported of a layer


@dataclass(frozen=True)
class Layer:
    """One hidden layer at work, h = W x_in + b and x = f(h), for M inputs.

    Attributes:
        index: l, from 1 to L.
        weight: W, shape (N_l, N_{l-1}).
        x_in: x^{l-1}, shape (M, N_{l-1}).
        h: preactivations, shape (M, N_l).
        x: activations, shape (M, N_l).
    """

    index: int
    weight: Tensor
    x_in: Tensor
    h: Tensor
    x: Tensor


@dataclass(frozen=True)
class RandomNetwork:
    """The hidden layers of a freshly initialised network; every pass meets the same weights.

    The weights are those of `solve` with the same seed and sizes, bit for bit.

    Attributes:
        activation: f.
        initializer: where weights and biases come from.
        depth: number of hidden layers, L.
        width: units in each.
        seed: of the weights.

    Raises:
        SignalError: depth or width is below 1, or does not fit into memory.
    """

    activation: Activation
    initializer: Initializer
    depth: int
    width: int
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("depth", self.depth), ("width", self.width)):
            if value < 1:
                raise SignalError(f"the {name} of a network must be at least 1, not {value}")
        require(
            self.width**2 * WEIGHT_BYTES + self.depth * LAYER_BYTES,
            f"a layer of {self.width:,} x {self.width:,} weights and figures of {self.depth:,} "
            "layers",
            "take fewer layers or fewer units",
            error=SignalError,
        )

    @property
    def scales(self) -> Scales:
        """The numbers that the weights are drawn with."""
        return self.initializer.scales(self.activation, self.depth)

    def layers(self, x: Tensor) -> Iterator[Layer]:
        """The hidden layers in order, for inputs of shape (M, N_0), in the type and place of x."""
        yield from self._run(_inputs(x), 1, self.depth, weight_generator(self.seed))

    def last(self, x: Tensor) -> Tensor:
        """x^L, shape (M, width)."""
        for layer in self.layers(x):
            x = layer.x
        return x

    def layers_reversed(self, x: Tensor) -> Iterator[Layer]:
        """The same layers from the last to the first, in about twice the time.

        Kept are about 2 sqrt(L) layers: marks along the way, and the stretch between two of them.
        """
        stretch = math.isqrt(self.depth - 1) + 1
        generator = weight_generator(self.seed)
        x = _inputs(x)
        marks = []
        for first in range(1, self.depth + 1, stretch):
            end = min(first + stretch - 1, self.depth)
            marks.append((first, end, x, generator.get_state()))
            for layer in self._run(x, first, end, generator):
                x = layer.x
        for first, end, start, state in reversed(marks):
            generator.set_state(state)
            yield from reversed(list(self._run(start, first, end, generator)))

    @torch.no_grad()
    def _run(self, x: Tensor, first: int, end: int, generator: torch.Generator) -> Iterator[Layer]:
        scales = self.scales
        for index in range(first, end + 1):
            weight, bias = (
                part.to(x)
                for part in self.initializer.draw(self.width, x.shape[1], scales, generator)
            )
            h = linear(x, weight, bias)
            out = self.activation.derivatives(h, 0)[0]
            yield Layer(index, weight, x, h, out)
            x = out


def _inputs(x: Tensor) -> Tensor:
    if x.ndim != 2 or 0 in x.shape:
        raise SignalError(f"inputs must have the shape (M, N_0), not {tuple(x.shape)}")
    return x


def normal_inputs(
    count: int,
    size: int,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Inputs with entries N(0, 1), shape (count, size); the stream is not that of the weights.

    Raises:
        SignalError: they do not fit into memory.
    """
    require(
        16 * count * size, f"{count:,} inputs of size {size:,}", "take fewer", error=SignalError
    )
    generator = weight_generator(seed + _INPUT_STREAM)
    x = torch.randn((count, size), generator=generator, dtype=torch.float64)
    return x.to(device, dtype)


_INPUT_STREAM = 1 << 40  # far from any seed that a person would choose
