"""What sees a run from outside: progress, loggers, anything of a user's own."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pinnsig.core.errors import PinnsigError, TrainingError, one_line
from pinnsig.run.building import RunComponents
from pinnsig.training import PhaseReport, Record, StopTraining, Watcher

if TYPE_CHECKING:
    from pinnsig.run.results import Result


class Callback(Watcher):
    """Base of callbacks; every method does nothing until it is overridden.

    For each run: `started`, then `recorded` for iteration 0 and after every iteration,
    `phase_ended` after each phase, and `finished` or `failed`; `noticed` and `interrupting`
    whenever there is reason. A run that is resumed starts again at the iteration behind its
    checkpoint. An error that a callback raises ends the training, as one of the problem's own does;
    `StopTraining("reason")`, raised by `recorded`, ends it in good order.

    Attributes:
        optional: whether training goes on without it where it raises an error; a notice says so.
    """

    optional: ClassVar[bool] = False

    def started(self, parts: RunComponents, path: Path) -> None:
        """Once everything is checked, before training; `path` is the run directory."""

    def interrupting(self, number: int) -> None:
        """At the first Ctrl-C or SIGTERM, inside the handler; `number` is the signal's."""

    def finished(self, result: "Result") -> None:
        """Once the result is written."""

    def failed(self, reason: str) -> None:
        """In place of `finished`, once what a failed run leaves is written; `reason` in a line."""


class Callbacks(Callback):
    """Several callbacks as one, in order."""

    def __init__(self, members: Sequence[Callback]) -> None:
        self.members = list(members)

    def started(self, parts: RunComponents, path: Path) -> None:
        """See `Callback.started`."""
        self._tell("started", parts, path)

    def recorded(self, record: Record) -> None:
        """See `Watcher.recorded`."""
        self._tell("recorded", record)

    def phase_ended(self, report: PhaseReport) -> None:
        """See `Watcher.phase_ended`."""
        self._tell("phase_ended", report)

    def noticed(self, text: str) -> None:
        """See `Watcher.noticed`."""
        self._tell("noticed", text)

    def interrupting(self, number: int) -> None:
        """See `Callback.interrupting`; within a signal handler nothing may be raised."""
        for member in self.members:
            with contextlib.suppress(Exception):
                member.interrupting(number)

    def finished(self, result: "Result") -> None:
        """See `Callback.finished`."""
        self._tell("finished", result)

    def failed(self, reason: str) -> None:
        """See `Callback.failed`; nothing raised here may hide why the run failed."""
        for member in self.members:
            with contextlib.suppress(Exception):
                member.failed(reason)

    def _tell(self, method: str, *arguments: Any) -> None:
        """Call every member's method.

        Raises:
            StopTraining: a member wishes so.
            TrainingError: one that is not optional fails; names it.
        """
        wish: StopTraining | None = None
        for member in list(self.members):
            try:
                getattr(member, method)(*arguments)
            except StopTraining as asked:  # once the others know
                wish = asked
            except PinnsigError:
                raise
            except Exception as error:
                name = type(member).__name__
                what = f"{name}.{method} fails with {one_line(error)}"
                if not member.optional:
                    raise TrainingError(f"callback {what}") from error
                self.members.remove(member)
                self.noticed(f"{what}; the run goes on without it")
        if wish is not None:
            raise wish
