"""Whatever mode of torch's a caller is in, a run has its own."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def own_gradients() -> Iterator[None]:
    """Within it, or in a function that it decorates, gradients flow, as they do by default.

    A caller may be in `torch.inference_mode()` or `torch.no_grad()`, which training cannot be in.
    """
    with torch.inference_mode(False), torch.enable_grad():
        yield
