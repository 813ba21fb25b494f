"""Odd-sigmoid activations (paper, section 4.1 and appendix B.1)."""

from pinnsig.activations.base import MAX_ORDER, Activation

__all__ = ["MAX_ORDER", "Activation"]
