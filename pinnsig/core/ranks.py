"""Processes that share one run: rank 0 asks, the others answer.

All goes point to point, from rank 0 or to it, and sums are made there in the order of the ranks, so
that they are the same bit for bit each time. A process that ends closes its connections, which the
others notice at once. Nothing here is global: whoever takes part is given its `Ranks`.
"""

import pickle
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, ProcessGroupGloo, Store

from pinnsig.core.errors import RankError, first_line

PATIENCE = timedelta(minutes=30)
"""How long an answer may take: one process may compile for minutes while the others wait."""

IDLE = timedelta(days=30)  # that a process may wait to be asked
PACKET = 4096  # bytes that are sent at once: the length of a message, and most messages whole
LENGTH = 8


class Ranks:
    """The processes of one run, seen from one of them; by itself, the only one there is.

    Attributes:
        rank: this one's number; 0 is the one that trains, and that users see.
        size: how many there are.
        local, here: the same among those on its machine.
        device: where this one computes.
        whole_threads: that those on its machine have together; None where it is alone.
        started: whether rank 0 has started the others, which then run nothing else.
        launch: what has started them, where that starts them again if one ends; "" else.
        again: whether it has.
    """

    rank: int = 0
    size: int = 1
    local: int = 0
    here: int = 1
    device: torch.device = torch.device("cpu")
    whole_threads: int | None = None
    started: bool = False
    launch: str = ""
    again: bool = False

    @property
    def others(self) -> range:
        """All but rank 0."""
        return range(1, self.size)

    def send(self, to: int, message: Any, tensors: Sequence[Tensor] = ()) -> None:
        """Send a message and tensors to one process.

        Raises:
            RankError: that process has ended.
        """
        del message, tensors
        raise RankError(f"there is no process {to}: this one is alone")

    def receive(self, source: int) -> tuple[Any, list[Tensor]]:
        """Return the message and the tensors that one process sends.

        Raises:
            RankError: that process has ended, or has been silent for too long.
        """
        raise RankError(f"there is no process {source}: this one is alone")

    def broadcast(self, tensor: Tensor, source: int) -> None:
        """Overwrite a tensor, which has the same shape everywhere, with that of one process."""

    def place(self, device: torch.device, nccl: bool) -> None:
        """Say where this process computes; all do so at the same time.

        Args:
            device: where.
            nccl: whether each has a GPU of its own, so that tensors go from one to the other.
        """


class JoinedRanks(Ranks):
    """Processes that have found each other at a store.

    Tensors on a GPU go by NCCL where each process has one of its own, else by way of the host.

    Args:
        store: where they meet.
        rank, size, local, here, whole_threads, started, launch, again: see `Ranks`.

    Raises:
        RankError: they cannot be reached.
    """

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        local: int = 0,
        here: int = 1,
        whole_threads: int | None = None,
        started: bool = False,
        launch: str = "",
        again: bool = False,
    ) -> None:
        self.rank, self.size, self.local, self.here = rank, size, local, here
        self.whole_threads, self.started = whole_threads, started
        self.launch, self.again = launch, again
        self._store = store
        self._nccl: Any = None
        meet = {name: PrefixStore(name, store) for name in ("orders", "answers")}
        try:
            self._orders: Any = ProcessGroupGloo(meet["orders"], rank, size, IDLE)
            self._answers: Any = ProcessGroupGloo(meet["answers"], rank, size, PATIENCE)
        except RuntimeError as error:
            raise RankError(f"the processes cannot connect: {first_line(error)}") from None

    def place(self, device: torch.device, nccl: bool) -> None:
        """See `Ranks.place`."""
        self.device = device
        if nccl and self._nccl is None:
            meet = PrefixStore("nccl", self._store)
            self._nccl = _nccl_group(meet, self.rank, self.size, device)

    def send(self, to: int, message: Any, tensors: Sequence[Tensor] = ()) -> None:
        """See `Ranks.send`."""
        about = [(t.shape, t.dtype, t.device.type) for t in tensors]
        data = pickle.dumps((message, about), protocol=5)
        size = max(len(data), PACKET - LENGTH)
        packet = torch.zeros(LENGTH + size, dtype=torch.uint8)
        packet[:LENGTH].view(torch.int64).fill_(len(data))
        packet[LENGTH : LENGTH + len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        group = self._answers if self.rank else self._orders
        for part in (packet[:PACKET], packet[PACKET:]):
            if len(part):
                self._go(to, lambda part=part: group.send([part], to, 0).wait())
        for tensor in tensors:
            self._put(tensor.detach().contiguous(), to)

    def receive(self, source: int) -> tuple[Any, list[Tensor]]:
        """See `Ranks.receive`."""
        group = self._orders if self.rank else self._answers
        packet = torch.empty(PACKET, dtype=torch.uint8)
        self._go(source, lambda: group.recv([packet], source, 0).wait())
        length = int(packet[:LENGTH].view(torch.int64))
        data = packet[LENGTH:]
        if length > len(data):
            rest = torch.empty(length - len(data), dtype=torch.uint8)
            self._go(source, lambda: group.recv([rest], source, 0).wait())
            data = torch.cat([data, rest])
        message, about = pickle.loads(data[:length].numpy().data)
        return message, [self._take(source, *own) for own in about]

    def broadcast(self, tensor: Tensor, source: int) -> None:
        """See `Ranks.broadcast`; `tensor` is contiguous."""
        if self.rank == source:
            for to in range(self.size):
                if to != source:
                    self._put(tensor, to)
        else:
            tensor.copy_(self._take(source, tensor.shape, tensor.dtype, tensor.device.type))

    def _put(self, tensor: Tensor, to: int) -> None:
        if not tensor.numel():
            return
        if tensor.is_cuda and self._nccl is not None:
            self._go(to, lambda: dist.send(tensor, to, self._nccl))
            return
        host = tensor.cpu()
        self._go(to, lambda: self._answers.send([host], to, 1).wait())

    def _take(self, source: int, shape: torch.Size, dtype: torch.dtype, kind: str) -> Tensor:
        straight = kind == "cpu" or self._nccl is not None
        device = self.device if kind != "cpu" else torch.device("cpu")
        found = torch.empty(shape, dtype=dtype, device=device if straight else "cpu")
        if not found.numel():
            return found.to(device)
        if found.is_cuda:
            self._go(source, lambda: dist.recv(found, source, self._nccl))
        else:
            self._go(source, lambda: self._answers.recv([found], source, 1).wait())
        return found.to(device)

    def _go(self, other: int, act: Any) -> None:
        try:
            act()
        except RuntimeError as error:
            if "timed out" in str(error).lower():
                minutes = PATIENCE.total_seconds() / 60
                reason = f"a process of this run is silent for {minutes:g} minutes (rank {other})"
            else:
                reason = f"a process of this run ended (rank {other})"
            raise RankError(reason) from error


def _nccl_group(store: Store, rank: int, size: int, device: torch.device) -> Any:
    torch.cuda.set_device(device)
    if not dist.is_initialized():
        dist.init_process_group("nccl", store=store, rank=rank, world_size=size, timeout=PATIENCE)
        return dist.group.WORLD
    return dist.new_group(backend="nccl", timeout=PATIENCE)


def ordered_sum(parts: Iterable[Tensor]) -> Tensor:
    """Return the sum in the order given, in float64 wherever the device has it."""
    total: Tensor | None = None
    for part in parts:
        wide = part if part.device.type == "mps" else part.double()
        total = wide.clone() if total is None else total.add_(wide)
    assert total is not None
    return total
