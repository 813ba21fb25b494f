"""Recording GPU work once and replaying it, so that launching it costs next to nothing."""

from collections.abc import Callable

import torch
from torch import Tensor

WARM_UP = 3  # as torch advises, so that nothing is allocated or compiled while recording


class Recorded:
    """A function without arguments whose GPU work is replayed as a CUDA graph.

    The function reads and writes the same tensors each time, and asks the host for nothing. Where
    it cannot be recorded it is simply called; `notice` then says why.

    Args:
        work: the function; the tensor that it returns is overwritten by the next call.
        device: where it runs; anything but CUDA is never recorded.
    """

    def __init__(self, work: Callable[[], Tensor], device: torch.device) -> None:
        self.work = work
        self.device = device
        self.notice: str | None = None
        self.graph: torch.cuda.CUDAGraph | None = None
        self.result: Tensor | None = None
        self.tried = device.type != "cuda"

    def __call__(self) -> Tensor:
        """The function's result."""
        if not self.tried:
            self.tried = True
            self._record()
        if self.graph is None or self.result is None:
            return self.work()
        self.graph.replay()
        return self.result.clone()

    def _record(self) -> None:
        try:
            with torch.cuda.device(self.device):
                side = torch.cuda.Stream()
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    for _ in range(WARM_UP):
                        self.work()
                torch.cuda.current_stream().wait_stream(side)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self.result = self.work()
                self.graph = graph
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            self.notice = f"evaluations are not replayed as a CUDA graph: {reason}"
