"""What runs the tasks of a sweep: here in this process; others beside it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from pinnsig.core.interrupts import interruptible
from pinnsig.sweeps.tasks import Ended, Started, Task, perform

Event = Started | Ended
Tell = Callable[[int], None]
"""Called within the handler of the first Ctrl-C or SIGTERM, with the signal's number."""


class Waiting:
    """Tasks that are taken one by one, each when there is room for it; they may depend on time."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = iter(tasks)

    def take(self) -> Task | None:
        """Return the next task; None if there is none."""
        return next(self._tasks, None)

    def clear(self) -> None:
        """Leave those that are left."""
        self._tasks = iter(())


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
    def run(self, tasks: Iterable[Task], tell: Tell) -> Iterator[Event]:
        """Run tasks and say when each starts and ends; after an interruption, begin no more.

        A task is taken when there is room for it, after how others ended was said. Every task that
        started ends, and one whose process died says so.
        """


class InProcess(Executor):
    """One task after another in this process."""

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def run(self, tasks: Iterable[Task], tell: Tell) -> Iterator[Event]:
        """See `Executor.run`."""
        with interruptible(tell) as interruption:  # around all of them: a run hears it to its end
            for task in tasks:
                if interruption.asked():
                    return
                yield Started(task.name)
                yield perform(task, interruption=interruption)
