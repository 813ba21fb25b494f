"""Rows of the Jacobian: each residual's derivatives in every trained parameter."""

from pinnsig.jacobian.rows import Rows, jacobian_blocks, residual_jacobian

__all__ = ["Rows", "jacobian_blocks", "residual_jacobian"]
