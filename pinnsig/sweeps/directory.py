"""The sweep directory: what is to be run, and one run directory for each member.

runs/sweeps/<problem>-<digest>/
    sweep.json           the grids
    failures.json        how often a member failed or was killed, and why the last time
    results.csv          a row for each member, and results.parquet where pyarrow is installed
    <member>/            the run directory of each member
    <member>.aside/      what stood in a member's place and was no run to go on with
    figures/
"""

import contextlib
import hashlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pinnsig.checkpoints import load_checkpoint
from pinnsig.errors import RunError
from pinnsig.problem import problem_file
from pinnsig.runs import RunDirectory
from pinnsig.sweeps.grid import Grid, Member
from pinnsig.sweeps.table import DONE, FAILED, INTERRUPTED, MISSING, Row, SweepTable
from pinnsig.training import FAILED as RAISED
from pinnsig.training import INTERRUPTED as STOPPED

ALWAYS = ("problem", "act", "scale", "init", "seed")  # settings that every table shows
FACTS = (
    "best_loss", "last_loss", "relative_l2", "max_error", "seconds", "iterations", "evaluations",
    "stop",
)  # fmt: skip


class SweepDirectory:
    """A sweep on disk.

    Attributes:
        path: where it is, or will be once it is written.
        grids: what was asked for, in the order in which it was.
    """

    def __init__(self, path: Path, grids: list[Grid]) -> None:
        self.path = path
        self.grids = grids

    @staticmethod
    def open(path: str | Path) -> "SweepDirectory":
        """An existing sweep.

        Raises:
            RunError: there is none, or sweep.json is damaged.
        """
        path = Path(path)
        if not SweepDirectory.is_sweep(path):
            raise RunError(f"{path} is no sweep directory: it has no sweep.json")
        data = RunDirectory(path).read_json("sweep.json")
        try:
            grids = [Grid(grid["values"], tuple(grid["zip"])) for grid in data["grids"]]
        except (KeyError, TypeError):
            raise RunError(f"{path / 'sweep.json'} is damaged: it holds no grids") from None
        return SweepDirectory(path, grids)

    @staticmethod
    def is_sweep(path: str | Path) -> bool:
        """Whether a sweep is there."""
        return (Path(path) / "sweep.json").is_file()

    @staticmethod
    def planned(grid: Grid, out: str | Path | None, runs: str | Path) -> "SweepDirectory":
        """The sweep of a grid, beside those that its directory holds already; nothing is written.

        Args:
            grid: what is to be run.
            out: the sweep directory; by default a function of the grid's members.
            runs: where that one goes, into its folder `sweeps`.
        """
        path = Path(out) if out is not None else Path(runs) / "sweeps" / _name(grid)
        grids = SweepDirectory.open(path).grids if SweepDirectory.is_sweep(path) else []
        return SweepDirectory(path, grids if grid in grids else [*grids, grid])

    # --- members --------------------------------------------------------------------------------

    def members(self) -> list[Member]:
        """Every member of every grid, once."""
        found = {m.name: m for grid in self.grids for m in grid.members()}
        return list(found.values())

    def left(self, retry: int) -> list[Member]:
        """What is to be run: all that is not done, but for what failed more than `retry` times."""
        failures = self.failures()
        return [
            member
            for member in self.members()
            if self.status(member.name) != DONE
            and failures.get(member.name, {}).get("attempts", 0) <= retry
        ]

    def table(self, interrupted: bool = False) -> SweepTable:
        """The table, from the runs as they are."""
        members = self.members()
        settings = self._columns(members)
        failures = self.failures()
        rows = [self._row(member, settings, failures) for member in members]
        return SweepTable(rows, settings, self.path, interrupted)

    def renewed(self, table: SweepTable, member: Member, interrupted: bool = False) -> SweepTable:
        """A table with one member's row as it is now; no other run is read."""
        row = self._row(member, table.settings, self.failures())
        rows = [row if old["run"] == member.name else old for old in table]
        return SweepTable(rows, table.settings, self.path, interrupted)

    def status(self, name: str) -> str:
        """done, interrupted or missing; whether it failed is in `failures`."""
        return run_status(self.path / name, run_result(self.path / name))

    def reached(self, name: str) -> int:
        """How many iterations a member's checkpoint holds."""
        with contextlib.suppress(RunError):
            state, _ = load_checkpoint(RunDirectory.open(self.path / name))
            return sum(report["iterations"] for report in state["trainer"]["reports"])
        return 0

    def _columns(self, members: list[Member]) -> list[str]:
        """What varies, and what every table shows."""
        names = dict.fromkeys([*ALWAYS, *(name for grid in self.grids for name in grid.values)])
        first = members[0]
        return [n for n in names if n in ALWAYS or any(m[n] != first[n] for m in members)]

    def _row(self, member: Member, settings: list[str], failures: dict[str, Any]) -> Row:
        failure = failures.get(member.name, {})
        found = run_result(self.path / member.name)
        status, result = run_status(self.path / member.name, found), found or {}
        shown = {name: _plain(member[name]) for name in settings}
        return {
            "run": member.name,
            "status": FAILED if failure and status != DONE else status,
            **shown,
            **{name: result.get(name) for name in FACTS},
            "learned": _learned(result.get("coefficients") or {}),
            "suspicious": "; ".join(result.get("suspicious", ())) or None,
            "attempts": failure.get("attempts", 0) + failure.get("kills", 0) or None,
            "reason": failure.get("reason"),
        }

    # --- writing --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Make the directory and keep other processes from running the sweep.

        Raises:
            RunError: it cannot be made, is no sweep but holds files, or another process has it.
        """
        if not SweepDirectory.is_sweep(self.path):
            RunDirectory.make(self.path)
        with RunDirectory(self.path).locked():
            data = {"grids": [grid.as_dict() for grid in self.grids]}
            RunDirectory(self.path).write_json("sweep.json", data)
            yield

    def write_results(self, table: SweepTable | None = None) -> SweepTable:
        """Write a table down, by default from the runs as they are, and return it."""
        table = self.table() if table is None else table
        RunDirectory(self.path).write_bytes("results.csv", table.csv().encode())
        return table

    def write_parquet(self, table: SweepTable) -> None:
        """The same as Parquet, where pyarrow is installed."""
        try:
            arrow = importlib.import_module("pyarrow")
            parquet = importlib.import_module("pyarrow.parquet")
        except ImportError:
            return
        parquet.write_table(arrow.Table.from_pylist(table.rows), self.path / "results.parquet")

    # --- failures -------------------------------------------------------------------------------

    def failures(self) -> dict[str, Any]:
        """By member: failed `attempts`, `kills` of its process in the last call, and `reason`."""
        if not (self.path / "failures.json").is_file():
            return {}
        return RunDirectory(self.path).read_json("failures.json")

    def failed(self, name: str, reason: str) -> None:
        """Note that a member failed once more."""
        attempts = self.failures().get(name, {}).get("attempts", 0) + 1
        self._note_failure(name, {"attempts": attempts, "reason": reason})

    def killed(self, name: str, reason: str, kills: int) -> None:
        """Note that a member's process died, so often in this call without getting further."""
        attempts = self.failures().get(name, {}).get("attempts", 0)
        self._note_failure(name, {"attempts": attempts, "kills": kills, "reason": reason})

    def _note_failure(self, name: str, failure: dict[str, Any]) -> None:
        RunDirectory(self.path).write_json("failures.json", {**self.failures(), name: failure})

    def succeeded(self, name: str) -> None:
        """Note that a member is done."""
        known = self.failures()
        if known.pop(name, None) is not None:
            RunDirectory(self.path).write_json("failures.json", known)


