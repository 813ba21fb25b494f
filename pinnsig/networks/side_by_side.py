"""Networks beside each other: one for all inputs of its own, others for some columns each."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pinnsig.initializers import Initializer
from pinnsig.networks.ffnn import FFNN


class SideBySide(nn.Module):
    """A network and functions of some of the inputs, as one module with all their outputs.

    Columns are selected and outputs put side by side by fixed matrices, so that it is made of the
    operations of its parts, and engines carry all in one pass. Each part sees its own columns only.

    Args:
        main: of the first inputs; gives the first outputs.
        functions: each of some inputs; gives one output.
        columns: which inputs each of the functions has.
        inputs: of main, and in all.
        outputs: of main.
    """

    def __init__(
        self,
        main: nn.Module,
        functions: Sequence[FFNN],
        columns: Sequence[Sequence[int]],
        inputs: tuple[int, int],
        outputs: int,
    ) -> None:
        super().__init__()
        self.main = main
        self.functions = nn.ModuleList(functions)
        like = next(main.parameters())
        own, whole = inputs
        chosen = [range(own), *columns]
        counts = [outputs, *[1] * len(functions)]
        first = 0
        for i, (places, count) in enumerate(zip(chosen, counts, strict=True)):
            select, place = like.new_zeros(len(places), whole), like.new_zeros(sum(counts), count)
            for row, column in enumerate(places):
                select[row, column] = 1.0
            for column in range(count):
                place[first + column, column] = 1.0
            first += count
            self.register_buffer(f"select_{i}", select.detach(), persistent=False)
            self.register_buffer(f"place_{i}", place.detach(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs of shape (N, inputs) to outputs of shape (N, outputs)."""
        parts = [self.main, *self.functions]
        found = None
        for i, part in enumerate(parts):
            own = nn.functional.linear(x, getattr(self, f"select_{i}"))
            given = nn.functional.linear(part(own), getattr(self, f"place_{i}"))
            found = given if found is None else found + given
        assert found is not None
        return found

    def initialize(self, initializer: Initializer, generator: torch.Generator) -> None:
        """Overwrite weights and biases of the functions with what the initialiser draws."""
        for function in self.functions:
            assert isinstance(function, FFNN)
            function.initialize(initializer, generator)


def main_network(network: nn.Module) -> nn.Module:
    """Return the network that fields are made of, without functions beside it."""
    return network.main if isinstance(network, SideBySide) else network


def main_inputs(network: nn.Module, inputs: Tensor) -> Tensor:
    """Return that network's own inputs, shape (N, inputs), from all."""
    if not isinstance(network, SideBySide):
        return inputs
    return inputs[:, : network.get_buffer("select_0").shape[0]]
