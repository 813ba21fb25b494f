"""A dense symmetric matrix that takes rank-two updates and multiplies vectors."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pinnsig.core.threads import run_jobs
from pinnsig.optim.packed import BLOCK, Kernel, balanced_groups, find_kernel, packed_size

SMALLEST_SHARED = 1024
"""Rows from which on several threads are faster than one."""


@dataclass(frozen=True)
class RankTwo:
    """H <- scale H + z_1 u_1^T + z_2 u_2^T.

    With u = z or -z: written in squares the update gives both triangles the same bits.

    Attributes:
        scale: what the matrix is multiplied with.
        vectors: z, shape (2, P).
        signed: u, shape (2, P).
    """

    scale: float
    vectors: Tensor
    signed: Tensor


class SymmetricMatrix(Protocol):
    """Shape (P, P); how it is stored is its own affair."""

    def scaled_identity(self, diagonal: float) -> None:
        """Become that multiple of the identity."""
        ...

    def update_and_multiply(self, update: RankTwo | None, g: Tensor) -> Tensor:
        """H g, shape (P,), after the update."""
        ...

    def triangle(self) -> Tensor:
        """A copy of the lower triangle, row after row, shape (P (P + 1) / 2,)."""
        ...

    def set_triangle(self, triangle: Tensor) -> None:
        """Become the matrix of a lower triangle."""
        ...


class SquareMatrix:
    """Stored in full, worked on by torch: one pass for the update and one for the product.

    Args:
        like: gives the number of rows, type and device.
    """

    def __init__(self, like: Tensor) -> None:
        self.values = like.new_zeros(like.numel(), like.numel())

    def scaled_identity(self, diagonal: float) -> None:
        """See `SymmetricMatrix.scaled_identity`."""
        self.values.zero_().fill_diagonal_(diagonal)

    def update_and_multiply(self, update: RankTwo | None, g: Tensor) -> Tensor:
        """See `SymmetricMatrix.update_and_multiply`."""
        if update is not None:
            self.values.addmm_(update.vectors.T, update.signed, beta=update.scale)
        return self.values @ g

    def triangle(self) -> Tensor:
        """See `SymmetricMatrix.triangle`."""
        return torch.cat([row[: i + 1] for i, row in enumerate(self.values)])

    def set_triangle(self, triangle: Tensor) -> None:
        """See `SymmetricMatrix.set_triangle`."""
        for i, row in enumerate(_rows(triangle, len(self.values))):
            self.values[i, : i + 1] = self.values[: i + 1, i] = row


class PackedMatrix:
    """One triangle, in blocks that a C kernel updates and multiplies with in a single pass.

    Args:
        like: gives the number of rows and the type.
        kernel: see `find_kernel`.
    """

    def __init__(self, like: Tensor, kernel: Kernel) -> None:
        self.rows = like.numel()
        self.groups = -(-self.rows // BLOCK)
        self.kernel = kernel
        self.values = like.new_zeros(packed_size(self.groups))

    def _group_blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """Rows of every group, and their entries up to the diagonal block, (BLOCK, columns)."""
        for k in range(self.groups):
            blocks = (
                self.values[packed_size(k) : packed_size(k + 1)]
                .view(k + 1, BLOCK, BLOCK)
                .transpose(0, 1)
            )
            yield slice(k * BLOCK, min((k + 1) * BLOCK, self.rows)), blocks

    def scaled_identity(self, diagonal: float) -> None:
        """See `SymmetricMatrix.scaled_identity`."""
        self.values.zero_()
        for span, blocks in self._group_blocks():
            blocks[:, -1].diagonal()[: span.stop - span.start] = diagonal

    def update_and_multiply(self, update: RankTwo | None, g: Tensor) -> Tensor:
        """See `SymmetricMatrix.update_and_multiply`."""
        columns = BLOCK * self.groups
        vectors = g.new_zeros(5, columns)
        vectors[4, : self.rows] = g
        scale = 1.0
        if update is not None:
            scale = update.scale
            vectors[:2, : self.rows], vectors[2:4, : self.rows] = update.vectors, update.signed
        threads = torch.get_num_threads() if self.rows >= SMALLEST_SHARED else 1
        shares = balanced_groups(self.groups, threads)
        products = g.new_zeros(len(shares), columns)

        def work(share: int) -> None:
            first, last = shares[share]
            self.kernel(first, last, self.values, scale, vectors, products[share])

        run_jobs(work, len(shares), threads)
        return products.sum(0)[: self.rows] if len(shares) > 1 else products[0, : self.rows]

    def triangle(self) -> Tensor:
        """See `SymmetricMatrix.triangle`."""
        rows = []
        for span, blocks in self._group_blocks():
            block = blocks.reshape(BLOCK, -1)
            rows += [block[i - span.start, : i + 1] for i in range(span.start, span.stop)]
        return torch.cat(rows)

    def set_triangle(self, triangle: Tensor) -> None:
        """See `SymmetricMatrix.set_triangle`."""
        rows = _rows(triangle, self.rows)
        for span, blocks in self._group_blocks():
            block = blocks.new_zeros(BLOCK, blocks.shape[1] * BLOCK)
            for i in range(span.start, span.stop):
                block[i - span.start, : i + 1] = next(rows)
            square = block[:, span.start :]
            square += square.tril(-1).T
            blocks.copy_(block.view(BLOCK, -1, BLOCK))


def make_matrix(like: Tensor) -> SymmetricMatrix:
    """A matrix with as many rows as there are entries: packed where there is a kernel for it."""
    kernel = find_kernel(like.dtype) if like.device.type == "cpu" else None
    return SquareMatrix(like) if kernel is None else PackedMatrix(like, kernel)


def compiled(dtype: torch.dtype) -> bool:
    """Whether a CPU has a kernel for a type."""
    return find_kernel(dtype) is not None


def stored_bytes(rows: int, dtype: torch.dtype, device: torch.device) -> int:
    """What `make_matrix` takes."""
    if device.type == "cpu" and compiled(dtype):
        return dtype.itemsize * packed_size(-(-rows // BLOCK))
    return dtype.itemsize * rows**2


def _rows(triangle: Tensor, count: int) -> Iterator[Tensor]:
    """The rows of a lower triangle."""
    for i in range(count):
        yield triangle[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
