"""What operations do to stacks of partials, and their adjoints, in torch's operations.

A linear operation acts on all K partials at once, a constant on the value's row only, an
activation by Faa di Bruno's formula and a product by Leibniz's. Griewank and Walther, Evaluating
Derivatives (2008), chapter 13.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pinnsig.derivatives.kernels import LayerKernel
from pinnsig.derivatives.plan import Plan
from pinnsig.networks.operations import (
    Activate,
    Affine,
    Combine,
    Linear,
    Multiply,
    Operation,
    Scale,
    Shift,
)

Contributions = Iterator[tuple[int, Tensor]]
"""What a cotangent means to the values that were read: each with its place."""


class ParameterGradients(ABC):
    """Takes what cotangents mean to the network's tensors."""

    @abstractmethod
    def matrix(self, place: int, left: Tensor, right: Tensor) -> None:
        """Add sum_k left_k (x) right_k of each point, from stacks of shape (K, N, units)."""

    @abstractmethod
    def vector(self, place: int, found: Tensor) -> None:
        """Add what stands there for each point and unit, shape (N, units)."""


@dataclass(frozen=True)
class Pass:
    """What all operations of a pass share.

    Attributes:
        plan: the K partials.
        values: the stacks so far, shape (K, N, units).
        tensors: the network's.
        keep: whether there will be a way back.
    """

    plan: Plan
    values: list[Tensor]
    tensors: Sequence[Tensor]
    keep: bool


@dataclass(frozen=True)
class Adjoint:
    """What an operation's adjoint is given.

    Attributes:
        on: the pass.
        kept: what `Rule.value` gave beside the value.
        grad: the cotangent of the value, which stays as it is.
        note: takes what it means to the tensors.
    """

    on: Pass
    kept: Any
    grad: Tensor
    note: ParameterGradients


class Rule(ABC):
    """An operation's value and adjoint."""

    @abstractmethod
    def value(self, operation: Any, on: Pass) -> tuple[Tensor, Any]:
        """The stack that it gives, and what its adjoint needs beside the values."""

    @abstractmethod
    def adjoint(self, operation: Any, back: Adjoint) -> Contributions:
        """Carry the cotangent of what it gave back to what it read."""


class _Linear(Rule):
    def value(self, operation: Linear, on: Pass) -> tuple[Tensor, None]:
        found = on.values[operation.source] @ on.tensors[operation.weight].mT
        if operation.bias is not None:
            found[0] += on.tensors[operation.bias]
        return found, None

    def adjoint(self, operation: Linear, back: Adjoint) -> Contributions:
        back.note.matrix(operation.weight, back.grad, back.on.values[operation.source])
        if operation.bias is not None:
            back.note.vector(operation.bias, back.grad[0])
        yield operation.source, back.grad @ back.on.tensors[operation.weight]


class _Activate(Rule):
    def value(self, operation: Activate, on: Pass) -> tuple[Tensor, Any]:
        kernel, h = LayerKernel(operation.activation, on.plan), on.values[operation.source]
        found, none = torch.empty_like(h), h.new_zeros(())
        return found, kernel.forward(h, none, found, on.plan.order + on.keep)

    def adjoint(self, operation: Activate, back: Adjoint) -> Contributions:
        found = back.grad.clone()
        kernel = LayerKernel(operation.activation, back.on.plan)
        kernel.backward(found, back.on.values[operation.source], back.kept)
        yield operation.source, found


class _Combine(Rule):
    def value(self, operation: Combine, on: Pass) -> tuple[Tensor, None]:
        left, right = on.values[operation.left], on.values[operation.right]
        return torch.add(left, right, alpha=operation.factor), None

    def adjoint(self, operation: Combine, back: Adjoint) -> Contributions:
        yield operation.left, back.grad
        yield operation.right, operation.factor * back.grad


class _Multiply(Rule):
    def value(self, operation: Multiply, on: Pass) -> tuple[Tensor, None]:
        left, right = on.values[operation.left], on.values[operation.right]
        found = torch.empty_like(left)
        on.plan.product.evaluate({"a": left, "b": right}, found)
        return found, None

    def adjoint(self, operation: Multiply, back: Adjoint) -> Contributions:
        for factor, other in ((operation.left, operation.right), (operation.right, operation.left)):
            found = torch.empty_like(back.on.values[factor])
            stacks = {"b": back.on.values[other], "g": back.grad}
            back.on.plan.product_adjoint.evaluate(stacks, found)
            yield factor, found


class _Affine(Rule):
    def value(self, operation: Affine, on: Pass) -> tuple[Tensor, None]:
        found = operation.factor * on.values[operation.source]
        found[0] += operation.shift
        return found, None

    def adjoint(self, operation: Affine, back: Adjoint) -> Contributions:
        yield operation.source, operation.factor * back.grad


class _Scale(Rule):
    def value(self, operation: Scale, on: Pass) -> tuple[Tensor, None]:
        return on.values[operation.source] * on.tensors[operation.factor].reshape(-1), None

    def adjoint(self, operation: Scale, back: Adjoint) -> Contributions:
        back.note.vector(operation.factor, (back.grad * back.on.values[operation.source]).sum(0))
        yield operation.source, back.grad * back.on.tensors[operation.factor].reshape(-1)


class _Shift(Rule):
    def value(self, operation: Shift, on: Pass) -> tuple[Tensor, None]:
        found = on.values[operation.source].clone()
        found[0] += on.tensors[operation.amount].reshape(-1)
        return found, None

    def adjoint(self, operation: Shift, back: Adjoint) -> Contributions:
        back.note.vector(operation.amount, back.grad[0])
        yield operation.source, back.grad


RULES: dict[type[Operation], Rule] = {
    Linear: _Linear(),
    Activate: _Activate(),
    Combine: _Combine(),
    Multiply: _Multiply(),
    Affine: _Affine(),
    Scale: _Scale(),
    Shift: _Shift(),
}
"""The rule of each operation."""
