"""The steps of the way back through a composition of operations."""

from collections.abc import Callable
from typing import Any

from pinnsig.derivatives.compiled.steps import Code, Step, Steps, forward_step
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
            read = [self._value(source) for source in operation.sources]
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
        return max(map(self._returning, operation.sources))

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
