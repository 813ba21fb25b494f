"""What the C interpreter of `operations` is given: a pass over one tile of points, step by step.

Steps read and write stacks in registers, as many as a pass likes. A pass keeps what linear
operations gave, and the reverse one works everything else out again: that is quicker than fetching
it from memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto

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
        read = operation.sources
        on, depth = [registers[source] for source in read], widths[read[0]]
        made.steps.append(forward_step(operation, widths[value], registers[value], on, depth))
    last = structure.output
    made.steps.append(Step(Code.SCATTER, widths[last], a=registers[last]))
    return made


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
