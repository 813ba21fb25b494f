"""Feed-forward networks: weights and forward pass, nothing else."""

import itertools
from collections.abc import Hashable, Iterator, Sequence

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation, join, structure
from pinnsig.activations.joined import joined_factors
from pinnsig.initializers import Initializer
from pinnsig.networks.base import (
    Network,
    draw,
    hidden_layer_weights,
    linear,
    linear_weights,
    require_memory,
)
from pinnsig.networks.registry import register_network


@register_network("ffnn")
class FFNN(Network):
    """Fully connected network, x^l = f(W^l x^(l-1) + b^l), with a linear output layer.

    Args:
        inputs: size of the input, N_0.
        outputs: size of the output.
        depth: number of hidden layers, L >= 1.
        width: units in each hidden layer.
        activation: the hidden activation f.

    Raises:
        SettingsError: its weights do not fit into memory.
    """

    keeps_signs = True

    def __init__(
        self,
        inputs: int,
        outputs: int,
        depth: int,
        width: int,
        activation: Activation,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__()
        weights = hidden_layer_weights(inputs, depth, width) + linear_weights(width, outputs)
        require_memory(weights, depth, width, dtype, device)
        sizes = [inputs, *[width] * depth, outputs]
        self.activation = activation
        self.depth = self.signal_depth = depth
        layers = [linear(*pair, dtype, device) for pair in itertools.pairwise(sizes)]
        self.layers = nn.ModuleList(layers)
        # the same, without what it costs to ask a module for its modules
        self._linears: list[nn.Linear] = layers  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def linears(self) -> list[nn.Linear]:
        """The depth + 1 linear layers in order of use."""
        return list(self._linears)

    @property
    def output(self) -> nn.Linear:
        """See `Network.output`."""
        return self._linears[-1]

    @property
    def weights(self) -> list[Tensor]:
        """Weight and bias of each linear layer in order of use."""
        return [p for layer in self._linears for p in (layer.weight, layer.bias)]

    def initialize(self, initializer: Initializer, generator: torch.Generator) -> None:
        """Overwrite all weights and biases with what the initialiser draws for this depth."""
        scales = initializer.scales(self.activation, self.depth)
        for layer in self.linears:
            draw(layer, initializer, scales, generator)

    def states(self, x: Tensor) -> Iterator[Tensor]:
        """See `Network.states`."""
        for layer in list(self.layers)[:-1]:
            x = self.activation(layer(x))
            yield x


def stack_key(network: nn.Module) -> Hashable | None:
    """Return what networks have in common that can be one `Stack`; None for one that cannot be."""
    if not isinstance(network, FFNN):
        return None
    return structure(network.activation), tuple(weight.shape for weight in network.weights)


class Stack:
    """M networks of one shape and one structure of activation side by side, to be carried together.

    Args:
        networks: the members, of one `stack_key`.
        values: all weights of each, in the order of its `weights`, shape (M, P).

    Attributes:
        activation: theirs, joined.
        factors: of the joined activation, shape (slots, M), beside `values`; None without any.
        weights: weight and bias of each layer, shapes (M, out, in) and (M, out), parts of `values`.

    Raises:
        ValueError: they are no FFNNs, or their activations cannot be joined.
    """

    def __init__(self, networks: Sequence[nn.Module], values: Tensor) -> None:
        members = [network for network in networks if isinstance(network, FFNN)]
        if len(members) < len(networks):
            raise ValueError("networks that are no FFNNs cannot be stacked")
        activation = join([network.activation for network in members])
        if activation is None:
            raise ValueError("activations that differ in more than factors cannot be stacked")
        self.networks, self.activation = members, activation
        factors = joined_factors(activation)
        self.factors = values.new_tensor(factors) if factors else None
        shapes = [weight.shape for weight in members[0].weights]
        parts = values.split([shape.numel() for shape in shapes], dim=1)
        self.weights = [p.unflatten(1, shape) for p, shape in zip(parts, shapes, strict=True)]

    def __len__(self) -> int:
        return len(self.networks)
