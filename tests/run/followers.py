"""Processes that answer the tests of `test_distributed`: a group of two and one of three."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta

import torch
from torch import Tensor
from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]
from torch.distributed.distributed_c10d import PrefixStore, Store

from pinnsig.core.interrupts import end_with_parent
from pinnsig.core.ranks import JoinedRanks, Ranks
from pinnsig.objective.distributed import Holding
from pinnsig.run.following import End, follow

SIZES = (2, 3)


@contextlib.contextmanager
def followers() -> Iterator[Store]:
    """Start them; they end when all groups have."""
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    start = "import sys; from tests.run.followers import main; main(*map(int, sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen([sys.executable, "-c", start, str(store.port), str(rank)], env=environment)
        for rank in range(1, max(SIZES))
    ]
    try:
        yield store
        for process in processes:
            assert process.wait(60) == 0
    finally:
        for process in processes:
            process.kill()


def lead_all(store: Store) -> dict[int, Ranks]:
    """Be rank 0 of every group, by size."""
    return {size: _joined(store, 0, size) for size in SIZES}


def end(ranks: Ranks) -> None:
    """Let the others of a group go."""
    for rank in ranks.others:
        ranks.send(rank, End(None))


def _joined(store: Store, rank: int, size: int) -> Ranks:
    return JoinedRanks(PrefixStore(str(size), store), rank, size, rank, size)


def main(port: int, rank: int) -> None:
    """Follow in each group that has this rank, at the same time."""
    end_with_parent(signal.SIGKILL)
    torch.set_num_threads(1)
    store = TCPStore("127.0.0.1", port, is_master=False, timeout=timedelta(minutes=1))
    groups = [_joined(store, rank, size) for size in SIZES if rank < size]
    threads = [threading.Thread(target=follow, args=(group,)) for group in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fail(holding: Holding, about: int, tensors: list[Tensor]) -> list[Tensor]:
    """Work that fails in one process."""
    if holding.ranks.rank == about:
        raise ValueError("no such number")
    return [torch.tensor([float(holding.ranks.rank)])]
