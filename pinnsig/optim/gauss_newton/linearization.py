"""The residuals' first-order model r + J d: its products, with J held or its rows computed anew."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import Tensor

from pinnsig.optim.base import Rows

PANELS = 4  # of a Gram matrix, of which only one triangle is wanted


def wide_dtype(device: torch.device) -> torch.dtype:
    """The type that the linear algebra is done in: float64 wherever the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64


class Linearization(ABC):
    """Residuals r and products with their Jacobian J, shape (N, P), at the present parameters.

    Attributes:
        residual: r, shape (N,), in `wide_dtype`.
    """

    residual: Tensor

    @abstractmethod
    def pullback(self, cotangent: Tensor) -> Tensor:
        """Return J^T u, shape (P,)."""

    @abstractmethod
    def push(self, tangent: Tensor) -> Tensor:
        """Return J v, shape (N,)."""

    @abstractmethod
    def gram(self) -> Tensor:
        """Return J^T J, shape (P, P), with only its lower triangle filled."""

    @abstractmethod
    def kernel(self) -> Tensor:
        """Return J J^T, shape (N, N), with only its lower triangle filled."""


class LocalLinearization(Linearization):
    """One whose rows are all in this process."""

    @abstractmethod
    def rows_between(self, first: int, last: int) -> Tensor:
        """Return some rows of J, shape (last - first, P), contiguous."""

    @abstractmethod
    def against(self, rows: Tensor) -> Tensor:
        """Return J R^T, shape (N, M), for rows of another Jacobian, shape (M, P)."""


class HeldLinearization(LocalLinearization):
    """All of J in memory.

    Args:
        rows: the answer to a request for the Jacobian.
        jacobian: memory for J, shape (N, P), in `wide_dtype`.
        block: memory for some rows, shape (M, P), of the type that rows are computed in.
    """

    def __init__(self, rows: Rows, jacobian: Tensor, block: Tensor) -> None:
        self.jacobian = jacobian
        self.residual = jacobian.new_empty(rows.count)
        for at, r, part in rows.blocks(len(block), block):
            self.residual[at], jacobian[at] = r, part

    def pullback(self, cotangent: Tensor) -> Tensor:
        """See `Linearization`."""
        return self.jacobian.T @ cotangent

    def push(self, tangent: Tensor) -> Tensor:
        """See `Linearization`."""
        return self.jacobian @ tangent

    def gram(self) -> Tensor:
        """See `Linearization`."""
        size = self.jacobian.shape[1]
        return add_lower_gram(self.jacobian.new_zeros(size, size), self.jacobian)

    def kernel(self) -> Tensor:
        """See `Linearization`."""
        size = len(self.jacobian)
        return add_lower_gram(self.jacobian.new_zeros(size, size), self.jacobian.T)

    def rows_between(self, first: int, last: int) -> Tensor:
        """See `LocalLinearization`."""
        return self.jacobian[first:last]

    def against(self, rows: Tensor) -> Tensor:
        """See `LocalLinearization`."""
        return self.jacobian @ rows.T


class StreamedLinearization(LocalLinearization):
    """J's rows computed anew for each product, a bounded number at a time.

    The parameters must not move between the products.

    Args:
        rows: the answer to a request for the Jacobian.
        block: memory for some rows, shape (M, P), of the type that they are computed in.
        group: rows kept at once for `kernel`, which takes two passes for each group of rows.
    """

    def __init__(self, rows: Rows, block: Tensor, group: int) -> None:
        self.rows, self.block, self.group = rows, block, group
        self.residual = block.new_empty(rows.count, dtype=wide_dtype(block.device))
        for _ in self._blocks():
            pass

    def _blocks(self) -> Iterator[tuple[slice, Tensor]]:
        for at, r, part in self.rows.blocks(len(self.block), self.block):
            self.residual[at] = r
            yield at, part.to(self.residual)

    def pullback(self, cotangent: Tensor) -> Tensor:
        """See `Linearization`."""
        total = self.residual.new_zeros(self.block.shape[1])
        for at, part in self._blocks():
            total.addmv_(part.T, cotangent[at])
        return total

    def push(self, tangent: Tensor) -> Tensor:
        """See `Linearization`."""
        pushed = torch.empty_like(self.residual)
        for at, part in self._blocks():
            pushed[at] = part @ tangent
        return pushed

    def gram(self) -> Tensor:
        """See `Linearization`."""
        size = self.block.shape[1]
        total = self.residual.new_zeros(size, size)
        for _, part in self._blocks():
            add_lower_gram(total, part)
        return total

    def kernel(self) -> Tensor:
        """See `Linearization`."""
        count = len(self.residual)
        total = self.residual.new_empty(count, count)
        for first in range(0, count, self.group):
            last = min(first + self.group, count)
            total[:, first:last] = self.against(self.rows_between(first, last))
        return total

    def rows_between(self, first: int, last: int) -> Tensor:
        """See `LocalLinearization`."""
        kept = self.residual.new_empty(last - first, self.block.shape[1])
        for at, part in self._blocks():
            low, high = max(at.start, first), min(at.stop, last)
            if low < high:
                kept[low - first : high - first] = part[low - at.start : high - at.start]
        return kept

    def against(self, rows: Tensor) -> Tensor:
        """See `LocalLinearization`."""
        found = self.residual.new_empty(len(self.residual), len(rows))
        for at, part in self._blocks():
            found[at] = part @ rows.T
        return found


def add_lower_gram(total: Tensor, matrix: Tensor) -> Tensor:
    """Add the lower triangle of A^T A to `total`, shape (n, n), for A of shape (m, n).

    Panel by panel: with 4 of them 5/8 of the whole product's work.
    """
    size = len(total)
    edges = [size * i // PANELS for i in range(PANELS + 1)]
    for start, stop in pairwise(edges):
        total[start:, start:stop].addmm_(matrix[:, start:].T, matrix[:, start:stop])
    return total
