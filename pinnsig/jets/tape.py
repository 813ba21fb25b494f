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

from pinnsig.jets.kernels import Derivatives, LayerKernel
from pinnsig.jets.workspace import Workspace


class Tape(ABC):
    """A pass of K partials at N points through weights W_0, b_0, W_1, ... of P' numbers."""

    @abstractmethod
    def forward(self) -> Tensor:
        """Partials of the network's outputs, shape (K, N, outputs); called before the others."""

    @abstractmethod
    def add_gradient(self, cotangent: Tensor, into: Tensor, inputs: bool) -> Tensor | None:
        """Carry a cotangent of the table, shape (K, N, outputs), back through the layers.

        Args:
            cotangent: of the table.
            into: what the weights' gradient is added to, shape (P',), contiguous.
            inputs: whether the cotangent of the inputs, shape (K, N, inputs), is wanted back.
        """

    @abstractmethod
    def write_rows(self, cotangent: Tensor, stride: int, out: Tensor) -> Tensor:
        """The same point by point, not summed.

        Args:
            cotangent: of the table; row m owns the points from m * stride to (m + 1) * stride.
            stride: points to a row.
            out: where the rows go, shape (N / stride, P'), its last dimension contiguous.

        Returns:
            The cotangent of the inputs, shape (K, N, inputs).
        """


class LayerTape(Tape):
    """The pass in torch's operations, layer by layer: any device, type and activation.

    Args:
        inputs: partials of the network's inputs, shape (K, N, inputs), outside autograd.
        weights: weight and bias of each layer.
        kernel: the elementwise work of a layer.
        keep: whether there will be a way back.
    """

    def __init__(
        self, inputs: Tensor, weights: Sequence[Tensor], kernel: LayerKernel, keep: bool
    ) -> None:
        self.inputs, self.weights, self.kernel, self.keep = inputs, weights, kernel, keep
        k, n, _ = inputs.shape
        self.hidden, self.width = len(weights) // 2 - 1, weights[0].shape[0]
        # room for every layer's h, and for z or the gradient before and after one layer
        rows = (self.hidden if keep else 0) + 4
        self.space = Workspace(rows * (k * n * self.width + 16), inputs)
        self.scratch = [self._stack() for _ in range(3)]
        self.layers: list[tuple[Tensor, Derivatives]] = []

    def _stack(self) -> Tensor:
        return self.space.take(*self.inputs.shape[:2], self.width)

    @torch.no_grad()
    def forward(self) -> Tensor:
        """See `Tape.forward`."""
        z, h, order = self.inputs, self._stack(), self.kernel.plan.order + self.keep
        for i in range(self.hidden):
            torch.mm(z.flatten(0, 1), self.weights[2 * i].T, out=h.flatten(0, 1))
            z = self.scratch[0]
            f = self.kernel.forward(h, self.weights[2 * i + 1], z, order)
            if self.keep:
                self.layers.append((h, f))
                h = self._stack()
        table = (z.flatten(0, 1) @ self.weights[-2].T).unflatten(0, z.shape[:2])
        table[0] += self.weights[-1]
        return table

    @torch.no_grad()
    def add_gradient(self, cotangent: Tensor, into: Tensor, inputs: bool) -> Tensor | None:
        """See `Tape.add_gradient`."""
        found = []

        def note(grad: Tensor, z: Tensor) -> None:
            found.extend((grad[0].sum(0), (grad.flatten(0, 1).T @ z.flatten(0, 1)).flatten()))

        below = self._reverse(cotangent, note, inputs)
        into += torch.cat(found[::-1])
        return below

    @torch.no_grad()
    def write_rows(self, cotangent: Tensor, stride: int, out: Tensor) -> Tensor:
        """See `Tape.write_rows`."""
        columns = list(out.split([w.numel() for w in self.weights], dim=1))

        def note(grad: Tensor, z: Tensor) -> None:
            bias, weight = columns.pop(), columns.pop()
            left, right = _by_row(grad, stride).transpose(1, 2), _by_row(z, stride)
            # straight into place: the rows are most of what is ever written
            torch.bmm(left, right, out=weight.unflatten(1, (grad.shape[2], z.shape[2])))
            torch.sum(grad[0].unflatten(0, (len(out), stride)), dim=1, out=bias)

        below = self._reverse(cotangent, note, True)
        assert below is not None
        return below

    def _reverse(
        self, cotangent: Tensor, note: Callable[[Tensor, Tensor], None], inputs: bool
    ) -> Tensor | None:
        """Each layer, last first, gets noted with the gradient in its h and the z it took in."""
        z, *turns = self.scratch
        grad = cotangent
        for i in reversed(range(len(self.layers) + 1)):
            if i:  # z is worked out again from h: that is quicker than fetching it from memory
                self.kernel.again(*self.layers[i - 1], z)
            note(grad, z if i else self.inputs)
            if i:
                below = turns[i % 2]
                torch.mm(grad.flatten(0, 1), self.weights[2 * i], out=below.flatten(0, 1))
                self.kernel.backward(below, *self.layers[i - 1])
                grad = below
        return grad @ self.weights[0] if inputs else None


def _by_row(stack: Tensor, stride: int) -> Tensor:
    """From (K, N, W) to all that belongs to one row, shape (N / stride, K * stride, W)."""
    rows = stack.shape[1] // stride
    return stack.unflatten(1, (rows, stride)).permute(1, 0, 2, 3).flatten(1, 2)
