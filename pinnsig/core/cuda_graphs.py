"""Recording GPU work once and replaying it, so that launching it costs next to nothing."""

from collections.abc import Callable

import torch
from torch import Tensor

from pinnsig.core.errors import first_line

WARM_UP = 3  # as torch advises, so that nothing is allocated or compiled while recording


class GraphedCallable:
    """A function without arguments whose GPU work is replayed as a CUDA graph.

    The function reads and writes the same tensors each time, and asks the host for nothing. The
    first calls are plain ones, so that a function that is soon given up is never recorded, and one
    that changes what it reads has done so once for each call. Where it cannot be recorded it is
    simply called; `notice` then says why.

    Args:
        work: the function; the tensor that it returns, if any, is overwritten by the next call.
        device: where it runs; anything but CUDA is never recorded.
    """

    def __init__(self, work: Callable[[], Tensor | None], device: torch.device) -> None:
        self.work = work
        self.device = device
        self.notice: str | None = None
        self.graph: torch.cuda.CUDAGraph | None = None
        self.result: Tensor | None = None
        self.plain = WARM_UP if device.type == "cuda" else -1  # calls before it is recorded

    def __call__(self) -> Tensor | None:
        """The function's result."""
        if self.plain > 0:
            self.plain -= 1
            return self._warm_up()
        if self.plain == 0:
            self.plain = -1
            self._record()
        if self.graph is None:
            return self.work()
        self.graph.replay()
        return None if self.result is None else self.result.clone()

    def _warm_up(self) -> Tensor | None:
        with torch.cuda.device(self.device):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                found = self.work()
            torch.cuda.current_stream().wait_stream(side)
        return found

    def _record(self) -> None:
        """Nothing is computed while recording."""
        try:
            with torch.cuda.device(self.device):
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self.result = self.work()
                self.graph = graph
        except RuntimeError as error:
            self.notice = f"evaluations are not replayed as a CUDA graph: {first_line(error)}"
