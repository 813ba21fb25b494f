"""Trainable parameters as views of one flat vector, so that optimisers act in few operations."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


class FlatParameters:
    """All parameters, and all their gradients, each as one vector.

    The parameters become views: writing to `values` moves them. `gradient` has its entries in the
    same order.

    Attributes:
        values: shape (P,).
        gradient: shape (P,).
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.parameters = list(parameters)
        self.values = torch.cat([p.detach().reshape(-1) for p in self.parameters])
        self.gradient = torch.zeros_like(self.values)
        offset = 0
        for p in self.parameters:
            span = slice(offset, offset + p.numel())
            p.data = self.values[span].view_as(p)
            offset += p.numel()

    def __len__(self) -> int:
        return self.values.numel()

    def copy(self) -> Tensor:
        """A copy of the values."""
        return self.values.clone()

    def restore(self, values: Tensor) -> None:
        """Set every parameter from a vector of shape (P,)."""
        self.values.copy_(values)
