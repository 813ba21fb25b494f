"""The table of a sweep: a row for each run, as plain dicts."""

import csv
import io
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnsig.core.errors import SettingsError
from pinnsig.core.extras import require_extra

if TYPE_CHECKING:
    from pandas import DataFrame

Row = dict[str, Any]

DONE, INTERRUPTED, FAILED, MISSING = "done", "interrupted", "failed", "missing"


class SweepTable(Sequence[Row]):
    """Rows by position; columns by name.

    Attributes:
        rows: settings that vary, then what the run gave; None where there is nothing.
        settings: the columns that are settings.
        path: the sweep directory.
        interrupted: whether the sweep was asked to end before it was done.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        settings: Sequence[str],
        path: Path,
        interrupted: bool = False,
    ) -> None:
        self.rows = list(rows)
        self.settings = list(settings)
        self.path = path
        self.interrupted = interrupted

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __repr__(self) -> str:
        counts = {status: len(self.where(status=status)) for status in
                  dict.fromkeys(row["status"] for row in self.rows)}  # fmt: skip
        return f"<sweep {self.path}: {', '.join(f'{n} {s}' for s, n in counts.items())}>"

    def column(self, name: str) -> list[Any]:
        """The values of a column, in order."""
        return [row[name] for row in self.rows]

    def values(self, name: str) -> list[Any]:
        """The different values of a column, numbers in ascending order."""
        found = list(dict.fromkeys(self.column(name)))
        return sorted(found) if self.is_numeric(name) else found

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds nothing but numbers."""
        return all(
            isinstance(v, int | float) and not isinstance(v, bool) for v in self.column(name)
        )

    def where(self, **wanted: Any) -> "SweepTable":
        """The rows with these values: `where(act="tanh", status="done")`."""
        rows = [row for row in self.rows if all(row.get(k) == v for k, v in wanted.items())]
        return SweepTable(rows, self.settings, self.path, self.interrupted)

    @property
    def done(self) -> "SweepTable":
        """The rows of finished runs."""
        return self.where(status=DONE)

    @property
    def failed(self) -> "SweepTable":
        """The rows of failed runs."""
        return self.where(status=FAILED)

    @property
    def varied(self) -> list[str]:
        """The settings with several values, the seed last."""
        names = [name for name in self.settings if len(self.values(name)) > 1]
        return sorted(names, key=lambda name: name == "seed")

    def groups(self, names: Sequence[str]) -> dict[tuple[Any, ...], "SweepTable"]:
        """The rows apart by the values of some columns, in the order of `values`."""
        order = {name: self.values(name) for name in names}
        keys = dict.fromkeys(tuple(row[name] for name in names) for row in self.rows)
        ranked = sorted(
            keys, key=lambda key: [order[n].index(v) for n, v in zip(names, key, strict=True)]
        )
        return {key: self.where(**dict(zip(names, key, strict=True))) for key in ranked}

    def spread(self, metric: str) -> "Spread":
        """Median and range of a column over all rows that have a finite value."""
        return Spread.of(self.column(metric))

    def to_pandas(self) -> "DataFrame":
        """The table as a pandas DataFrame, a row for each run.

        Raises:
            SettingsError: pandas is not installed.
        """
        pandas = require_extra("pandas", "export", "a DataFrame", SettingsError)
        return pandas.DataFrame(self.rows)

    def csv(self) -> str:
        """The table as CSV text with a header line; nothing stands for None."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        if self.rows:
            writer.writerow(self.rows[0])
        writer.writerows(row.values() for row in self.rows)
        return stream.getvalue()


class Spread:
    """Median and full range of some values, and how many there are; NaN of none."""

    def __init__(self, values: Sequence[float]) -> None:
        self.count = len(values)
        self.median = statistics.median(values) if values else math.nan
        self.low = min(values, default=math.nan)
        self.high = max(values, default=math.nan)

    @staticmethod
    def of(values: Sequence[float | None]) -> "Spread":
        """The spread of what is finite."""
        return Spread([v for v in values if v is not None and math.isfinite(v)])

    def as_dict(self) -> Mapping[str, Any]:
        """By name."""
        return {"median": self.median, "min": self.low, "max": self.high, "count": self.count}
