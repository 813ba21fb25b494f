"""Sharing jobs between threads, each of which computes alone.

Torch's own threads meet after every operation; on layers of 64 units that costs as much as the
operation, and many times more where other programs want the cores. Here a thread takes a whole job,
and the next one when it is done, so that nobody waits for a thread that gets less of a core.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Generic, TypeVar

import torch

Result = TypeVar("Result")

GLANCE = 0.1  # seconds after which a thread that waits looks up: Python may miss Ctrl-C until then


def usable_cores() -> int | None:
    """Return how many cores this process may use; None where the system does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def run_jobs(
    work: Callable[[int], Result],
    jobs: int,
    threads: int,
    collect: Callable[[Result], None] = lambda _: None,
    single: bool = False,
) -> None:
    """Do jobs 0, 1, ... in that order, several at a time; return when no thread is at work.

    Args:
        work: does one job.
        jobs: how many there are.
        threads: that share them, this one among them.
        collect: given each job's result, in the order of the jobs and never two at a time, so that
            sums do not depend on which thread was faster.
        single: whether torch's own threads are to stay out of it where one thread does it all.

    Raises:
        BaseException: what the first job that failed has raised, or Ctrl-C; the jobs that others
            had begun are done by then, and no further ones are begun.
    """
    queue = _Queue(work, jobs, collect)
    threads = min(threads, jobs)
    with _single_threaded() if threads > 1 or single else nullcontext():
        try:
            for _ in range(threads - 1):
                _pool(threads - 1).submit(queue.assist)
            queue.run()
            queue.wait()
        except BaseException:  # Ctrl-C, while others are at work
            queue.close()
            queue.wait()
            raise
    queue.raise_fault()


class _Queue(Generic[Result]):
    """Jobs that threads take one by one, and results that are collected in order."""

    def __init__(
        self, work: Callable[[int], Result], jobs: int, collect: Callable[[Result], None]
    ) -> None:
        self.work, self.jobs, self.collect = work, jobs, collect
        self.changed = threading.Condition()
        self.begun = self.collected = self.assistants = 0
        self.results: dict[int, Result] = {}
        self.faults: dict[int, BaseException] = {}

    def assist(self) -> None:
        """The same as `run` for a thread that `wait` waits for."""
        with self.changed:
            self.assistants += 1
        try:
            self.run()
        finally:
            with self.changed:
                self.assistants -= 1
                self.changed.notify_all()

    def run(self) -> None:
        """Do what is left, until nothing is or a job has failed."""
        while (job := self._take()) is not None:
            try:
                result = self.work(job)
                with self.changed:
                    self._keep(job, result)
            except BaseException as error:
                self.faults[job] = error
                self.close()

    def close(self) -> None:
        """Let no further job begin."""
        with self.changed:
            self.begun = self.jobs

    def wait(self) -> None:
        """Return when no assistant is at work; those that come later find nothing to do."""
        with self.changed:
            while self.assistants:
                self.changed.wait(GLANCE)

    def raise_fault(self) -> None:
        """Raise what ended it, if anything did: Ctrl-C before the first job's own fault."""
        if self.faults:
            stops = [fault for fault in self.faults.values() if not isinstance(fault, Exception)]
            raise stops[0] if stops else self.faults[min(self.faults)]

    def _take(self) -> int | None:
        with self.changed:
            if self.begun == self.jobs:
                return None
            self.begun += 1
            return self.begun - 1

    def _keep(self, job: int, result: Result) -> None:
        self.results[job] = result
        while self.collected in self.results:
            self.collect(self.results.pop(self.collected))
            self.collected += 1


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
