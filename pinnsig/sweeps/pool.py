"""Running tasks in processes of this machine, each with its share of the threads and GPUs."""

import contextlib
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

import torch

from pinnsig.callbacks import Callback
from pinnsig.interrupts import interruptible
from pinnsig.sweeps.executors import Event, Executor, Tell
from pinnsig.sweeps.tasks import Ended, Started, Task, perform
from pinnsig.training import Record

POLL = 0.2  # seconds between looks for an interruption
PATIENCE = 5.0  # seconds that an idle process has to end by itself
CONTEXT = multiprocessing.get_context("spawn")  # CUDA and threads do not survive a fork


class Pool(Executor):
    """A pool of processes; one that is killed is replaced and its task said to be killed.

    Args:
        workers: how many processes.
        threads: in all, divided among them; by default as many as torch has here.
    """

    def __init__(self, workers: int, threads: int | None = None) -> None:
        self._workers = workers
        self.threads = max((threads or torch.get_num_threads()) // workers, 1)

    @property
    def workers(self) -> int:
        """How many processes."""
        return self._workers

    def run(self, tasks: Sequence[Task], tell: Tell) -> Iterator[Event]:
        """See `Executor.run`."""
        waiting = deque(tasks)
        workers = [_Worker(i, self.threads) for i in range(min(self.workers, len(tasks)))]
        try:
            with interruptible(tell) as interruption:
                while True:
                    if interruption.asked():
                        waiting.clear()
                        for worker in workers:
                            worker.interrupt()
                    for worker in workers:
                        if waiting and worker.task is None:
                            task = waiting.popleft()
                            worker.give(task)
                            yield Started(task.name, f"worker {worker.number + 1}")
                    busy = [worker for worker in workers if worker.task is not None]
                    if not busy:
                        return
                    ready = wait([worker.connection for worker in busy], POLL)
                    for worker in busy:
                        if worker.connection in ready:
                            yield worker.answer()
        finally:
            for worker in workers:
                worker.end()


class _Worker:
    """A process and the end of the pipe to it."""

    def __init__(self, number: int, threads: int) -> None:
        self.number = number
        self.threads = threads
        self.task: Task | None = None
        self.told = False
        self._start()

    def _start(self) -> None:
        self.connection, other = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=_serve, args=(other, self.threads), daemon=True)
        self.process.start()
        other.close()  # so that its end is the process's end

    def give(self, task: Task) -> None:
        """Have a task run."""
        self.task = task
        gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        with contextlib.suppress(OSError):  # it died: `answer` will find out
            self.connection.send(task.on(f"cuda:{self.number % gpus}") if gpus else task)

    def answer(self) -> Ended:
        """How the task ended."""
        assert self.task is not None
        name, self.task = self.task.name, None
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode or 0
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            if not self.told:
                self.connection.close()
                self._start()
            return Ended(name, f"its process ended {how}", killed=True, interrupted=self.told)

    def interrupt(self) -> None:
        """Ask the process to save and end, once."""
        if self.task is not None and not self.told and self.process.pid is not None:
            os.kill(self.process.pid, signal.SIGTERM)
        self.told = True

    def end(self) -> None:
        """End the process: at once if it is at work."""
        self.connection.close()
        if self.task is None:
            self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()


def _serve(connection: Connection, threads: int) -> None:
    """What a process does: run every task that it is given, until there is nobody to give one."""
    if hasattr(os, "setsid"):  # Ctrl-C is for the parent, which then tells each worker once
        os.setsid()
    torch.set_num_threads(threads)
    watch = _Orphan()
    with contextlib.suppress(EOFError, OSError):
        while True:
            task: Any = connection.recv()
            connection.send(perform(task, [watch]))


class _Orphan(Callback):
    """Saves and ends a run whose sweep is gone, so that the same command can go on with it."""

    def __init__(self) -> None:
        self.parent = os.getppid()

    def recorded(self, record: Record) -> None:
        """See `Watcher.recorded`."""
        del record
        if os.getppid() != self.parent:
            self.parent = os.getppid()
            os.kill(os.getpid(), signal.SIGTERM)
