"""What each problem of the table may use, and which settings its runs have."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.run.settings import check_settings, command_line
from pinnsig.table.entries import Entry

ROOT = Path("runs/table")
"""Where tables go unless it is said."""

PRESET = "accurate"
SECONDS = {"quick": 60.0}
USUAL_SECONDS = 300.0
SEEDS = 3


@dataclass(frozen=True)
class Budget:
    """What every problem may use.

    Attributes:
        preset: of the settings.
        seconds: of training, for each run.
        seeds: how many runs of each problem, with seeds 0, 1, ...
        network: in the place of each problem's own; None leaves it.
    """

    preset: str
    seconds: float
    seeds: int
    network: str | None = None

    @staticmethod
    def of(
        preset: str | None = None,
        seconds: float | None = None,
        seeds: int | None = None,
        network: str | None = None,
    ) -> "Budget":
        """Return a budget, filling in what is None: accurate, 300 s (quick: 60 s), 3 seeds.

        Raises:
            SettingsError: a value that cannot be.
        """
        preset = preset or PRESET
        seeds = SEEDS if seeds is None else seeds
        seconds = SECONDS.get(preset, USUAL_SECONDS) if seconds is None else float(seconds)
        check_settings({"preset": preset, "max_seconds": seconds, "network": network})
        if seeds < 1:
            raise SettingsError(f"seeds = {seeds} must be at least 1")
        return Budget(preset, seconds, seeds, network)

    @property
    def runs_name(self) -> str:
        """The name of what its runs share, however many seeds there are."""
        network = re.sub(r"[^A-Za-z0-9.=,-]+", "_", self.network or "")
        return f"{self.preset}-{self.seconds:g}s{network and f'-{network}'}"

    @property
    def name(self) -> str:
        """Of the folder of its records."""
        return f"{self.runs_name}-{self.seeds}-seed{'s' if self.seeds > 1 else ''}"

    def as_dict(self) -> dict[str, Any]:
        """By name."""
        return asdict(self)

    def settings(self, entry: Entry) -> dict[str, Any]:
        """Return the settings of a problem's runs, but for problem and seed."""
        own = dict(entry.settings)
        if self.network is not None:
            own["network"] = self.network
        return {"preset": self.preset, "max_seconds": self.seconds, **own}

    def command(self) -> str:
        """Return the command that makes the table."""
        options = {"preset": self.preset, "seconds": self.seconds, "seeds": self.seeds}
        if self.network is not None:
            options["network"] = self.network
        return command_line(["table"], options)

    def solve_command(self, problem: str, entry: Entry) -> str:
        """Return the command that repeats a problem's run with seed 0."""
        return command_line(["solve", problem], self.settings(entry))
