"""Writing a run's log and checkpoints while it trains; a full disk does not end the training."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from pinnsig.core.errors import RunError
from pinnsig.run.callbacks import Callback
from pinnsig.run.checkpoints import save_checkpoint
from pinnsig.run.directory import RunDirectory
from pinnsig.training import PhaseReport, Record


class Logbook(Callback):
    """Logs iterations; what cannot be written is said once and tried again with the next line.

    Args:
        directory: the run.
        every: log every so many iterations, the last of each phase, and any that is not finite.
        notice: told what cannot be written.
    """

    def __init__(self, directory: RunDirectory, every: int, notice: Callable[[str], None]) -> None:
        self.directory = directory
        self.every = every
        self.notice = notice
        self._waiting: list[dict[str, Any]] = []
        self._last: Record | None = None  # where it was not due
        self._told: set[str] = set()

    def recorded(self, record: Record) -> None:
        """Log an iteration if it is due."""
        due = record.iteration % self.every == 0 or record.iteration == record.total
        if not due and math.isfinite(record.loss):
            self._last = record
            return
        self._log(record)

    def phase_ended(self, report: PhaseReport) -> None:
        """Log the last iteration of a phase, if it was not due."""
        del report
        self.close()

    def close(self) -> None:
        """Log the last iteration that there was, whatever ended it."""
        if self._last is not None:
            self._log(self._last)

    def _log(self, record: Record) -> None:
        self._last = None
        self._waiting.append(dataclasses.asdict(record))
        try:
            self.directory.append_metrics(self._waiting)
        except RunError as error:
            self._tell(error)
        else:
            self._waiting.clear()

    def saver(self, whole: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Any], None]:
        """A function that saves what `whole` makes of a trainer's state."""

        def save(state: dict[str, Any]) -> None:
            if state["reports"] and state["reports"][-1]["stop"] is not None:
                self.close()  # a phase's last line is there before the checkpoint behind it
            try:
                save_checkpoint(self.directory, whole(state))
            except RunError as error:
                self._tell(error)

        return save

    def _tell(self, error: RunError) -> None:
        if str(error) not in self._told:
            self._told.add(str(error))
            self.notice(f"{error}; training goes on")
