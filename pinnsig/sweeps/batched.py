"""Running tasks together in this process, their losses evaluated in batches.

Each run is a generator that asks for loss and gradient. One at a time is at work until it asks;
when all have asked, they are evaluated together. So the order of all work is fixed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from pinnsig.core.interrupts import Interruption, interruptible
from pinnsig.objective.batch import Batches
from pinnsig.sweeps.executors import Event, Executor, Tell, Waiting
from pinnsig.sweeps.tasks import Ended, Started, Task, performing
from pinnsig.training import EvaluationRequest, evaluate_alone


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

    def run(self, tasks: Iterable[Task], tell: Tell) -> Iterator[Event]:
        """See `Executor.run`."""
        waiting, members = Waiting(tasks), list[_Member]()
        batches, told = Batches(self.members), 0
        try:
            with interruptible(tell) as interruption:
                while True:
                    if interruption.asked():
                        waiting.clear()
                    while len(members) < self.members and (task := waiting.take()) is not None:
                        members.append(_Member(task, interruption))
                        yield Started(members[-1].task.name)
                        members[-1].go_on()
                    if not members:
                        return
                    for member in list(members):
                        if member.ended is not None:
                            members.remove(member)
                            own, new = member.ended.notices, batches.notices[told:]
                            yield replace(member.ended, notices=[*own, *new])
                            told += len(new)
                    asking = [member for member in members if member.asked is not None]
                    found = batches.evaluate([m.asked for m in asking if m.asked is not None])
                    for member, evaluation in zip(asking, found, strict=True):
                        member.answer(evaluation)
        finally:
            for member in members:  # the sweep was torn away: their best weights are kept
                member.run.close()


class _Member:
    """A task that is being run.

    Attributes:
        asked: what it wants evaluated, while it runs.
        ended: how it ended, once it has.
    """

    def __init__(self, task: Task, interruption: Interruption) -> None:
        self.task = task
        self.run = performing(task, interruption=interruption)
        self.asked: EvaluationRequest | None = None
        self.ended: Ended | None = None

    def go_on(self, reply: Any = None, error: BaseException | None = None) -> None:
        """Let it run until it asks for an evaluation or ends."""
        self.asked = None
        try:
            self.asked = self.run.send(reply) if error is None else self.run.throw(error)
        except StopIteration as end:
            self.ended = end.value

    def answer(self, evaluation: Any) -> None:
        """Give it its evaluation; None has it evaluated by itself, where it meets its own fault."""
        assert self.asked is not None
        error: BaseException | None = None
        if evaluation is None:
            try:
                evaluation = evaluate_alone(self.asked)
            except Exception as raised:
                error = raised
        self.go_on(evaluation, error)
