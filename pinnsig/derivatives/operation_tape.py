"""The pass through a composition of operations in torch's operations: any device and type."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pinnsig.core.types import (
    InputTable,
    Jacobian,
    MemberFlats,
    MemberInputTables,
    MemberJacobians,
    MemberTables,
)
from pinnsig.derivatives.operation_rules import RULES, Adjoint, ParameterGradients, Pass
from pinnsig.derivatives.plan import Plan
from pinnsig.derivatives.tape import Tape, by_row
from pinnsig.networks import Structure


class OperationTape(Tape):
    """The pass operation by operation.

    Args:
        inputs: partials of the network's inputs, outside autograd.
        structure: the operations.
        tensors: what they read, outside autograd.
        plan: the K partials.
        keep: whether there will be a way back.
    """

    def __init__(
        self,
        inputs: InputTable,
        structure: Structure,
        tensors: Sequence[Tensor],
        plan: Plan,
        keep: bool,
    ) -> None:
        self.structure = structure
        self.on = Pass(plan, [inputs], tensors, keep)
        self.kept: list[Any] = []

    @torch.no_grad()
    def forward(self) -> MemberTables:
        """See `Tape.forward`."""
        for operation in self.structure.operations:
            value, kept = RULES[type(operation)].value(operation, self.on)
            self.on.values.append(value)
            self.kept.append(kept)
        return self.on.values[self.structure.output].clone()

    @torch.no_grad()
    def add_gradient(
        self, cotangent: MemberTables, into: MemberFlats, inputs: bool
    ) -> MemberInputTables | None:
        """See `Tape.add_gradient`."""
        return self._reverse(cotangent, _Sums(self.structure, into), inputs)

    @torch.no_grad()
    def write_rows(
        self, cotangent: MemberTables, stride: int, out: MemberJacobians
    ) -> MemberInputTables:
        """See `Tape.write_rows`."""
        out.zero_()
        below = self._reverse(cotangent, _Rows(self.structure, out, stride), True)
        assert below is not None
        return below

    def _reverse(self, cotangent: Tensor, note: ParameterGradients, inputs: bool) -> Tensor | None:
        structure, moving = self.structure, self.structure.moving(inputs)
        grads: dict[int, Tensor] = {structure.output: cotangent}
        for value in range(len(structure.operations), 0, -1):
            grad = grads.pop(value, None)
            if grad is None or not moving[value]:
                continue
            operation, kept = structure.operations[value - 1], self.kept[value - 1]
            back = Adjoint(self.on, kept, grad, note)
            for source, part in RULES[type(operation)].adjoint(operation, back):
                if moving[source]:
                    grads[source] = grads[source] + part if source in grads else part
        return grads.get(0, torch.zeros_like(self.on.values[0])) if inputs else None


class _Sums(ParameterGradients):
    """Sums over all points."""

    def __init__(self, structure: Structure, into: Tensor) -> None:
        self.columns = {i: into[place] for i, place in structure.places.items()}

    def matrix(self, place: int, left: Tensor, right: Tensor) -> None:
        if place in self.columns:
            self.columns[place] += (left.flatten(0, 1).mT @ right.flatten(0, 1)).flatten()

    def vector(self, place: int, found: Tensor) -> None:
        if place in self.columns:
            self.columns[place] += _folded(found.sum(0), self.columns[place])


class _Rows(ParameterGradients):
    """Rows of a Jacobian, which is zero at first, each of `stride` points."""

    def __init__(self, structure: Structure, out: Tensor, stride: int) -> None:
        self.columns = {i: out[:, place] for i, place in structure.places.items()}
        self.stride = stride

    def matrix(self, place: int, left: Tensor, right: Tensor) -> None:
        if place in self.columns:
            left, right = (by_row(stack, self.stride) for stack in (left, right))
            self.columns[place] += torch.bmm(left.mT, right).flatten(1)

    def vector(self, place: int, found: Tensor) -> None:
        if place in self.columns:
            columns = self.columns[place]
            sums = found.unflatten(0, (len(columns), self.stride)).sum(1)
            columns += _folded(sums, columns)


def _folded(found: Tensor, columns: Tensor) -> Tensor:
    """What all units share is summed over them."""
    same = found.shape[-1] == columns.shape[-1]
    return found if same else found.sum(-1, keepdim=True)


class ComputedTape(Tape):
    """A pass through tensors some of which are computed from a network's parameters.

    Args:
        tape: the pass, whose gradient is in all trained tensors.
        trained: those tensors, the parameters first; the others differentiable in them.
        parameters: how many are parameters.
    """

    def __init__(self, tape: Tape, trained: Sequence[Tensor], parameters: int) -> None:
        self.tape = tape
        self.parameters, self.computed = trained[:parameters], trained[parameters:]

    def forward(self) -> MemberTables:
        """See `Tape.forward`."""
        return self.tape.forward()

    def add_gradient(
        self, cotangent: MemberTables, into: MemberFlats, inputs: bool
    ) -> MemberInputTables | None:
        """See `Tape.add_gradient`."""
        flat = into.new_zeros(self._size)
        below = self.tape.add_gradient(cotangent, flat, inputs)
        into += self._through(flat.unsqueeze(0))[0]
        return below

    def write_rows(
        self, cotangent: MemberTables, stride: int, out: MemberJacobians
    ) -> MemberInputTables:
        """See `Tape.write_rows`."""
        rows = out.new_empty(len(out), self._size)
        below = self.tape.write_rows(cotangent, stride, rows)
        out.copy_(self._through(rows))
        return below

    @property
    def _size(self) -> int:
        return sum(t.numel() for t in (*self.parameters, *self.computed))

    def _through(self, rows: Tensor) -> Jacobian:
        """From gradients in all tensors to those in the parameters alone."""
        all_parts = rows.split([t.numel() for t in (*self.parameters, *self.computed)], dim=1)
        own, behind = all_parts[: len(self.parameters)], all_parts[len(self.parameters) :]
        if not len(rows):
            return rows[:, : sum(p.numel() for p in self.parameters)]
        batched = len(rows) > 1  # which takes torch longer
        many = (len(rows),) if batched else ()
        pairs = [
            (computed, part.reshape(many + computed.shape))
            for computed, part in zip(self.computed, behind, strict=True)
            if computed.requires_grad
        ]
        moved = [i for i, parameter in enumerate(self.parameters) if parameter.requires_grad]
        found = torch.autograd.grad(
            [computed for computed, _ in pairs],
            [self.parameters[i] for i in moved],
            [part for _, part in pairs],
            retain_graph=True,
            allow_unused=True,
            is_grads_batched=batched,
        )
        for i, more in zip(moved, found, strict=True):
            if more is not None:
                own[i].add_(more.reshape(own[i].shape))
        return torch.cat(own, dim=1)
