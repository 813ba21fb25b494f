"""What all trackers share: how often they log, and that a resumed run goes on in the same entry."""

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnsig.core.errors import SettingsError
from pinnsig.run.building import RunComponents
from pinnsig.run.callbacks import Callback
from pinnsig.run.directory import RunDirectory
from pinnsig.run.trackers.numbers import numbers_of, summary_of
from pinnsig.training import FAILED, Record

if TYPE_CHECKING:
    from pinnsig.run.results import Result

ENTRIES = "trackers.json"
"""In a run directory: what each tracker calls this run, so that a resume goes on there."""


class Tracker(Callback):
    """Base of trackers: settings at the start, numbers of iterations, the result and its figures.

    A tracker that fails is left out with one notice; the run goes on.

    Args:
        every: iterations between what is logged; the first and the last of a phase always are.

    Raises:
        SettingsError: `every` is below 1.
    """

    optional = True
    name = "?"

    def __init__(self, every: int = 10) -> None:
        if every < 1:
            raise SettingsError(f"{self.name}: every = {every} must be at least 1")
        self.every = every

    def started(self, parts: RunComponents, path: Path) -> None:
        """Begin an entry with the settings, or go on with the one of this run."""
        run = RunDirectory(path)
        known = run.read_json(ENTRIES) if (path / ENTRIES).is_file() else {}
        sweep = path.parent.name if (path.parent / "sweep.json").is_file() else None
        entry = self.begin(parts.settings.as_dict(), path, known.get(self.name), sweep)
        run.write_json(ENTRIES, {**known, self.name: entry})

    def recorded(self, record: Record) -> None:
        """Log an iteration's numbers."""
        if record.step % self.every == 0 or record.iteration in (1, record.total):
            self.log(numbers_of(record), record.step)

    def finished(self, result: "Result") -> None:
        """Note the result and the figures, and close the entry."""
        figures = sorted((Path(result.path) / "figures").glob("*.png"))
        self.end(summary_of(result.data), figures)

    def failed(self, reason: str) -> None:
        """Note why the run failed, and close the entry."""
        self.end({"stop": f"{FAILED}: {reason}"}, [], failed=True)

    @abstractmethod
    def begin(
        self, settings: dict[str, Any], path: Path, entry: str | None, sweep: str | None
    ) -> str:
        """Open an entry and return what it is called.

        Args:
            settings: of the run, by name.
            path: the run directory.
            entry: what this run's is called, if it has one already.
            sweep: the name of the sweep that it belongs to.
        """

    @abstractmethod
    def log(self, numbers: dict[str, float], step: int) -> None:
        """Write numbers of one iteration."""

    @abstractmethod
    def end(self, summary: dict[str, Any], figures: list[Path], failed: bool = False) -> None:
        """Write the result and close, as failed where the run did."""
