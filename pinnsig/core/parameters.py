"""Trainable parameters as views of one flat vector, so that optimisers act in few operations."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn


class FlatParameters:
    """All parameters as one vector, and their gradient as another.

    The parameters are views of `values`: writing to it moves them. All who ask for the vector of
    the same parameters get the same memory, and a gradient each, whose entries have that order.

    Attributes:
        values: shape (P,).
        gradient: shape (P,).
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.parameters = list(parameters)
        common = _common_vector(self.parameters)
        self.values = _joined(self.parameters) if common is None else common
        self.gradient = torch.zeros_like(self.values)

    def __len__(self) -> int:
        return self.values.numel()

    @property
    def deserted(self) -> bool:
        """Whether the parameters lie elsewhere by now, as after a change of type or device."""
        return self.parameters[0].data_ptr() != self.values.data_ptr()

    def copy(self) -> Tensor:
        """A copy of the values."""
        return self.values.clone()

    def restore(self, values: Tensor) -> None:
        """Set every parameter from a vector of shape (P,)."""
        self.values.copy_(values)


def _common_vector(parameters: Sequence[nn.Parameter]) -> Tensor | None:
    """The vector that they are views of already, in this order and with nothing between."""
    first = parameters[0]
    storage, place = first.untyped_storage().data_ptr(), first.storage_offset()
    for p in parameters:
        near = p.untyped_storage().data_ptr() == storage and p.storage_offset() == place
        if not near or p.dtype != first.dtype or not p.is_contiguous():
            return None
        place += p.numel()
    start = first.storage_offset()
    return first.data.as_strided((place - start,), (1,), start)


def _joined(parameters: Sequence[nn.Parameter]) -> Tensor:
    """A vector of their values, which they are made views of."""
    values = torch.cat([p.detach().reshape(-1) for p in parameters])
    parts = values.split([p.numel() for p in parameters])
    for p, part in zip(parameters, parts, strict=True):
        p.data = part.view_as(p)
    return values
