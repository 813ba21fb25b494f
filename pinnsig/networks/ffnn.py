"""Feed-forward networks: weights and forward pass, nothing else."""

import itertools
from collections.abc import Hashable, Sequence

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation, join, structure
from pinnsig.activations.joined import joined_factors
from pinnsig.core.memory import require
from pinnsig.initializers import Initializer

TRAINED_COPIES = 6  # weights, gradient, the best and the last ones, two moments
LAYER_BYTES = 8_000  # of torch's own objects


class FFNN(nn.Module):
    """Fully connected network, x^l = f(W^l x^(l-1) + b^l), with a linear output layer.

    Parameters are left uninitialised: an initialiser fills them (`pinnsig.initializers`).

    Args:
        inputs: size of the input, N_0.
        outputs: size of the output.
        depth: number of hidden layers, L >= 1.
        width: units in each hidden layer.
        activation: the hidden activation f.

    Raises:
        SettingsError: its weights do not fit into memory.
    """

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
        _require_memory(inputs, outputs, depth, width, dtype, torch.device(device))
        sizes = [inputs, *[width] * depth, outputs]
        self.activation = activation
        self.depth = depth
        # `skip_init` keeps construction from drawing on torch's global generator
        layers = [
            nn.utils.skip_init(nn.Linear, n_in, n_out, dtype=dtype, device=device)
            for n_in, n_out in itertools.pairwise(sizes)
        ]
        self.layers = nn.ModuleList(layers)
        # the same, without what it costs to ask a module for its modules
        self._linears: list[nn.Linear] = layers  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def linears(self) -> list[nn.Linear]:
        """The depth + 1 linear layers in order of use."""
        return list(self._linears)

    @property
    def weights(self) -> list[Tensor]:
        """Weight and bias of each linear layer in order of use."""
        return [p for layer in self._linears for p in (layer.weight, layer.bias)]

    def initialize(self, initializer: Initializer, generator: torch.Generator) -> None:
        """Overwrite all weights and biases with what the initialiser draws for this depth."""
        scales = initializer.scales(self.activation, self.depth)
        for layer in self.linears:
            n_out, n_in = layer.weight.shape
            weight, bias = initializer.draw(n_out, n_in, scales, generator)
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs of shape (N, inputs) to outputs of shape (N, outputs)."""
        *hidden, last = self.layers
        for layer in hidden:
            x = self.activation(layer(x))
        return last(x)


def _require_memory(
    inputs: int, outputs: int, depth: int, width: int, dtype: torch.dtype, device: torch.device
) -> None:
    weights = (inputs + 1) * width + (depth - 1) * (width + 1) * width + (width + 1) * outputs
    require(
        weights * dtype.itemsize * TRAINED_COPIES + depth * LAYER_BYTES,
        f"{weights:,} weights of a network of {depth:,} layers of {width:,} units",
        "take fewer layers or fewer units",
        device,
    )


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
