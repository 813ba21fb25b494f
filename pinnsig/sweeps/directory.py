"""The sweep directory: what is to be run, and one run directory for each member.

runs/sweeps/<problem>-<digest>/
    sweep.json           the grids
    failures.json        how often a member failed or was killed, and why the last time
    earlier/             runs of members whose problem's code was another one
    results.csv          a row for each member, and results.parquet where pyarrow is installed
    <member>/            the run directory of each member
    <member>.aside/      what stood in a member's place and was no run to go on with
    figures/
"""

import contextlib
import hashlib
import importlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pinnsig.core.errors import PinnsigError, RunError
from pinnsig.core.paths import plain, user_path
from pinnsig.core.trust import Trust
from pinnsig.problem import problem_file
from pinnsig.run.checkpoints import load_checkpoint
from pinnsig.run.directory import RunDirectory
from pinnsig.run.source import require_trust
from pinnsig.sweeps.grid import Grid, Member
from pinnsig.sweeps.identity import ITSELF, Identity, checked_code, trust_code, version_notice
from pinnsig.sweeps.table import DONE, FAILED, INTERRUPTED, MISSING, Row, SweepTable
from pinnsig.training import FAILED as RAISED
from pinnsig.training import INTERRUPTED as STOPPED

ALWAYS = ("problem", "act", "scale", "init", "seed")  # settings that every table shows
EARLIER = "earlier"  # holds runs of other code
FACTS = (
    "best_loss", "last_loss", "relative_l2", "max_error", "seconds", "iterations", "evaluations",
    "stop",
)  # fmt: skip


