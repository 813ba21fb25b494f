"""Rows of the Jacobian: each residual's derivatives in every trained parameter."""

from pinnsig.objective.rows.jacobian import (
    Rows,
    jacobian_blocks,
    residual_jacobian,
    row_squares,
    row_terms,
)
from pinnsig.objective.rows.least_squares import LeastSquares

__all__ = [
    "LeastSquares",
    "Rows",
    "jacobian_blocks",
    "residual_jacobian",
    "row_squares",
    "row_terms",
]
