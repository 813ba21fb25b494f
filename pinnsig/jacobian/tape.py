"""A pass through a network whose reverse pass keeps the points apart.

It is the reverse pass of the `jets` engine without its last step, the sum over points: a layer
with H = Z W^T gives point n the block sum_k gh[k, n] ⊗ z[k, n] of its row.
"""

import itertools

import torch
from torch import Tensor

from pinnsig.jets import Plan
from pinnsig.jets.compiled import kernel_for
from pinnsig.networks import FFNN


class Tape:
    """The partials of a plan at N points, and what reverse passes need to know of each layer.

    Args:
        network: the network, of P' weights and biases.
        inputs: partials of its inputs, shape (K, N, inputs), outside autograd.
        plan: the K partials.

    Attributes:
        table: partials of its outputs, shape (K, N, outputs).
    """

    @torch.no_grad()
    def __init__(self, network: FFNN, inputs: Tensor, plan: Plan) -> None:
        self.linears = network.linears
        self.kernel = kernel_for(network.activation, plan, inputs)
        self.stacks = [inputs]  # what goes into each linear layer
        self.kept = []  # what the kernel wants back, for each hidden layer
        *hidden, last = self.linears
        for linear in hidden:
            h = self.stacks[-1] @ linear.weight.T
            activated = torch.empty_like(h)
            f = self.kernel.forward(h, linear.bias, activated, plan.order + 1)
            self.kept.append((h, f))
            self.stacks.append(activated)
        self.table = self.stacks[-1] @ last.weight.T
        self.table[0] += last.bias

    @torch.no_grad()
    def write_rows(self, cotangent: Tensor, stride: int, out: Tensor) -> Tensor:
        """Carry each row's cotangent back through the layers.

        Args:
            cotangent: of the table, shape (K, N, outputs); row m owns the points from m * stride
                to (m + 1) * stride.
            stride: points to a row.
            out: where the rows go, shape (N / stride, P'), columns in the order of the network's
                parameters.

        Returns:
            The cotangent of the inputs, shape (K, N, inputs).
        """
        sizes = [p.numel() for linear in self.linears for p in (linear.weight, linear.bias)]
        columns = [
            out[:, a:b] for a, b in itertools.pairwise(itertools.accumulate(sizes, initial=0))
        ]
        grad = cotangent
        for layer in reversed(range(len(self.linears))):
            if layer < len(self.kept):
                self.kernel.backward(grad, *self.kept[layer])
            weight = self.linears[layer].weight
            left = _by_row(grad, stride).transpose(1, 2)
            right = _by_row(self.stacks[layer], stride)
            # straight into place: the rows are most of what is ever written
            torch.bmm(left, right, out=columns[2 * layer].unflatten(1, weight.shape))
            torch.sum(grad[0].unflatten(0, (len(out), stride)), dim=1, out=columns[2 * layer + 1])
            grad = grad @ weight
        return grad


def _by_row(stack: Tensor, stride: int) -> Tensor:
    """From (K, N, W) to all that belongs to one row, shape (N / stride, K * stride, W)."""
    rows = stack.shape[1] // stride
    return stack.unflatten(1, (rows, stride)).permute(1, 0, 2, 3).flatten(1, 2)