class SweepDirectory:
    """A sweep on disk.

    Attributes:
        path: where it is, or will be once it is written.
        grids: what was asked for, in the order in which it was.
        identity: the code of the problems that this call names.
        stale: names of members whose runs are of other code.
        notices: what a user should know before anything is run.
    """

    def __init__(self, path: Path, grids: list[Grid], identity: Identity | None = None) -> None:
        self.path = path
        self.identity = identity or Identity()
        self.changed = self.identity.changed(grids)
        self.grids = list(_unique(map(self.identity.renewed, grids)))
        self.stale: frozenset[str] = frozenset()
        self.notices: tuple[str, ...] = ()

    @staticmethod
    def open(path: str | Path) -> "SweepDirectory":
        """An existing sweep.

        Raises:
            RunError: there is none, or sweep.json is damaged.
        """
        return SweepDirectory(user_path(path, RunError), SweepDirectory._written(path))

    @staticmethod
    def _written(path: str | Path) -> list[Grid]:
        path = user_path(path, RunError)
        if not SweepDirectory.is_sweep(path):
            raise RunError(f"{plain(str(path))} is no sweep directory: it has no sweep.json")
        for name in ("results.csv", "results.parquet", "figures", EARLIER):
            if (path / name).is_symlink():
                raise RunError(f"{path / name} leads out of the sweep directory: remove it")
        data = RunDirectory(path).read_json("sweep.json")
        try:
            grids = [
                Grid(grid["values"], tuple(grid["zip"]), checked_code(grid.get("code", {})))
                for grid in data["grids"]
            ]
            for grid in grids:
                grid.check_values()
            for name in (member["problem"] for grid in grids for member in grid.members()):
                user_path(name, RunError)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise RunError(f"{path / 'sweep.json'} is damaged: it holds no grids") from None
        return grids

    @staticmethod
    def is_sweep(path: str | Path) -> bool:
        """Whether a sweep is there."""
        return (user_path(path, RunError) / "sweep.json").is_file()

    @staticmethod
    def planned(
        grid: Grid, out: str | Path | None, runs: str | Path, identity: Identity
    ) -> "SweepDirectory":
        """The sweep of a grid, beside those that its directory holds already; nothing is written.

        Args:
            grid: what is to be run.
            out: the sweep directory; by default a function of the grid's members.
            runs: where that one goes, into its folder `sweeps`.
            identity: the code of the grid's problems.
        """
        default = user_path(runs, RunError) / "sweeps" / _name(identity.renewed(grid))
        path = default if out is None else user_path(out, RunError)
        grids = SweepDirectory._written(path) if SweepDirectory.is_sweep(path) else []
        directory = SweepDirectory(path, [*grids, grid], identity)
        directory._compare()
        return directory

    @staticmethod
    def of(grids: Sequence[Grid], path: Path) -> "SweepDirectory":
        """The sweep of these grids alone, of problems by name; nothing is written.

        What else its directory holds stays where it is.

        Raises:
            ProblemError: a problem cannot be found.
        """
        names = dict.fromkeys(name for grid in grids for name in grid.values["problem"])
        directory = SweepDirectory(path, list(grids), Identity.of(names, None))
        if SweepDirectory.is_sweep(path):
            directory.changed = directory.identity.changed(SweepDirectory._written(path))
        directory._compare()
        return directory

    def _compare(self) -> None:
        """Find the runs that are of other code, and the members that cannot be run."""
        members = self.members()
        stale = [m for m in members if self.identity.is_stale(self.path / m.name, m)]
        self.stale = frozenset(member.name for member in stale)
        notices = []
        if stale:
            names = ", ".join(dict.fromkeys(member["problem"] for member in stale))
            notices.append(
                f"{names} changed since {len(stale)} of these runs were trained: they are trained "
                f"anew, the old ones are kept in {self.path / EARLIER}"
            )
        for name in dict.fromkeys(m["problem"] for m in members):
            if not self.identity.is_at_hand(self.grids, name):
                notices.append(
                    f"the members of {name} are left as they are: only sweep.json names it, and "
                    "you have not run this code here; name it, or say --trust"
                )
        fresh = (self.path / m.name for m in members if m.name not in self.stale)
        self.notices = (*notices, *version_notice(fresh))

    def trusted(self, retry: int, trust: Trust) -> list[Member]:
        """What is left to be run, once the code that runs of it hold is trusted.

        Args:
            retry: see `left`.
            trust: what the user said; if anything, of problems that only sweep.json names, too.

        Raises:
            TrustError: a run's own copy of its code is not trusted.
        """
        for name in dict.fromkeys(m["problem"] for m in self.members()) if trust else ():
            if not self.identity.is_at_hand(self.grids, name):
                with contextlib.suppress(PinnsigError):  # then it stays as it is
                    trust_code(self.grids, name, trust)
        left = self.left(retry)
        for member in left:
            run = self.path / member.name
            if member.name not in self.stale and (run / "config.json").is_file():
                require_trust(run, trust)
        return left

    def code_of(self, member: Member) -> dict[str, str] | None:
        """The digests that the files of a member's problem must have; see `Identity.code_of`."""
        return self.identity.code_of(self.grids, member["problem"])

    def set_aside_stale(self) -> None:
        """Move the runs that are of other code out of the way, and forget its failures.

        Raises:
            RunError: they cannot be moved.
        """
        for name in sorted(self.stale):
            target = self.path / EARLIER / f"{name}-{secrets.token_hex(3)}"
            try:
                target.parent.mkdir(exist_ok=True)
                (self.path / name).rename(target)
            except OSError as error:
                raise RunError(f"cannot move {self.path / name}: {error.strerror}") from None
        self.stale = frozenset()
        if self.changed:
            RunDirectory(self.path).write_json("failures.json", self.failures())
            self.changed = set()

    # --- members --------------------------------------------------------------------------------

    def members(self) -> list[Member]:
        """Every member of every grid, once."""
        found = {m.name: m for grid in self.grids for m in grid.members()}
        return list(found.values())

    def left(self, retry: int) -> list[Member]:
        """What is to be run: all that is not done, but for what failed more than `retry` times."""
        failures = self.failures()
        problems = dict.fromkeys(member["problem"] for member in self.members())
        at_hand = {name for name in problems if self.identity.is_at_hand(self.grids, name)}
        return [
            member
            for member in self.members()
            if self.status(member.name) != DONE
            and member["problem"] in at_hand
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
        return self._found(name)[0]

    def _found(self, name: str) -> tuple[str, dict[str, Any]]:
        """A member's status and what its run gave; one of other code is as none."""
        if name in self.stale:
            return MISSING, {}
        result = run_result(self.path / name)
        return run_status(self.path / name, result), result or {}

    def reached(self, name: str) -> int:
        """How many iterations a member's checkpoint holds."""
        run, found = RunDirectory(self.path / name), 0
        for own in run.slabs() or [run]:
            with contextlib.suppress(RunError):
                state, _ = load_checkpoint(own)
                found += sum(report["iterations"] for report in state["trainer"]["reports"])
        return found

    def _columns(self, members: list[Member]) -> list[str]:
        """What varies, and what every table shows."""
        names = dict.fromkeys([*ALWAYS, *(name for grid in self.grids for name in grid.values)])
        return [n for n in names if n in ALWAYS or any(m[n] != members[0][n] for m in members)]

    def _row(self, member: Member, settings: list[str], failures: dict[str, Any]) -> Row:
        failure = failures.get(member.name, {})
        status, result = self._found(member.name)
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
            self._write_grids()
            yield

    def add(self, grid: Grid) -> None:
        """Have one more grid, in a directory that is locked."""
        renewed = self.identity.renewed(grid)
        if renewed not in self.grids:
            self.grids.append(renewed)
            self._write_grids()

    def _write_grids(self) -> None:
        data = {"grids": [grid.as_dict() for grid in self.grids]}
        RunDirectory(self.path).write_json("sweep.json", data)

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
        found = RunDirectory(self.path).read_json("failures.json")
        if not self.changed:
            return found
        forgotten = {m.name for m in self.members() if m["problem"] in self.changed}
        return {name: failure for name, failure in found.items() if name not in forgotten}

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


def _unique(grids: Iterable[Grid]) -> Iterator[Grid]:
    seen = []
    for grid in grids:
        if grid not in seen:
            seen.append(grid)
            yield grid


def _name(grid: Grid) -> str:
    """The same for the same members, and the same class where that was given itself."""
    names = "\n".join(sorted(member.name for member in grid.members()))
    names += "".join(code.get(ITSELF, "") for code in grid.code.values())
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
