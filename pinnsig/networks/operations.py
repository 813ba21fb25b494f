"""What a network is made of, when its forward pass is a composition of operations.

Value 0 is the network's input, of shape (N, inputs); operation i gives value i + 1 from values
before it. What they multiply by or add is named by its place among the network's tensors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pinnsig.activations import Activation


@dataclass(frozen=True)
class Linear:
    """x W^T + b.

    Attributes:
        source: the value x.
        weight: the tensor W, shape (out, in).
        bias: the tensor b, shape (out,); None for none.
    """

    source: int
    weight: int
    bias: int | None


@dataclass(frozen=True)
class Activate:
    """f(x)."""

    source: int
    activation: Activation


@dataclass(frozen=True)
class Combine:
    """x + factor * y, of two values."""

    left: int
    right: int
    factor: float


@dataclass(frozen=True)
class Multiply:
    """x * y, of two values."""

    left: int
    right: int


@dataclass(frozen=True)
class Affine:
    """factor * x + shift, with two numbers."""

    source: int
    factor: float
    shift: float


@dataclass(frozen=True)
class Scale:
    """x times a tensor of one number, or of one for each unit."""

    source: int
    factor: int


@dataclass(frozen=True)
class Shift:
    """x plus a tensor of one number, or of one for each unit."""

    source: int
    amount: int


Operation = Linear | Activate | Combine | Multiply | Affine | Scale | Shift


def sources(operation: Operation) -> tuple[int, ...]:
    """The values that an operation reads."""
    if isinstance(operation, Combine | Multiply):
        return operation.left, operation.right
    return (operation.source,)


def tensors(operation: Operation) -> tuple[int, ...]:
    """The tensors that an operation reads."""
    match operation:
        case Linear(_, weight, bias):
            return (weight,) if bias is None else (weight, bias)
        case Scale(_, place) | Shift(_, place):
            return (place,)
        case _:
            return ()


def pruned(
    operations: Sequence[Operation], widths: Sequence[int], output: int
) -> tuple[tuple[Operation, ...], tuple[int, ...], int]:
    """Return operations, widths and output without the values that the output does not need."""
    needed = {output, 0}
    for value in range(len(operations), 0, -1):
        if value in needed:
            needed.update(sources(operations[value - 1]))
    places = {value: place for place, value in enumerate(sorted(needed))}
    kept = []
    for value in list(places)[1:]:
        operation = operations[value - 1]
        fields = {
            name: places[getattr(operation, name)]
            for name in ("source", "left", "right")
            if hasattr(operation, name)
        }
        kept.append(replace(operation, **fields))
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
            own = any(self.trained[i] for i in tensors(operation))
            found.append(own or any(found[i] for i in sources(operation)))
        return found
