"""Memory for what a pass through a network keeps, used again by the next pass.

Fresh memory of this size comes from the operating system page by page, which takes as long as the
arithmetic; so on a CPU it is kept. A GPU's allocator keeps memory by itself.
"""

from math import prod

import torch
from torch import Tensor

_IDLE: dict[int, Tensor] = {}  # flat buffers that no pass is using, by their id
_KEPT = 16


class Workspace:
    """Hands out uninitialised tensors from one buffer, free again when this object dies."""

    def __init__(self, elements: int, like: Tensor) -> None:
        self.like = like
        self.used = 0
        self.buffer: Tensor | None = None
        if like.device.type == "cpu":
            self.buffer = _find(elements, like.dtype)

    def take(self, *shape: int) -> Tensor:
        """An uninitialised tensor of that shape."""
        size = prod(shape)
        if self.buffer is None or self.used + size > len(self.buffer):
            return self.like.new_empty(shape)
        found = self.buffer[self.used : self.used + size].view(shape)
        self.used += -(-size // 16) * 16  # each begins on a cache line
        return found

    def address(self, size: int) -> int:
        """The same as a bare address; on a CPU only, and not beyond what was asked for."""
        assert self.buffer is not None
        assert self.used + size <= len(self.buffer)
        found = self.buffer.data_ptr() + self.used * self.buffer.itemsize
        self.used += -(-size // 16) * 16
        return found

    def __del__(self) -> None:
        if self.buffer is not None and len(_IDLE) < _KEPT:
            _IDLE[id(self.buffer)] = self.buffer


def _find(elements: int, dtype: torch.dtype) -> Tensor:
    """The smallest idle buffer that is large enough, or a new one."""
    fitting = [b for b in list(_IDLE.values()) if b.dtype == dtype and len(b) >= elements]
    for buffer in sorted(fitting, key=len):
        if _IDLE.pop(id(buffer), None) is not None:  # else another thread was first
            return buffer
    return torch.empty(elements, dtype=dtype)
