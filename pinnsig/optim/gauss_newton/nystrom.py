"""A preconditioner of J^T J + lambda from a random sketch."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Nystrom:
    """The leading part of a symmetric positive semidefinite matrix A, as U diag(values) U^T.

    Frangella, Tropp, Udell, Randomized Nystrom preconditioning, SIAM J. Matrix Anal. Appl. 44
    (2023), algorithm 2.1 and equation 5.3.

    Attributes:
        basis: U, shape (P, rank), orthonormal columns.
        values: shape (rank,), descending.
    """

    basis: Tensor
    values: Tensor

    @classmethod
    def from_sketch(cls, test: Tensor, product: Tensor) -> "Nystrom":
        """The approximation from A Omega.

        Args:
            test: Omega, shape (P, rank), orthonormal columns.
            product: A Omega, which may hold rounding.
        """
        size = torch.linalg.matrix_norm(product)
        shift = torch.finfo(product.dtype).eps * size
        while True:
            shifted = product + shift * test
            core = test.T @ shifted
            lower, info = torch.linalg.cholesky_ex((core + core.T) / 2)
            if not int(info) or not bool(size.isfinite()):
                break
            shift = 10 * shift  # differences round more than sums do
        half = torch.linalg.solve_triangular(lower, shifted.T, upper=False).T
        basis, roots, _ = torch.linalg.svd(half, full_matrices=False)
        # by rows, as it comes back from a checkpoint: another order of sums rounds differently
        basis = basis.clone(memory_format=torch.contiguous_format)
        return cls(basis, (roots.square() - shift).clamp(min=0))

    def solve(self, right: Tensor, damping: float) -> Tensor:
        """Return (A + lambda)^-1 b times (smallest value + lambda), for b of shape (P,).

        Outside U's span A is taken as its smallest value there.
        """
        inside = self.basis.T @ right
        factors = (self.values[-1] + damping) / (self.values + damping)
        return right + self.basis @ ((factors - 1) * inside)
