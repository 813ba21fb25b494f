"""Rows of the Jacobian: each residual's derivatives in every trained parameter."""

from pinnsig.jacobian.least_squares import LeastSquares
from pinnsig.jacobian.rows import Rows, jacobian_blocks, residual_jacobian

__all__ = ["LeastSquares", "Rows", "jacobian_blocks", "residual_jacobian"]
