"""Running tasks in processes of this machine, each with its share of the threads and GPUs.

A process ends with the one that started it, whichever way that went: it saves what it trains, so
that the same sweep can go on with it.
"""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator, Sized
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Any

import torch

from pinnsig.core.interrupts import Interruption, end_with_parent, interruptible
from pinnsig.run.callbacks import Callback
from pinnsig.sweeps.executors import Event, Executor, Tell, Waiting
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

    def run(self, tasks: Iterable[Task], tell: Tell) -> Iterator[Event]:
        """See `Executor.run`."""
        waiting = Waiting(tasks)
        count = min(self.workers, len(tasks)) if isinstance(tasks, Sized) else self.workers
        workers = [_Worker(i, self.threads) for i in range(count)]
        try:
            with interruptible(tell) as interruption:
                while True:
                    if interruption.asked():
                        waiting.clear()
                        for worker in workers:
                            worker.interrupt()
                    for worker in workers:
                        if worker.task is None and (task := waiting.take()) is not None:
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
        arguments = other, self.threads, os.getpid()
        self.process = CONTEXT.Process(target=_serve, args=arguments, daemon=True)
        with _without_ctrl_c():
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
            ended: Ended = self.connection.recv()
            if ended.interrupted and not self.told:  # by somebody else; then it serves no more
                self._start_again()
                reason = "its process was asked to end"
                return replace(ended, reason=reason, killed=True, interrupted=False)
            return ended
        except (EOFError, OSError):
            self.process.join()
            code = self.process.exitcode or 0
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            if not self.told:
                self._start_again()
            return Ended(name, f"its process ended {how}", killed=True, interrupted=self.told)

    def _start_again(self) -> None:
        self.connection.close()
        self.process.join()
        self._start()

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


@contextlib.contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Start a process that hears no Ctrl-C, which is for its parent; one that comes here waits."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, threads: int, parent: int) -> None:
    """What a process does: run every task that it is given, until there is nobody to give one.

    Args:
        connection: tasks come from here, and how they ended goes there.
        threads: that torch may use.
        parent: the id of the process that started this one.
    """
    if hasattr(os, "setsid"):
        os.setsid()
    torch.set_num_threads(threads)
    heard: list[int] = []
    with interruptible(heard.append) as interruption, contextlib.suppress(EOFError, OSError):
        end_with_parent()
        watch = _Orphan(parent, interruption)
        while not watch.orphaned():  # also if it had died before the line above
            task: Any = connection.recv()
            connection.send(perform(task, [watch], interruption))


class _Orphan(Callback):
    """Saves and ends a run whose sweep is gone; for systems that do not tell of it."""

    def __init__(self, parent: int, interruption: Interruption) -> None:
        self.parent, self.interruption = parent, interruption

    def orphaned(self) -> bool:
        """Whether this process is to end."""
        if os.getppid() != self.parent:
            self.interruption.signal = signal.SIGTERM
        return self.interruption.asked()

    def recorded(self, record: Record) -> None:
        """See `Watcher.recorded`."""
        del record
        self.orphaned()
