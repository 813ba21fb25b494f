"""What is written down while a network's `forward` runs on stand-ins."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, cast

from torch import Tensor, nn

from pinnsig.activations import Activation
from pinnsig.networks.operations import (
    Activate,
    Affine,
    Combine,
    Linear,
    Multiply,
    Operation,
    Scale,
    Shift,
    Structure,
    pruned,
)
from pinnsig.networks.stand_ins import CompositionError, Maker, Value, Weight, described
from pinnsig.networks.vocabulary import NAMES, named_activation


class Trace:
    """What is written down while a network's `forward` runs."""

    def __init__(self, network: nn.Module) -> None:
        parameters = list(network.parameters())
        self.inputs: int | None = None
        self.widths: list[int | None] = [None]  # None: as many as there are inputs
        self.operations: list[Operation] = []
        self.sizes = [p.numel() for p in parameters]
        self.trained = [True for _ in parameters]
        self.makers: list[Maker] = []
        self._places: dict[int, tuple[int, Tensor]] = {}  # of other tensors, by id
        self._buffers = {
            id(buffer): (module._buffers, name)
            for module in network.modules()
            for name, buffer in module._buffers.items()
        }

    def structure(self, output: "Value") -> Structure:
        """What was written down, as far as the output needs it."""
        if self.inputs is None:
            raise CompositionError("no linear map in it tells how many inputs there are")
        widths = [width or self.inputs for width in self.widths]
        operations, widths, last = pruned(self.operations, widths, output.index)
        return Structure(widths, operations, last, tuple(self.sizes), tuple(self.trained))

    def add(self, operation: Operation, width: int | None) -> "Value":
        """The value of an operation."""
        self.operations.append(operation)
        self.widths.append(width)
        return Value(self, len(self.operations))

    def width(self, value: "Value", wanted: int | None) -> int | None:
        """The units of a value, which are as many as wanted, unless anything would do."""
        found = self.widths[value.index] or self.inputs
        if found is None and wanted is not None:
            found = self.inputs = wanted
        if None is not wanted != found:
            raise CompositionError(f"it combines a value of {found} units with one of {wanted}")
        return found

    def tensor(self, given: Tensor) -> int:
        """The place of a tensor that an operation reads."""
        if isinstance(given, Weight):
            if given.place is None:
                given.place = self._new(given, True, given.make)
            return given.place
        if given.requires_grad:
            raise CompositionError("it reads a trained tensor that is none of its parameters")
        if id(given) not in self._places:
            held, kept = self._buffers.get(id(given)), given.detach()

            def make(_: Sequence[Tensor]) -> Tensor:
                return kept if held is None else cast(Tensor, held[0][held[1]])

            self._places[id(given)] = self._new(given, False, make), given
        return self._places[id(given)][0]

    def _new(self, like: Tensor, trained: bool, make: Maker) -> int:
        self.sizes.append(like.numel())
        self.trained.append(trained)
        self.makers.append(make)
        return len(self.sizes) - 1

    def linear(self, x: Any, weight: Any, bias: Any = None) -> "Value":
        """x W^T + b."""
        if not isinstance(x, Value) or not isinstance(weight, Tensor) or weight.ndim != 2:
            raise CompositionError("its linear maps are not those of a value by a matrix")
        out, size = weight.shape
        self.width(x, size)
        if bias is None or bias.numel() != out:
            found = self.add(Linear(x.index, self.tensor(weight), None), out)
            return found if bias is None else self.sum(found, bias)
        return self.add(Linear(x.index, self.tensor(weight), self.tensor(bias)), out)

    def matmul(self, x: Any, matrix: Any) -> "Value":
        """x M."""
        if not isinstance(matrix, Tensor):
            raise CompositionError("it multiplies two values as matrices")
        return self.linear(x, matrix.mT)

    def sum(self, x: Any, y: Any) -> "Value":
        """x + y."""
        if not isinstance(x, Value):
            x, y = y, x
        if isinstance(y, Value):
            return self.add(Combine(x.index, y.index, 1.0), self._common(x, y))
        if isinstance(y, Real):
            return self.affine(x, 1.0, float(y))
        return self.add(Shift(x.index, self._unitwise(x, y)), self.width(x, None))

    def difference(self, x: Any, y: Any) -> "Value":
        """x - y."""
        if isinstance(x, Value) and isinstance(y, Value):
            return self.add(Combine(x.index, y.index, -1.0), self._common(x, y))
        return self.sum(x, self.affine(y, -1.0, 0.0) if isinstance(y, Value) else -y)

    def product(self, x: Any, y: Any) -> "Value":
        """x * y."""
        if not isinstance(x, Value):
            x, y = y, x
        if isinstance(y, Value):
            return self.add(Multiply(x.index, y.index), self._common(x, y))
        if isinstance(y, Real):
            return self.affine(x, float(y), 0.0)
        return self.add(Scale(x.index, self._unitwise(x, y)), self.width(x, None))

    def quotient(self, x: Any, y: Any) -> "Value":
        """x / y."""
        if isinstance(y, Value):
            raise CompositionError("it divides by a value")
        return self.product(x, 1.0 / y)

    def power(self, x: Any, n: Any) -> "Value":
        """x to a small whole power."""
        if not isinstance(x, Value) or n not in (1, 2, 3, 4):
            raise CompositionError(f"it takes a power of a value that is none of 1 to 4: {n}")
        found = x
        for _ in range(int(n) - 1):
            found = self.product(found, x)
        return found

    def square(self, x: Any) -> "Value":
        """x to the power of two."""
        return self.power(x, 2)

    def negative(self, x: "Value") -> "Value":
        """-x."""
        return self.affine(x, -1.0, 0.0)

    def affine(self, x: "Value", factor: float, shift: float) -> "Value":
        """factor * x + shift."""
        source, before = x.index, self.operations[x.index - 1] if x.index else None
        if isinstance(before, Affine):
            source = before.source
            factor, shift = factor * before.factor, factor * before.shift + shift
        return self.add(Affine(source, factor, shift), self.widths[x.index])

    def _common(self, x: "Value", y: "Value") -> int | None:
        found = self.width(x, self.width(y, None))
        return self.width(y, found)

    def _unitwise(self, x: "Value", given: Any) -> int:
        """The place of a tensor of one number, or of one for each unit."""
        if not isinstance(given, Tensor):
            raise CompositionError(f"it combines a value with {described(given)}")
        shape = tuple(given.shape)
        if len(shape) > 2 or shape[:-1] not in ((), (1,)):
            raise CompositionError(f"it combines a value with a tensor of shape {shape}")
        if given.numel() != 1:
            self.width(x, given.numel())
        return self.tensor(given)

    def call(self, func: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> "Value":
        """Write down torch's function, or an activation."""
        if func is Activation.__call__:
            activation, x = arguments
            return self.add(Activate(x.index, activation), self.widths[x.index])
        name = getattr(func, "__name__", str(func))
        in_place = name.endswith("_") and not name.startswith("__")
        method = None if in_place else NAMES.get(name.strip("_"))
        if method is not None and (not named or method == "linear"):
            return getattr(self, method)(*arguments, **named)
        activation = named_activation(name, arguments[1:], named)
        x = arguments[0] if arguments else None
        if activation is not None and isinstance(x, Value):
            return self.add(Activate(x.index, activation), self.widths[x.index])
        raise CompositionError(f"it calls {name}, which is no operation that is known here")
