"""What runs the tasks of a sweep: here in this process; others beside it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from pinnsig.callbacks import Callback
from pinnsig.sweeps.tasks import Ended, Started, Task, perform

Event = Started | Ended
Tell = Callable[[int], None]
"""Called within the handler of the first Ctrl-C or SIGTERM, with the signal's number."""


class Executor(ABC):
    """Runs tasks."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many at the same time."""

    @abstractmethod
    def run(self, tasks: Sequence[Task], tell: Tell) -> Iterator[Event]:
        """Run tasks and say when each starts and ends; after an interruption, begin no more.

        Every task that started ends, and one whose process died says so.
        """


class InProcess(Executor):
    """One task after another in this process."""

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def run(self, tasks: Sequence[Task], tell: Tell) -> Iterator[Event]:
        """See `Executor.run`."""
        for task in tasks:
            yield Started(task.name)
            ended = perform(task, [_Telling(tell)])
            yield ended
            if ended.interrupted:
                return


class _Telling(Callback):
    def __init__(self, tell: Tell) -> None:
        self.tell = tell

    def interrupting(self, number: int) -> None:
        """See `Callback.interrupting`."""
        self.tell(number)
