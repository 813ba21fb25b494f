"""Muon: a first-order method that orthogonalises the momentum of weight matrices.

Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024,
kellerjordan.github.io/posts/muon); step lengths as in Liu et al., arXiv 2502.16982, section 2.2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.optim.base import Layout
from pinnsig.optim.first_order import FirstOrder

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
"""Coefficients a, b, c of a s + b s^3 + c s^5, which takes singular values s towards 1 (Jordan)."""

ITERATIONS = 5
ADAMS_SIZE = 0.2
"""The root mean square of Adam's usual updates, in units of the learning rate (Liu et al.)."""


@dataclass(frozen=True)
class Stack:
    """Matrices of one shape that stand at equal distances in a flat vector."""

    rows: int
    columns: int
    offset: int
    distance: int = 0
    count: int = 1

    def of(self, vector: Tensor) -> Tensor:
        """Return a view of a contiguous vector, shape (count, rows, columns)."""
        size = (self.count, self.rows, self.columns)
        distance = self.distance or self.rows * self.columns
        strides = (distance, self.columns, 1)
        return vector.as_strided(size, strides, vector.storage_offset() + self.offset)

    def with_next(self, offset: int) -> "Stack | None":
        """Return the stack with one matrix more, or None where that stands at another distance."""
        distance = self.distance or offset - self.offset
        if offset != self.offset + self.count * distance:
            return None
        return Stack(self.rows, self.columns, self.offset, distance, self.count + 1)


def stacks(shapes: Sequence[torch.Size], smallest: int) -> tuple[Stack, ...]:
    """Return the matrices with at least `smallest` rows and columns, in few stacks."""
    found: dict[torch.Size, list[Stack]] = {}
    offset = 0
    for shape in shapes:
        if len(shape) == 2 and min(shape) >= smallest:
            of_shape = found.setdefault(shape, [])
            longer = of_shape[-1].with_next(offset) if of_shape else None
            if longer is None:
                of_shape.append(Stack(shape[0], shape[1], offset))
            else:
                of_shape[-1] = longer
        offset += shape.numel()
    return tuple(stack for of_shape in found.values() for stack in of_shape)


def orthogonalized(x: Tensor) -> Tensor:
    """Return matrices with the singular vectors of x, and singular values of 0.7 to 1.2.

    Values below about 1e-3 of the Frobenius norm come out smaller; a zero matrix stays zero.

    Args:
        x: shape (count, rows, columns); its scale is of no account, not even where squares of its
            entries would overflow.
    """
    if x.shape[1] > x.shape[2]:
        return orthogonalized(x.mT).mT
    tiny = torch.finfo(x.dtype).tiny
    x = x / x.abs().amax((1, 2), keepdim=True).clamp(min=tiny)
    x = x / torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True).clamp(min=tiny)
    a, b, c = NEWTON_SCHULZ
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


class Muon(FirstOrder):
    """Nesterov momentum, orthogonalised, for weight matrices; Adam for all other parameters.

    A matrix with few rows or columns (the first and the last of a network) is Adam's too. Equally
    shaped layers are worked on together.

    Args:
        lr: the learning rate of both: the root mean square of a matrix's update is about 0.2 lr.
        momentum: of the matrices.
        smallest: rows and columns that a matrix has at least.
        beta1, beta2, epsilon: Adam's.
        clip: see `FirstOrder`.

    Raises:
        SettingsError: a setting out of its range.
    """

    name = "muon"
    rate_factor: ClassVar[float] = 50.0

    def __init__(
        self,
        lr: float,
        momentum: float = 0.95,
        smallest: int = 8,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        clip: float | None = None,
    ) -> None:
        super().__init__(lr, beta1, beta2, epsilon, clip)
        if not 0 <= momentum < 1:
            raise SettingsError(f"muon: momentum = {momentum} must lie in [0, 1)")
        if smallest < 2:
            raise SettingsError(f"muon: smallest = {smallest} must be >= 2")
        self.momentum, self.smallest = momentum, smallest
        self.stacks: tuple[Stack, ...] = ()
        self.fresh: Tensor | None = None  # a gradient's weight in the running mean, shape (P,)
        self.ahead: Tensor | None = None  # that mean's weight in a step, shape (P,)

    def prepare(self, layout: Layout) -> str | None:
        """See `Optimizer.prepare`; has to be called before the first step."""
        self.stacks = stacks(layout.shapes, self.smallest)
        ones = torch.ones(layout.parameters, dtype=layout.dtype, device=layout.device)
        self.fresh, self.ahead = (1 - self.betas[0]) * ones, ones
        for stack in self.stacks:
            stack.of(self.fresh).fill_(1 - self.momentum)
            stack.of(self.ahead).fill_(self.momentum)
        if self.stacks:
            return None
        return f"muon: no matrix has {self.smallest} rows and columns: all is left to Adam"

    def average(self, mean: Tensor, gradient: Tensor) -> Tensor:
        """See `FirstOrder.average`; a matrix's step looks ahead as Nesterov's does."""
        if self.fresh is None or self.ahead is None:
            raise RuntimeError("muon has to meet the layout of its task (prepare) before a step")
        return gradient.lerp(mean.lerp_(gradient, self.fresh), self.ahead)

    def numbers(self) -> tuple[float, ...]:
        """The learning rate, and the corrections of both means."""
        return self.learning_rate, *self._unbias()

    def move(self, theta: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[Tensor]) -> None:
        """See `FirstOrder.move`."""
        length, unbias1, unbias2 = numbers
        update = (mean / unbias1).div_((square / unbias2).sqrt_().add_(self.epsilon))
        for stack in self.stacks:
            size = ADAMS_SIZE * math.sqrt(max(stack.rows, stack.columns))
            stack.of(update).copy_(orthogonalized(stack.of(mean)).mul_(size))
        theta.sub_(update.mul_(length))
