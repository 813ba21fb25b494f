"""What the C interpreter of `operations` is given: a pass over one tile of points, step by step.

Steps read and write stacks in registers, as many as a pass likes. A pass keeps what linear
operations gave, and the reverse one works everything else out again: that is quicker than fetching
it from memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any

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
    sources,
)


class Code(IntEnum):
    """What a step does; `z`, `a` and `b` are its registers."""

    GATHER = 0  # z = the points' rows of an array, the inputs or a cotangent
    SCATTER = auto()  # the points' rows of an array = a
    LINEAR = auto()  # z = a W^T + bias
    ACTIVATE = auto()  # z = f(a)
    COMBINE = auto()  # z = a + factor b
    MULTIPLY = auto()  # z = a b
    AFFINE = auto()  # z = factor a + shift
    SCALE = auto()  # z = w a
    SHIFT = auto()  # z = a + w
    LINEAR_BACK = auto()  # z = W^T a, or added
    ACTIVATE_BACK = auto()  # of f(a): z becomes the cotangent of a, b becomes f(a)
    MULTIPLY_BACK = auto()  # z = the cotangent of the factor beside b, or added; a is the product's
    ACCUMULATE = auto()  # z += factor a
    MATRIX_SUMS = auto()  # of a (x) b, to a tensor
    VALUE_SUMS = auto()  # of row 0 of a, to a tensor
    PRODUCT_SUMS = auto()  # of a b over all rows, to a tensor


@dataclass
class Step:
    """One step; registers are numbers, or None.

    Attributes:
        units: of z, or of a where there is no z.
        depth: of a linear map, the units that it sums over; of `MATRIX_SUMS`, those of b.
        tensor, bias: places of tensors.
        add: whether z is added to, or a tensor's sums have been begun by another step.
        second: whether it is the second of the two arrays that are gathered or scattered.
    """

    code: Code
    units: int
    z: int | None = None
    a: int | None = None
    b: int | None = None
    depth: int = 0
    tensor: int | None = None
    bias: int | None = None
    activation: Activation | None = None
    add: bool = False
    second: bool = False
    factor: float = 1.0
    shift: float = 0.0

    @property
    def registers(self) -> list[int]:
        """Those that it reads or writes."""
        return [r for r in (self.z, self.a, self.b) if r is not None]


@dataclass
class Steps:
    """A pass.

    Attributes:
        steps: in order.
        kept: the registers that hold what linear operations gave, by value.
        widths: units of each register.
    """

    steps: list[Step] = field(default_factory=list)
    kept: dict[int, int] = field(default_factory=dict)
    widths: list[int] = field(default_factory=list)

    def register(self, units: int) -> int:
        """A new register."""
        self.widths.append(units)
        return len(self.widths) - 1


def forward_step(operation: Operation, units: int, z: int, read: Sequence[int], depth: int) -> Step:
    """The step that works out an operation's value from registers."""
    a, b = (*read, None)[:2]
    match operation:
        case Linear(_, weight, bias):
            return Step(Code.LINEAR, units, z, a, depth=depth, tensor=weight, bias=bias)
        case Activate(_, activation):
            return Step(Code.ACTIVATE, units, z, a, activation=activation)
        case Combine(_, _, factor):
            return Step(Code.COMBINE, units, z, a, b, factor=factor)
        case Multiply():
            return Step(Code.MULTIPLY, units, z, a, b)
        case Affine(_, factor, shift):
            return Step(Code.AFFINE, units, z, a, factor=factor, shift=shift)
        case Scale(_, tensor):
            return Step(Code.SCALE, units, z, a, tensor=tensor)
        case Shift(_, tensor):
            return Step(Code.SHIFT, units, z, a, tensor=tensor)


