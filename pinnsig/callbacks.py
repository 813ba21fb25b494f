"""What sees a run from outside: progress, loggers, anything of a user's own."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pinnsig.building import Parts
from pinnsig.training import PhaseReport, Record, Watcher

if TYPE_CHECKING:
    from pinnsig.solver import Result


class Callback(Watcher):
    """Base of callbacks; every method does nothing until it is overridden.

    For each run: `started`, then `recorded` for iteration 0 and after every iteration,
    `phase_ended` after each phase, and `finished`; `noticed` and `interrupting` whenever there is
    reason. A run that is resumed starts again at the iteration behind its checkpoint.
    """

    def started(self, parts: Parts, path: Path) -> None:
        """Once everything is checked, before training; `path` is the run directory."""

    def interrupting(self, number: int) -> None:
        """At the first Ctrl-C or SIGTERM, inside the handler; `number` is the signal's."""

    def finished(self, result: "Result") -> None:
        """Once the result is written."""


class Callbacks(Callback):
    """Several callbacks as one, in order."""

    def __init__(self, members: Sequence[Callback]) -> None:
        self.members = list(members)

    def started(self, parts: Parts, path: Path) -> None:
        """See `Callback.started`."""
        for member in self.members:
            member.started(parts, path)

    def recorded(self, record: Record) -> None:
        """See `Watcher.recorded`."""
        for member in self.members:
            member.recorded(record)

    def phase_ended(self, report: PhaseReport) -> None:
        """See `Watcher.phase_ended`."""
        for member in self.members:
            member.phase_ended(report)

    def noticed(self, text: str) -> None:
        """See `Watcher.noticed`."""
        for member in self.members:
            member.noticed(text)

    def interrupting(self, number: int) -> None:
        """See `Callback.interrupting`."""
        for member in self.members:
            member.interrupting(number)

    def finished(self, result: "Result") -> None:
        """See `Callback.finished`."""
        for member in self.members:
            member.finished(result)
