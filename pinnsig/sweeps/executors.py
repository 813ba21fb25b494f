"""What runs the tasks of a sweep: here in this process; others beside it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from pinnsig.core.interrupts import interruptible
from pinnsig.sweeps.tasks import Ended, Started, Task, perform

Event = Started | Ended
Tell = Callable[[int], None]
"""Called within the handler of the first Ctrl-C or SIGTERM, with the signal's number."""


class Executor(ABC):
    """Runs tasks.

    What is given to `run` as `tell` is how a sweep hears that it is to end: a signal may come when
    no task can say so any more.
    """

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
        with interruptible(tell) as interruption:  # around all of them: a run hears it to its end
            for task in tasks:
                if interruption.asked():
                    return
                yield Started(task.name)
                yield perform(task, interruption=interruption)
