"""What a table leaves on disk, one small record for each problem.

<out>/<budget>/
    <problem>.json   what its runs gave, at which budget, when and on what; kept in git
    README.md        the table; kept in git
    table.png        the same drawn
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from pinnsig.core.errors import RunError
from pinnsig.core.files import write_reported
from pinnsig.core.json import dumps
from pinnsig.core.paths import plain
from pinnsig.model.evaluation import compare, evaluation_axes
from pinnsig.run.directory import RunDirectory
from pinnsig.run.loading import load
from pinnsig.sweeps.table import DONE, FAILED, MISSING, Row
from pinnsig.table.budget import ROOT, Budget
from pinnsig.table.entries import Measure, entry_of
from pinnsig.training import NON_FINITE

TableRecord = dict[str, Any]
"""Of one problem: its `runs`, at which `budget`, and with what."""

KEPT = ("relative_l2", "estimated_error", "best_loss", "seconds", "stop", "suspicious")
"""What is kept of a result as it is."""

RECORD = {"problem", "budget", "settings", "command", "network", "weights", "runs"}
RUN = {"seed", "status", "reason"}
ANSWER = {"fields", "coefficients", *KEPT, "iterations", "finished", "environment"}
"""What records, their runs, and runs with an answer have.

Beside these, `measured` is a run's error in the way that the published one was, where that is of
less than every field everywhere.
"""

DIGITS = 6
"""Significant ones of what is kept."""


def make_record(
    problem: str, budget: Budget, path: Path, rows: Iterable[Row]
) -> TableRecord | None:
    """Return the record of a problem from its runs; None if none of them has been begun.

    Args:
        problem: its name.
        budget: of the table.
        path: the sweep directory.
        rows: of the problem's runs.

    Raises:
        RunError: a finished run is damaged.
    """
    rows = sorted(rows, key=lambda row: row["seed"])
    if all(row["status"] == MISSING for row in rows):
        return None
    entry, about = entry_of(problem), {}
    runs = []
    for row in rows:
        run = {"seed": row["seed"], "status": row["status"], "reason": row["reason"]}
        if row["status"] == DONE:
            found, about = _read_run(path / row["run"])
            run |= found
            if entry.published is not None and entry.published.measure is not None:
                run |= _rounded({"measured": measured(path / row["run"], entry.published.measure)})
        runs.append(run)
    return {
        "problem": problem,
        "budget": budget.as_dict(),
        "settings": budget.settings(entry),
        "command": budget.solve_command(problem, entry),
        "network": about.get("network"),
        "weights": about.get("weights"),
        "runs": runs,
    }


def _read_run(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a finished run gave, and what was trained."""
    run = RunDirectory(path)
    result, config = run.read_json("result.json"), run.read_json("config.json")
    iterations: dict[str, int] = {}
    for phase in result["phases"]:  # of one name together
        iterations[phase["name"]] = iterations.get(phase["name"], 0) + phase["iterations"]
    finished = datetime.fromtimestamp((path / "result.json").stat().st_mtime, UTC)
    errors = {**result["errors"]["fields"], **result["errors"].get("functions", {})}
    found = {
        "fields": {name: e["relative_l2"] for name, e in errors.items()},  # and unknown functions
        "coefficients": {
            name: {key: learned[key] for key in ("value", "true", "error", "estimated")}
            for name, learned in result["coefficients"].items()
        },
        **{name: result[name] for name in KEPT},
        "iterations": iterations,
        "finished": finished.isoformat(timespec="seconds"),
        "environment": config["environment"],
    }
    if result["stop"] == NON_FINITE or result["best_loss"] is None:
        found |= {"status": FAILED, "reason": result["stop"]}
    network = f"{config['network']} {config['depth']} x {config['width']}"
    return _rounded(found), {"network": network, "weights": result["parameters"]}


def measured(path: Path, measure: Measure) -> float:
    """Return the error of a finished run in the way that a published one was measured.

    Raises:
        PinnsigError: see `pinnsig.run.loading.load`.
    """
    model = load(path).model
    axes = evaluation_axes(model.problem) | {n: np.array([v]) for n, v in measure.at.items()}
    found = compare(model, axes)
    return max(error for f in measure.fields if (error := found[f].relative_l2) is not None)


def write_record(record: TableRecord, folder: Path) -> None:
    """Write a record down.

    Raises:
        RunError: it cannot be written.
    """
    write_text(folder / f"{record['problem']}.json", dumps(record, 1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text, and make the folder that it goes to.

    Raises:
        RunError: it cannot be written.
    """
    write_reported(path, text.encode(), RunError, folders=True)


def read_records(folder: Path) -> list[TableRecord]:
    """Return the records of a table's folder by the problems' names.

    Raises:
        RunError: one is damaged.
    """
    return [_read_record(path) for path in sorted(folder.glob("*.json"))]


def read_tables(out: Path = ROOT) -> dict[Budget, list[TableRecord]]:
    """Return the records of every table below a folder, by budget.

    Raises:
        RunError: one is damaged.
    """
    folders = {path.parent: None for path in sorted(out.glob("*/*.json"))}
    tables = map(read_records, folders)
    return {Budget(**records[0]["budget"]): records for records in tables}


def _read_record(path: Path) -> TableRecord:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        Budget(**record["budget"])
        whole = record.keys() >= RECORD and all(run.keys() >= RUN for run in record["runs"])
        done = [run for run in record["runs"] if run["status"] == DONE]
        if whole and all(run.keys() >= ANSWER for run in done):
            return record
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    raise RunError(f"{plain(str(path))} is damaged: it is no record of a table")


def _rounded(value: Any) -> Any:
    """The same data with so many significant digits as are kept."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
