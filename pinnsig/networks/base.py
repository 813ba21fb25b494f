"""What a network is: layers that are drawn by an initialiser, and states that pass through them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation
from pinnsig.core.memory import require
from pinnsig.initializers import Initializer, Scales

TRAINED_COPIES = 6  # weights, gradient, the best and the last ones, two moments
LAYER_BYTES = 8_000  # of torch's own objects


class Network(nn.Module, ABC):
    """Base of the networks that `--network` names; a subclass is one short file.

    Its constructor takes `inputs, outputs, depth, width, activation`, then what is its own by
    keyword, and `dtype` and `device`; `embed`, `states` and `output` are made of linear layers,
    activations, products, sums, numbers and trained factors, which every engine can carry.
    Parameters are left uninitialised: an initialiser fills them (`pinnsig.initializers`).

    Attributes:
        activation: the f that an initialiser is calibrated for.
        signal_depth: the L that it is calibrated for: how many noisy layers a signal goes through,
            one after another.
        keeps_signs: whether a calibrated unit keeps the sign of its input, at the negative rate.
        usual: settings that differ from the usual ones where they are not given.
    """

    last: nn.Linear
    activation: Activation
    signal_depth: int
    keeps_signs: ClassVar[bool] = False
    usual: ClassVar[Mapping[str, Any]] = {}

    def embed(self, x: Tensor) -> Tensor:
        """What the first layer is given for inputs of shape (N, inputs): fixed features of them."""
        return x

    @abstractmethod
    def states(self, x: Tensor) -> Iterator[Tensor]:
        """The hidden states in order, each of shape (N, width), from embedded inputs.

        The output layer is given the last one.
        """

    @property
    def output(self) -> nn.Linear:
        """The linear layer that makes outputs of the last state, `last` where it has that name."""
        return self.last

    @abstractmethod
    def initialize(self, initializer: Initializer, generator: torch.Generator) -> None:
        """Overwrite all weights and biases with what the initialiser draws."""

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs of shape (N, inputs) to outputs of shape (N, outputs)."""
        x = self.embed(x)
        for state in self.states(x):
            x = state
        return self.output(x)


def linear(n_in: int, n_out: int, dtype: torch.dtype, device: torch.device | str) -> nn.Linear:
    """Return a linear layer whose weights are not drawn: that leaves torch's generator alone."""
    made = nn.utils.skip_init(nn.Linear, n_in, n_out, dtype=dtype, device=device)
    assert isinstance(made, nn.Linear)
    return made


def linear_weights(n_in: int, n_out: int) -> int:
    """Return how many weights and biases a linear layer has."""
    return (n_in + 1) * n_out


def hidden_layers(
    n_in: int, depth: int, width: int, dtype: torch.dtype, device: torch.device | str
) -> nn.ModuleList:
    """Return `depth` linear layers of `width` units, one after another, the first of n_in."""
    return nn.ModuleList(
        linear(size, width, dtype, device) for size in (n_in, *[width] * (depth - 1))
    )


def hidden_layer_weights(n_in: int, depth: int, width: int) -> int:
    """Return how many weights and biases `hidden_layers` have."""
    return linear_weights(n_in, width) + (depth - 1) * linear_weights(width, width)


def draw(
    layer: nn.Module, initializer: Initializer, scales: Scales, generator: torch.Generator
) -> None:
    """Overwrite a linear layer's weights and biases with the initialiser's next ones."""
    assert isinstance(layer, nn.Linear)
    n_out, n_in = layer.weight.shape
    weight, bias = initializer.draw(n_out, n_in, scales, generator)
    layer.weight.copy_(weight)
    layer.bias.copy_(bias)


def require_memory(
    weights: int, depth: int, width: int, dtype: torch.dtype, device: torch.device | str
) -> None:
    """Refuse a network that does not fit into memory, before any of it is made.

    Args:
        weights: how many it has, and fixed numbers.
        depth: hidden layers.
        width: units in each.

    Raises:
        SettingsError: it does not fit.
    """
    require(
        weights * dtype.itemsize * TRAINED_COPIES + depth * LAYER_BYTES,
        f"{weights:,} weights of a network of {depth:,} layers of {width:,} units",
        "take fewer layers or fewer units",
        torch.device(device),
    )