def run_result(path: Path) -> dict[str, Any] | None:
    """Return what the run in a directory gave; None where there is no result that can be read."""
    try:
        return RunDirectory(path).read_json("result.json")
    except RunError:
        return None


def run_status(path: Path, result: dict[str, Any] | None) -> str:
    """Return whether a run is done, interrupted or missing, from its directory and `run_result`."""
    if result is not None:
        stop = str(result.get("stop"))
        return INTERRUPTED if stop == STOPPED or stop.startswith(RAISED) else DONE
    return INTERRUPTED if (path / "config.json").is_file() else MISSING


def _name(grid: Grid) -> str:
    """The same for the same members."""
    names = "\n".join(sorted(member.name for member in grid.members()))
    digest = hashlib.blake2b(names.encode(), digest_size=4).hexdigest()
    first = grid.values["problem"][0]
    file = problem_file(first)
    return f"{first if file is None else file.path.stem}-{digest}"


def _learned(coefficients: dict[str, Any]) -> str | None:
    """Learned coefficients as one text; None where there are none."""
    values = {n: c["value"] for n, c in coefficients.items() if isinstance(c, dict)}
    texts = [f"{n}={'-' if v is None else f'{v:.6g}'}" for n, v in values.items()]
    return ", ".join(texts) or None


def _plain(value: Any) -> Any:
    """A value that fits a cell."""
    return str(value) if isinstance(value, list | dict) else value