def forward_steps(structure: Structure, kept: Sequence[int]) -> Steps:
    """The pass from the inputs to the output, which keeps those values."""
    made = Steps()
    widths = structure.widths
    registers = [made.register(widths[0])]
    made.steps.append(Step(Code.GATHER, widths[0], registers[0]))
    for value, operation in enumerate(structure.operations, start=1):
        registers.append(made.register(widths[value]))
        if value in kept:
            made.kept[value] = registers[value]
        read = sources(operation)
        on, depth = [registers[source] for source in read], widths[read[0]]
        made.steps.append(forward_step(operation, widths[value], registers[value], on, depth))
    last = structure.output
    made.steps.append(Step(Code.SCATTER, widths[last], a=registers[last]))
    return made


def reverse_steps(structure: Structure, inputs: bool) -> Steps:
    """The pass from the cotangent of the output back to tensors, and to the inputs if wanted."""
    return _Reverse(structure, inputs).made


class _Reverse:
    """Writes the steps of a reverse pass down, the last operation first."""

    def __init__(self, structure: Structure, inputs: bool) -> None:
        self.structure, self.moving = structure, structure.moving(inputs)
        self.made = Steps()
        self.values: dict[int, int] = {}  # registers of values that are there
        self.grads: dict[int, int] = {}  # registers of cotangents
        self.begun: set[int] = set()  # tensors that have sums
        self.waiting: dict[int, list[Callable[[], None]]] = {}  # for activated values
        widths, last = structure.widths, structure.output
        self.grads[last] = self.made.register(widths[last])
        self._step(Code.GATHER, last, self.grads[last], second=True)
        for value in range(len(structure.operations), 0, -1):
            grad = self.grads.pop(value, None)
            if grad is not None and self.moving[value]:
                self._adjoint(structure.operations[value - 1], value, grad)
        if inputs and 0 not in self.grads:
            self.grads[0] = self.made.register(widths[0])
            entry = self._value(0)
            self._step(Code.AFFINE, 0, self.grads[0], entry, factor=0.0)
        if inputs:
            self._step(Code.SCATTER, 0, a=self.grads[0], second=True)

    def _step(
        self,
        code: Code,
        of: int,
        z: int | None = None,
        a: int | None = None,
        b: int | None = None,
        **more: Any,
    ) -> None:
        self.made.steps.append(Step(code, self.structure.widths[of], z, a, b, **more))

    def _value(self, value: int) -> int:
        """The register of a value, which is worked out again unless it is there or kept."""
        if value in self.values:
            return self.values[value]
        widths = self.structure.widths
        operation = self.structure.operations[value - 1] if value else None
        read: list[int] = []
        if operation is not None and not isinstance(operation, Linear):
            read = [self._value(source) for source in sources(operation)]
        found = self.values[value] = self.made.register(widths[value])
        if operation is None:
            self._step(Code.GATHER, 0, found)
        elif isinstance(operation, Linear):
            self.made.kept[value] = found
        else:
            self.made.steps.append(forward_step(operation, widths[value], found, read, 0))
        return found

    def _target(self, value: int) -> tuple[int, bool]:
        """The register of a value's cotangent, and whether there is something in it already."""
        there = value in self.grads
        if not there:
            self.grads[value] = self.made.register(self.structure.widths[value])
        return self.grads[value], there

    def _pass_on(self, value: int, grad: int, factor: float = 1.0) -> None:
        """Add a multiple of a cotangent, which is then nobody's, to that of a value."""
        if value in self.grads:
            self._step(Code.ACCUMULATE, value, self.grads[value], grad, factor=factor)
            return
        self.grads[value] = grad
        if factor != 1.0:
            self._step(Code.AFFINE, value, grad, grad, factor=factor)

    def _when(self, value: int, write: Callable[[], None], target: int = 0) -> None:
        """Write steps that read a value once no activation has to be worked out twice for it.

        Args:
            value: what is read.
            write: writes them.
            target: the value whose cotangent they add to.
        """
        awaited = self._returning(value)
        if awaited > target:
            self.waiting.setdefault(awaited, []).append(write)
        else:
            write()

    def _returning(self, value: int) -> int:
        """The next activated value that a value is made of and its adjoint brings; or 0."""
        operation = self.structure.operations[value - 1] if value else None
        if value in self.values or operation is None or isinstance(operation, Linear):
            return 0
        if isinstance(operation, Activate) and self.moving[value]:
            return value
        return max(map(self._returning, sources(operation)))

    def _adjoint(self, operation: Operation, value: int, grad: int) -> None:
        moving, widths = self.moving, self.structure.widths
        match operation:
            case Linear(source, weight, bias):
                if bias is not None:
                    self._sums(Code.VALUE_SUMS, value, bias, grad)
                if moving[source]:
                    z, add = self._target(source)
                    more = {"depth": widths[value], "tensor": weight, "add": add}
                    self._step(Code.LINEAR_BACK, source, z, grad, **more)
                self._sums(Code.MATRIX_SUMS, value, weight, grad, source)
            case Activate(source, activation):
                h, again = self._value(source), self.made.register(widths[value])
                self._step(Code.ACTIVATE_BACK, value, grad, h, again, activation=activation)
                self.values.setdefault(value, again)
                for write in self.waiting.pop(value, ()):
                    write()
                self._pass_on(source, grad)
            case Multiply(left, right):
                self._factor(left, right, grad)
                self._factor(right, left, grad)
            case Combine(left, right, factor):
                if moving[left] and moving[right] and left not in self.grads:
                    z, add = self._target(right)
                    code = Code.ACCUMULATE if add else Code.AFFINE
                    self._step(code, right, z, grad, factor=factor)
                elif moving[right]:
                    if moving[left]:
                        self._step(Code.ACCUMULATE, left, self.grads[left], grad)
                    self._pass_on(right, grad, factor)
                    return
                self._pass_on(left, grad)
            case Affine(source, factor, _):
                self._pass_on(source, grad, factor)
            case Scale(source, tensor):
                self._sums(Code.PRODUCT_SUMS, value, tensor, grad, source)
                if moving[source]:
                    scaled = self.made.register(widths[value])
                    self._step(Code.SCALE, value, scaled, grad, tensor=tensor)
                    self._pass_on(source, scaled)
            case Shift(source, tensor):
                self._sums(Code.VALUE_SUMS, value, tensor, grad)
                if moving[source]:
                    self._pass_on(source, grad)

    def _factor(self, target: int, other: int, grad: int) -> None:
        """What a product's cotangent means to the factor beside another."""

        def write() -> None:
            read = self._value(other)
            z, add = self._target(target)
            self._step(Code.MULTIPLY_BACK, target, z, grad, read, add=add)

        if self.moving[target]:
            self._when(other, write, target)

    def _sums(self, code: Code, of: int, tensor: int, grad: int, value: int | None = None) -> None:
        """What a cotangent, with a value that was read, means to a tensor."""

        def write() -> None:
            read = None if value is None else self._value(value)
            depth = 0 if value is None else self.structure.widths[value]
            begun = tensor in self.begun
            self._step(code, of, None, grad, read, depth=depth, tensor=tensor, add=begun)
            self.begun.add(tensor)

        if not self.structure.trained[tensor]:
            return
        if value is None:
            write()
        else:
            self._when(value, write)


def slots(made: Steps) -> tuple[dict[int, int], int]:
    """Places in memory for the registers that are not kept, and how many there are.

    A place is free again after the last step that needs its register.
    """
    kept = set(made.kept.values())
    last = {r: i for i, step in enumerate(made.steps) for r in step.registers}
    places: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for i, step in enumerate(made.steps):
        for register in step.registers:
            if register not in places and register not in kept:
                if not free:
                    free.append(count)
                    count += 1
                places[register] = free.pop()
        free += {places[r] for r in step.registers if last[r] == i and r not in kept}
    return places, count


def ahead(made: Steps) -> Iterator[int | None]:
    """For each step, the kept register that the next steps will want first."""
    kept, wanted, found = set(made.kept.values()), None, []
    for step in reversed(made.steps):
        found.append(wanted)
        wanted = next((r for r in step.registers if r in kept), wanted)
    return reversed(found)
