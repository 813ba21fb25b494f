"""Smooth activations outside the odd-sigmoid class."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from pinnsig.activations.base import Activation


@dataclass(frozen=True)
class Sin(Activation):
    """sin(x); the derivatives are cos, -sin, -cos, ..."""

    @property
    def slope(self) -> float:
        """cos(0) = 1."""
        return 1.0

    @property
    def bound(self) -> float:
        """sin(pi/2) = 1."""
        return 1.0

    def _format(self, argument: str) -> str:
        return f"sin({argument})"

    def _derivatives(self, x: Tensor, order: int) -> tuple[Tensor, ...]:
        s, c = x.sin(), x.cos()
        return tuple((s.clone(), c.clone(), -s, -c)[n % 4] for n in range(order + 1))


sin = Sin()
