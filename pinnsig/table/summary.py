"""What the records of a table say: medians and ranges over seeds, and how many problems are right.

A run that failed counts as infinitely wrong; one that has not come to its end does not count yet.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pinnsig.sweeps.table import DONE, FAILED, Spread
from pinnsig.table.entries import Published, entry_of
from pinnsig.table.records import TableRecord

RIGHT = 1e-2  # relative error below which an answer is right
PRECISE = 1e-6  # and up to which it is precise


@dataclass(frozen=True)
class Line:
    """One problem of a table.

    Attributes:
        record: what it stands on.
        published: the best published error, if there is one.
    """

    record: TableRecord
    published: Published | None

    @staticmethod
    def of(record: TableRecord) -> "Line":
        """The line of a record."""
        return Line(record, entry_of(record["problem"]).published)

    @property
    def problem(self) -> str:
        """Its name."""
        return self.record["problem"]

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Its runs, by seed."""
        return self.record["runs"]

    @property
    def done(self) -> list[dict[str, Any]]:
        """Those with an answer."""
        return [run for run in self.runs if run["status"] == DONE]

    def spread(self, value: Callable[[dict[str, Any]], float | None]) -> Spread:
        """Median and range of a number of the runs that have an answer."""
        return Spread.of([value(run) for run in self.done])

    def fields(self) -> dict[str, Spread]:
        """Relative L2 errors by field, of the fields that have a reference."""
        names = dict.fromkeys(name for run in self.done for name in run["fields"])
        found = {name: self.spread(lambda run, n=name: run["fields"].get(n)) for name in names}
        return {name: spread for name, spread in found.items() if spread.count}

    def coefficients(self) -> dict[str, Spread]:
        """Relative errors of learned coefficients whose true value is known, by name."""
        names = dict.fromkeys(name for run in self.done for name in run["coefficients"])
        found = {name: self.spread(lambda run, n=name: _off(run, n)) for name in names}
        return {name: spread for name, spread in found.items() if spread.count}

    def errors(self) -> list[float]:
        """The largest error of each run, of fields and coefficients; infinite where it failed."""
        return self._errors(_largest)

    def median(self) -> float | None:
        """The median of `errors`; None where there are none."""
        errors = self.errors()
        return statistics.median(errors) if errors else None

    def measured(self) -> float | None:
        """The median error in the way that the published one was measured, if that is known."""
        if self.published is None or self.published.measure is None:
            return self.median()
        errors = self._errors(lambda run: run.get("measured"))
        return statistics.median(errors) if errors else None

    def _errors(self, of: Callable[[dict[str, Any]], float | None]) -> list[float]:
        """An error of each run that has it; infinite where it failed."""
        ended = [run for run in self.runs if run["status"] in (DONE, FAILED)]
        found = [math.inf if run["status"] == FAILED else of(run) for run in ended]
        return [error for error in found if error is not None]

    def beats(self) -> bool | None:
        """Whether `measured` is below the best published error; None where that cannot be said."""
        median = self.measured()
        if median is None or self.published is None or self.published.other:
            return None
        return median < self.published.error

    def method(self) -> str:
        """The phases with their iterations, medians over seeds."""
        names = dict.fromkeys(name for run in self.done for name in run["iterations"])
        counts = {n: self.spread(lambda run, n=n: run["iterations"].get(n)) for n in names}
        return ", ".join(f"{name} {count.median:,.0f}" for name, count in counts.items())

    def notes(self) -> list[str]:
        """What failed, is not done or looks wrong, a line for each run."""
        found = []
        for run in self.runs:
            if run["status"] != DONE:
                reason = f": {run['reason']}" if run["reason"] else ""
                found.append(f"seed {run['seed']} {run['status']}{reason}")
            else:
                found += [f"seed {run['seed']} suspicious: {d}" for d in run["suspicious"]]
        return found


@dataclass(frozen=True)
class Summary:
    """How many problems are right, and how many are below the best published error."""

    lines: Sequence[Line]

    @property
    def judged(self) -> int:
        """Problems with an error."""
        return sum(line.median() is not None for line in self.lines)

    @property
    def right(self) -> int:
        """Problems whose median error is below 1e-2."""
        return sum(_is(line.median(), lambda error: error < RIGHT) for line in self.lines)

    @property
    def precise(self) -> int:
        """Problems whose median error is at most 1e-6."""
        return sum(_is(line.median(), lambda error: error <= PRECISE) for line in self.lines)

    @property
    def beaten(self) -> int:
        """Problems whose median error is below the best published one of the same setting."""
        return sum(bool(line.beats()) for line in self.lines)

    @property
    def comparable(self) -> int:
        """Problems of which the best published error is of the same setting."""
        return sum(line.beats() is not None for line in self.lines)


def _largest(run: dict[str, Any]) -> float | None:
    """The largest known error of a run, of fields and coefficients."""
    known = [*run["fields"].values(), *(_off(run, name) for name in run["coefficients"])]
    return max((error for error in known if error is not None), default=None)


def _off(run: dict[str, Any], name: str) -> float | None:
    """A coefficient's relative error, its own where the true value is 0; None if not known."""
    known = run["coefficients"].get(name)
    if known is None or known["error"] is None:
        return None
    return known["error"] / (abs(known["true"]) or 1.0)


def _is(value: float | None, holds: Callable[[float], bool]) -> bool:
    return value is not None and holds(value)
