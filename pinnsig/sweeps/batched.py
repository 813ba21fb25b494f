"""Running tasks together in this process, their losses evaluated in batches.

Each run trains in a thread of its own, by the same code as alone. One thread at a time is at work,
and gives its turn on when its run wants loss and gradient; when all runs wait, they are evaluated
together. So the order of all work is fixed, and nothing needs a lock.
"""

import threading
from collections import deque
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from pinnsig.interrupts import Interruption, interruptible
from pinnsig.objective import Objective
from pinnsig.objective.batch import Batches
from pinnsig.solver import Host
from pinnsig.sweeps.executors import Event, Executor, Tell
from pinnsig.sweeps.tasks import Ended, Started, Task, perform

POLL = 0.2  # seconds within which a signal is seen, wherever the system delivers it


class Batched(Executor):
    """Several tasks at once in this process; as one ends, the next takes its place.

    Args:
        members: how many at once.
    """

    def __init__(self, members: int) -> None:
        self.members = members

    @property
    def workers(self) -> int:
        """How many at once."""
        return self.members

    def run(self, tasks: Sequence[Task], tell: Tell) -> Iterator[Event]:
        """See `Executor.run`."""
        waiting, members = deque(tasks), list[_Member]()
        batches = Batches(self.members)
        try:
            with interruptible(tell) as interruption:
                while waiting or members:
                    if interruption.asked():
                        waiting.clear()
                    while waiting and len(members) < self.members:
                        members.append(_Member(waiting.popleft(), interruption))
                        yield Started(members[-1].task.name)
                    running = [member for member in members if member.asks is None]
                    for member in running:
                        member.turn()
                        if member.ended is not None:
                            members.remove(member)
                            yield member.ended
                    if not running:
                        answers = batches.evaluate([m.asks for m in members if m.asks is not None])
                        for member, answer in zip(members, answers, strict=True):
                            member.asks, member.answer = None, answer
        finally:
            for member in members:
                member.leave()


class _Left(BaseException):
    """Ends a run whose sweep is over before it is."""


class _Member:
    """A task in a thread, which runs while it has the turn.

    Attributes:
        asks: the objective that it wants evaluated, if it does.
        answer: what it is told then.
        ended: how it ended, if it has.
    """

    def __init__(self, task: Task, interruption: Interruption) -> None:
        self.task = task
        self.asks: Objective | None = None
        self.answer: Tensor | None = None
        self.ended: Ended | None = None
        self._error: BaseException | None = None
        self._running = self._over = self._leaving = False
        # which belong to each thread
        self._threads = torch.get_num_threads()
        self._device = torch.cuda.current_device() if torch.cuda.is_initialized() else None
        self._host = Host(self._evaluate, interruption)
        self._mine, self._back = threading.Lock(), threading.Lock()
        self._mine.acquire()
        self._back.acquire()
        self._thread = threading.Thread(target=self._work, name=task.name, daemon=True)
        self._thread.start()

    def turn(self) -> None:
        """Let it run until it asks for an evaluation or ends."""
        self._hand_over()
        if self._error is not None:
            raise self._error

    def leave(self) -> None:
        """End it where it is; its best weights are kept."""
        self._leaving = True
        if self._running:  # the sweep was torn away while it waited
            self._take_back()
        while not self._over:
            self._hand_over()

    def _hand_over(self) -> None:
        self._running = True
        self._mine.release()
        self._take_back()

    def _take_back(self) -> None:
        while not self._back.acquire(timeout=POLL):
            pass
        self._running = False

    # --- in its thread --------------------------------------------------------------------------

    def _work(self) -> None:
        self._mine.acquire()
        try:
            torch.set_num_threads(self._threads)
            if self._device is not None:
                torch.cuda.set_device(self._device)
            if not self._leaving:
                self.ended = perform(self.task, host=self._host)
        except BaseException as error:
            self._error = error
        finally:
            self._over = True
            self._back.release()

    def _evaluate(self, objective: Objective) -> Tensor | None:
        self.asks = objective
        self._back.release()
        self._mine.acquire()
        if self._leaving:
            raise _Left
        return self.answer
