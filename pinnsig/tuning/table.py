"""What a search has found so far."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinnsig.run.settings import command_line
from pinnsig.sweeps.grid import flat, nested
from pinnsig.tuning.spec import TuningSpec

DONE, PRUNED, FAILED, RUNNING = "done", "pruned", "failed", "running"


@dataclass(frozen=True)
class Trial:
    """One run of a search.

    Attributes:
        number: from 0, in the order in which they were asked for.
        settings: what was searched, by name (`lr`, `set.nu`).
        state: done, pruned, failed or running.
        value: the objective; of a pruned trial the sum of its terms when it was ended.
        run: the name of its run directory.
    """

    number: int
    settings: dict[str, Any]
    state: str
    value: float | None
    run: str


@dataclass(frozen=True)
class Tuned:
    """A search and its trials.

    Attributes:
        path: its directory, which is that of a sweep, too.
        spec: what was searched.
        trials: in the order in which they were asked for.
        interrupted: whether it was asked to end before it was done.
    """

    path: Path
    spec: TuningSpec
    trials: Sequence[Trial] = field(default=())
    interrupted: bool = False

    @property
    def ranked(self) -> list[Trial]:
        """Done ones first, the best first; then pruned ones, and those without a value."""
        order = [DONE, PRUNED, RUNNING, FAILED]
        return sorted(
            self.trials,
            key=lambda t: (order.index(t.state), float("inf") if t.value is None else t.value),
        )

    @property
    def best(self) -> Trial | None:
        """The done trial with the smallest value; None while there is none."""
        first = next(iter(self.ranked), None)
        return first if first is not None and first.state == DONE else None

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the best trial, as `solve` takes them; of none, those of all trials."""
        best = self.best.settings if self.best else {}
        return nested({**flat(self.spec.settings), **best}.items())

    @property
    def command(self) -> str:
        """What repeats the best trial."""
        return command_line(["solve", self.spec.problem], self.settings)

    def csv(self) -> str:
        """The ranked trials as CSV text with a header line."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        names = [axis.name for axis in self.spec.axes]
        writer.writerow(["trial", "state", self.spec.objective, *names, "run"])
        for trial in self.ranked:
            values = [trial.settings.get(name) for name in names]
            writer.writerow([trial.number, trial.state, trial.value, *values, trial.run])
        return stream.getvalue()
