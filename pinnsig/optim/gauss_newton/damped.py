"""Damped linear least squares: the d that minimises |u + J d|^2 + lambda |d|^2.

Both normal equations square J's condition number; the orthogonal forms do not, and cost four times
as much.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from pinnsig.optim.gauss_newton.linearization import HeldLinearization, Linearization


class DampedSolver(ABC):
    """Solves for one J, one lambda after another."""

    @abstractmethod
    def factor(self, damping: float) -> bool:
        """Prepare for lambda; return whether that could be done in the precision there is."""

    @abstractmethod
    def solve(self, u: Tensor, slope: Tensor) -> Tensor:
        """Return d, shape (P,), for u, shape (N,), and slope = J^T u, shape (P,)."""


class NormalEquations(DampedSolver):
    """Cholesky of a Gram matrix plus lambda: J^T J, the primal form, or J J^T, the dual one.

    Primal: d = -(J^T J + lambda)^-1 J^T u. Dual: d = -J^T (J J^T + lambda)^-1 u.

    Args:
        model: where the products come from.
        dual: which form.

    Attributes:
        trace: of the Gram matrix, |J|^2, shape ().
    """

    def __init__(self, model: Linearization, dual: bool) -> None:
        self.model, self.dual = model, dual
        self.matrix = model.kernel() if dual else model.gram()
        self.diagonal = self.matrix.diagonal().clone()
        self.trace = self.diagonal.sum()
        self.lower: Tensor | None = None

    def factor(self, damping: float) -> bool:
        """See `DampedSolver`."""
        torch.add(self.diagonal, damping, out=self.matrix.diagonal())
        self.lower, info = torch.linalg.cholesky_ex(self.matrix)
        return not int(info)

    def solve(self, u: Tensor, slope: Tensor) -> Tensor:
        """See `DampedSolver`."""
        assert self.lower is not None
        right = u if self.dual else slope
        found = torch.cholesky_solve(right[:, None], self.lower)[:, 0]
        return -(self.model.pullback(found) if self.dual else found)


class Orthogonal(DampedSolver):
    """Householder QR of [J; sqrt(lambda) I], the primal form, or [J^T; sqrt(lambda) I], the dual.

    Bjorck, Numerical Methods for Least Squares Problems, 1996, sections 2.7 (least-norm solution)
    and 5.3 (damping).

    Args:
        model: holds J.
        dual: which form.
    """

    def __init__(self, model: HeldLinearization, dual: bool) -> None:
        self.jacobian, self.dual = model.jacobian, dual
        self.factors: tuple[Tensor, Tensor] | None = None

    def factor(self, damping: float) -> bool:
        """See `DampedSolver`."""
        tall = self.jacobian.T if self.dual else self.jacobian
        length, size = tall.shape
        # column by column, as LAPACK wants it, so that it makes no copy of its own
        stacked = tall.new_zeros(size, length + size).T
        stacked[:length] = tall
        stacked[length:].fill_diagonal_(damping**0.5)
        self.factors = torch.geqrf(stacked)
        return True

    def solve(self, u: Tensor, slope: Tensor) -> Tensor:
        """See `DampedSolver`."""
        del slope
        assert self.factors is not None
        packed, tau = self.factors
        length, size = len(packed), packed.shape[1]
        triangle = packed[:size]
        column = u.new_zeros(length, 1)
        if self.dual:
            column[:size] = torch.linalg.solve_triangular(triangle.T, u[:, None], upper=False)
            return -torch.ormqr(packed, tau, column)[: length - size, 0]
        column[: len(u), 0] = u
        rotated = torch.ormqr(packed, tau, column, transpose=True)[:size]
        return -torch.linalg.solve_triangular(triangle, rotated, upper=True)[:, 0]
