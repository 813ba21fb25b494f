"""A recorded pass through a network: the table of partials, and what the way back needs.

A layer maps the stack Z of shape (K, N, inputs) to H = Z W^T, with the bias on the value's row
only, and the activation maps H by Faa di Bruno's formula; one reverse pass then gives the
weights' gradient. Griewank and Walther, Evaluating Derivatives (2008), chapter 13. Without its
last reduction, the sum over points, it gives rows of a Jacobian: a layer's block of point n is
sum_k gh[k, n] (x) z[k, n].
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pinnsig.core.types import MemberFlats, MemberInputTables, MemberJacobians, MemberTables
from pinnsig.derivatives.kernels import Derivatives, LayerKernel
from pinnsig.derivatives.workspace import Workspace


class Tape(ABC):
    """A pass of K partials at N points through weights W_0, b_0, W_1, ... of P numbers."""

    @abstractmethod
    def forward(self) -> MemberTables:
        """Return the partials of the network's outputs; called before the others."""

    @abstractmethod
    def add_gradient(
        self, cotangent: MemberTables, into: MemberFlats, inputs: bool
    ) -> MemberInputTables | None:
        """Carry a cotangent of the table back through the layers.

        Args:
            cotangent: of the table.
            into: what the weights' gradient is added to, contiguous.
            inputs: whether the cotangent of the inputs is wanted back.
        """

    @abstractmethod
    def write_rows(
        self, cotangent: MemberTables, stride: int, out: MemberJacobians
    ) -> MemberInputTables:
        """The same point by point, not summed.

        Args:
            cotangent: of the table; row m owns the points from m * stride to (m + 1) * stride.
            stride: points to a row.
            out: where the rows go, its last dimension contiguous.

        Returns:
            The cotangent of the inputs.
        """


class LayerTape(Tape):
    """The pass in torch's operations, layer by layer: any device, type and activation.

    A first dimension of members may come before all others, of inputs, weights, table and gradient:
    networks of one shape that are carried together, each at points of its own.

    Args:
        inputs: partials of the network's inputs, outside autograd and, with members, contiguous.
        weights: weight and bias of each layer.
        kernel: the elementwise work of a layer.
        keep: whether there will be a way back.
    """

    def __init__(
        self, inputs: MemberInputTables, weights: Sequence[Tensor], kernel: LayerKernel, keep: bool
    ) -> None:
        self.inputs, self.weights, self.kernel, self.keep = inputs, weights, kernel, keep
        self.hidden, self.width = len(weights) // 2 - 1, weights[0].shape[-2]
        self.product = torch.mm if weights[0].ndim == 2 else torch.bmm
        # room for every layer's h, and for z or the gradient before and after one layer
        stacks = (self.hidden if keep else 0) + 4
        self.space = Workspace(stacks * (inputs.shape[:-1].numel() * self.width + 16), inputs)
        self.scratch = [self._stack() for _ in range(3)]
        self.layers: list[tuple[Tensor, Derivatives]] = []

    def _stack(self) -> Tensor:
        return self.space.take(*self.inputs.shape[:-1], self.width)

    @torch.no_grad()
    def forward(self) -> MemberTables:
        """See `Tape.forward`."""
        z, h, order = self.inputs, self._stack(), self.kernel.plan.order + self.keep
        for i in range(self.hidden):
            self.product(_rows(z), self.weights[2 * i].mT, out=_rows(h))
            z = self.scratch[0]
            partials = _partials(h)
            f = self.kernel.forward(partials, _bias(self.weights[2 * i + 1]), _partials(z), order)
            if self.keep:
                self.layers.append((partials, f))
                h = self._stack()
        table = self.product(_rows(z), self.weights[-2].mT).unflatten(-2, z.shape[-3:-1])
        _partials(table)[0] += _bias(self.weights[-1])
        return table

    @torch.no_grad()
    def add_gradient(
        self, cotangent: MemberTables, into: MemberFlats, inputs: bool
    ) -> MemberInputTables | None:
        """See `Tape.add_gradient`."""
        found = []

        def note(grad: Tensor, z: Tensor) -> None:
            weight = self.product(_rows(grad).mT, _rows(z))
            found.extend((_partials(grad)[0].sum(-2), weight.flatten(-2)))

        below = self._reverse(cotangent, note, inputs)
        into += torch.cat(found[::-1], dim=-1)
        return below

    @torch.no_grad()
    def write_rows(
        self, cotangent: MemberTables, stride: int, out: MemberJacobians
    ) -> MemberInputTables:
        """See `Tape.write_rows`."""
        columns = list(out.split([w.numel() for w in self.weights], dim=1))

        def note(grad: Tensor, z: Tensor) -> None:
            bias, weight = columns.pop(), columns.pop()
            left, right = by_row(grad, stride).transpose(1, 2), by_row(z, stride)
            # straight into place: the rows are most of what is ever written
            torch.bmm(left, right, out=weight.unflatten(1, (grad.shape[2], z.shape[2])))
            torch.sum(grad[0].unflatten(0, (len(out), stride)), dim=1, out=bias)

        below = self._reverse(cotangent, note, True)
        assert below is not None
        return below

    def _reverse(
        self, cotangent: MemberTables, note: Callable[[Tensor, Tensor], None], inputs: bool
    ) -> MemberInputTables | None:
        """Each layer, last first, gets noted with the gradient in its h and the z it took in."""
        z, *buffers = self.scratch
        grad = cotangent
        for i in reversed(range(len(self.layers) + 1)):
            if i:  # z is worked out again from h: that is quicker than fetching it from memory
                self.kernel.recompute(*self.layers[i - 1], _partials(z))
            note(grad, z if i else self.inputs)
            if i:
                below = buffers[i % 2]
                self.product(_rows(grad), self.weights[2 * i], out=_rows(below))
                self.kernel.backward(_partials(below), *self.layers[i - 1])
                grad = below
        return grad @ self.weights[0] if inputs else None


