"""Sharing work between threads, each of which computes alone.

Torch's own threads meet after every operation; on layers of 64 units that costs as much as the
operation, and many times more where other programs want the cores. Here a thread takes whole
chunks of points and the threads meet once.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import TypeVar

import torch

Share = TypeVar("Share")


def run_shares(work: Callable[[int], Share], shares: int, single: bool = False) -> list[Share]:
    """work(0), ..., work(shares - 1), each in a thread of its own; results in that order.

    Args:
        work: what is done for a share.
        shares: how many there are.
        single: whether torch's own threads are to stay out of one share alone, too.
    """
    if shares == 1:
        with _single_threaded() if single else nullcontext():
            return [work(0)]
    with _single_threaded():
        others = [_pool(shares - 1).submit(work, i) for i in range(1, shares)]
        first = work(0)
        return [first, *(other.result() for other in others)]


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Let operations run in the thread that calls them; afterwards as before."""
    threads = torch.get_num_threads()
    if threads > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if threads > 1:
            torch.set_num_threads(threads)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    # each thread has a count of its own, which matrix products otherwise take from the machine
    return ThreadPoolExecutor(threads, "pinnsig", torch.set_num_threads, (1,))


def balance(costs: Sequence[float], shares: int) -> list[list[int]]:
    """Deal out jobs, the largest first, each to the share with the least so far."""
    dealt: list[list[int]] = [[] for _ in range(shares)]
    totals = [0.0] * shares
    for job in sorted(range(len(costs)), key=lambda i: (-costs[i], i)):
        least = totals.index(min(totals))
        dealt[least].append(job)
        totals[least] += costs[job]
    return dealt
