"""What a network is made of, when its forward pass is a composition of operations.

Value 0 is the network's input, of shape (N, inputs); operation i gives value i + 1 from values
before it. What they multiply by or add is named by its place among the network's tensors.
"""

# ruff: noqa: ARG002 - not every operation reads a tensor

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from torch import Tensor
from torch.nn.functional import linear

from pinnsig.activations import Activation


class _Operation:
    """What every operation says of itself."""

    @property
    def sources(self) -> tuple[int, ...]:
        """The values that it reads."""
        raise NotImplementedError

    @property
    def tensors(self) -> tuple[int, ...]:
        """The tensors that it reads."""
        return ()

    def value(self, read: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensor:
        """Return what it gives of what it reads, shape (N, units), differentiable.

        Args:
            read: the values of its `sources`.
            tensors: all of the network's.
        """
        raise NotImplementedError

    def moved(self, places: Mapping[int, int]) -> Self:
        """Return the same operation on values that stand at other places."""
        raise NotImplementedError


@dataclass(frozen=True)
class _OfOne(_Operation):
    """An operation that reads one value.

    Attributes:
        source: the value x.
    """

    source: int

    @property
    def sources(self) -> tuple[int, ...]:
        """See `_Operation.sources`."""
        return (self.source,)

    def moved(self, places: Mapping[int, int]) -> Self:
        """See `_Operation.moved`."""
        return replace(self, source=places[self.source])


@dataclass(frozen=True)
class _OfTwo(_Operation):
    """An operation that reads two values.

    Attributes:
        left, right: the values x and y.
    """

    left: int
    right: int

    @property
    def sources(self) -> tuple[int, ...]:
        """See `_Operation.sources`."""
        return self.left, self.right

    def moved(self, places: Mapping[int, int]) -> Self:
        """See `_Operation.moved`."""
        return replace(self, left=places[self.left], right=places[self.right])


@dataclass(frozen=True)
class Linear(_OfOne):
    """x W^T + b.

    Attributes:
        weight: the tensor W, shape (out, in).
        bias: the tensor b, shape (out,); None for none.
    """

    weight: int
    bias: int | None

    @property
    def tensors(self) -> tuple[int, ...]:
        """See `_Operation.tensors`."""
        return (self.weight,) if self.bias is None else (self.weight, self.bias)

    def value(self, read: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensor:
        """See `_Operation.value`."""
        bias = None if self.bias is None else tensors[self.bias].flatten()
        return linear(read[0], tensors[self.weight], bias)


@dataclass(frozen=True)
class Activate(_OfOne):
    """f(x)."""

    activation: Activation

    def value(self, read: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensor:
        """See `_Operation.value`."""
        return self.activation(read[0])


@dataclass(frozen=True)
class Combine(_OfTwo):
    """x + factor * y."""

    factor: float

    def value(self, read: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensor:
        """See `_Operation.value`."""
        return read[0] + self.factor * read[1]


@dataclass(frozen=True)
class Multiply(_OfTwo):
    """x * y."""

    def value(self, read: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensor:
        """See `_Operation.value`."""
        return read[0] * read[1]


@dataclass(frozen=True)
class Affine(_OfOne):
    """factor * x + shift, with two numbers."""

    factor: float
    shift: float

    def value(self, read: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensor:
        """See `_Operation.value`."""
        return self.factor * read[0] + self.shift


@dataclass(frozen=True)
class Scale(_OfOne):
    """x times a tensor of one number, or of one for each unit."""

    factor: int

    @property
    def tensors(self) -> tuple[int, ...]:
        """See `_Operation.tensors`."""
        return (self.factor,)

    def value(self, read: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensor:
        """See `_Operation.value`."""
        return read[0] * tensors[self.factor].flatten()


@dataclass(frozen=True)
class Shift(_OfOne):
    """x plus a tensor of one number, or of one for each unit."""

    amount: int

    @property
    def tensors(self) -> tuple[int, ...]:
        """See `_Operation.tensors`."""
        return (self.amount,)

    def value(self, read: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensor:
        """See `_Operation.value`."""
        return read[0] + tensors[self.amount].flatten()


Operation = Linear | Activate | Combine | Multiply | Affine | Scale | Shift


def pruned(
    operations: Sequence[Operation], widths: Sequence[int], output: int
) -> tuple[tuple[Operation, ...], tuple[int, ...], int]:
    """Return operations, widths and output without the values that the output does not need."""
    needed = {output, 0}
    for value in range(len(operations), 0, -1):
        if value in needed:
            needed.update(operations[value - 1].sources)
    places = {value: place for place, value in enumerate(sorted(needed))}
    kept = [operations[value - 1].moved(places) for value in list(places)[1:]]
    return tuple(kept), tuple(widths[value] for value in places), places[output]


@dataclass(frozen=True)
class Structure:
    """All of a network but the numbers in its tensors; what code is compiled for.

    Attributes:
        widths: units of each value.
        operations: in the order of their values.
        output: the value that the network gives.
        sizes: numbers in each tensor.
        trained: which tensors have a gradient, in the order of the tensors.
    """

    widths: tuple[int, ...]
    operations: tuple[Operation, ...]
    output: int
    sizes: tuple[int, ...]
    trained: tuple[bool, ...]

    @property
    def places(self) -> dict[int, slice]:
        """Where each trained tensor stands in the flat gradient of all of them."""
        found, first = {}, 0
        for i, (size, trained) in enumerate(zip(self.sizes, self.trained, strict=True)):
            if trained:
                found[i] = slice(first, first + size)
                first += size
        return found

    def moving(self, inputs: bool) -> list[bool]:
        """Which values depend on a trained tensor, or on the inputs if those are wanted."""
        found = [inputs]
        for operation in self.operations:
            own = any(self.trained[i] for i in operation.tensors)
            found.append(own or any(found[i] for i in operation.sources))
        return found