class SequentialTapes(Tape):
    """Passes through several networks, one after another, as one with a dimension of members."""

    def __init__(self, tapes: Sequence[Tape]) -> None:
        self.tapes = tapes

    def forward(self) -> MemberTables:
        """See `Tape.forward`."""
        return torch.stack([tape.forward() for tape in self.tapes])

    def add_gradient(
        self, cotangent: MemberTables, into: MemberFlats, inputs: bool
    ) -> MemberInputTables | None:
        """See `Tape.add_gradient`."""
        parts = zip(self.tapes, cotangent, into, strict=True)
        found = [tape.add_gradient(c, own, inputs) for tape, c, own in parts]
        return torch.stack([f for f in found if f is not None]) if inputs else None

    def write_rows(
        self, cotangent: MemberTables, stride: int, out: MemberJacobians
    ) -> MemberInputTables:
        """See `Tape.write_rows`."""
        parts = zip(self.tapes, cotangent, out, strict=True)
        return torch.stack([tape.write_rows(c, stride, o) for tape, c, o in parts])


def _rows(stack: Tensor) -> Tensor:
    """From (..., K, N, W) to the factor of a matrix product, shape (..., K * N, W)."""
    return stack.flatten(-3, -2)


def _partials(stack: Tensor) -> Tensor:
    """The same memory with the partials first: shape (K, ..., N, W)."""
    return stack if stack.ndim == 3 else stack.movedim(-3, 0)


def _bias(bias: Tensor) -> Tensor:
    """From (W,) or (M, W) to what is added to stacks of points."""
    return bias if bias.ndim == 1 else bias.unsqueeze(-2)


def by_row(stack: Tensor, stride: int) -> Tensor:
    """From (K, N, W) to all that belongs to one row, shape (N / stride, K * stride, W)."""
    rows = stack.shape[1] // stride
    return stack.unflatten(1, (rows, stride)).permute(1, 0, 2, 3).flatten(1, 2)
