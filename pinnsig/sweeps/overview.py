"""What is known of runs on disk, finished or not, from their files alone."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pinnsig.core.errors import RunError
from pinnsig.run.directory import RunDirectory
from pinnsig.run.state import DAMAGED_RUN, RunState, run_state
from pinnsig.sweeps import SweepDirectory

DEPTH = 3  # folders below the one that is asked about
STAMP = "%Y%m%d-%H%M%S"


def progress_so_far(run: RunDirectory, state: RunState) -> dict[str, Any]:
    """Return what a run without a result has logged and was asked to do.

    Args:
        run: its directory.
        state: how it stands.

    Raises:
        RunError: its config.json is damaged.
    """
    config = run.read_json("config.json")
    names = ("problem", "act", "scale", "init", "network", "depth", "width", "preset",
             "seed")  # fmt: skip
    found = {"run": str(run.path), "state": state.name, **{n: config.get(n) for n in names}}
    if state.last is not None:
        shown = ("phase", "iteration", "total", "step", "loss", "best_loss", "relative_l2",
                 "seconds", "terms", "coefficients")  # fmt: skip
        found |= {name: state.last.get(name) for name in shown}
    return found


def is_overview(path: Path) -> bool:
    """Whether there are runs or sweeps below a folder that is neither."""
    return next(_below(path), None) is not None


def overview(path: Path) -> list[dict[str, Any]]:
    """Return a row for each run and sweep below a folder, the oldest first."""
    rows = [_sweep_row(p) if SweepDirectory.is_sweep(p) else _run_row(p) for p in _below(path)]
    rows.sort(key=lambda row: (row["date"], row["run"]))
    for row in rows:
        row["run"] = str(Path(row["run"]).relative_to(path))
    return rows


def _below(path: Path, depth: int = DEPTH) -> Iterator[Path]:
    folders = sorted(p for p in path.iterdir() if p.is_dir() and not p.is_symlink())
    for folder in folders:
        if (folder / "config.json").is_file() or SweepDirectory.is_sweep(folder):
            yield folder
        elif depth > 1 and not folder.name.startswith("."):
            yield from _below(folder, depth - 1)


def _run_row(path: Path) -> dict[str, Any]:
    run = RunDirectory(path)
    row = {"run": str(path), "problem": None, "act": None, "init": None, "loss": None,
           "error": None, "stop": None, "date": _date(path)}  # fmt: skip
    try:
        config = run.read_json("config.json")
        scale = config.get("scale")
        act = config.get("act") if scale in (None, 1.0) else f"{scale:g} {config.get('act')}"
        solved = config.get("problem") or config.get("dataset")
        row |= {"problem": Path(str(solved)).stem, "act": act,
                "init": config.get("init")}  # fmt: skip
        state = run_state(path)
        if state.result is not None:
            result = state.result
            error = result.get("relative_l2")
            estimated = result.get("estimated_error")
            if error is None and estimated is not None:
                error = f"about {estimated:.2g}"
            accuracy = result.get("best_validation_accuracy")
            if accuracy is not None:  # of a classifier
                error = f"accuracy {accuracy:.3f}"
            loss = result.get("best_loss", result.get("last_train_loss"))
            return row | {"loss": loss, "error": error,
                          "stop": result.get("stop")}  # fmt: skip
        if state.name == DAMAGED_RUN:
            return row | {"stop": "damaged"}
        known = progress_so_far(run, state)
        at = f" at iteration {known['step']}" if known.get("step") is not None else ""
        return row | {"loss": known.get("best_loss"), "error": known.get("relative_l2"),
                      "stop": f"{state.name}{at}"}  # fmt: skip
    except (RunError, TypeError, ValueError):  # one torn file must not hide the others
        return row | {"stop": "damaged"}


def _sweep_row(path: Path) -> dict[str, Any]:
    row = {"run": str(path), "problem": None, "act": None, "init": None, "loss": None,
           "error": None, "stop": "damaged", "date": _date(path)}  # fmt: skip
    with contextlib.suppress(RunError):
        table = SweepDirectory.open(path).table()
        for name in ("problem", "act", "init"):
            values = [Path(v).stem if name == "problem" else v for v in table.values(name)]
            row[name] = values[0] if len(values) == 1 else f"{len(values)} values"
        for name, column in (("loss", "best_loss"), ("error", "relative_l2")):
            known = [value for value in table.column(column) if value is not None]
            row[name] = min(known, default=None)
        row["stop"] = f"sweep: {len(table.done)} of {len(table)} done, best shown"
    return row


def _date(path: Path) -> str:
    """When it began: by its name, else by its oldest settings."""
    text, shown = path.name[:15], "%Y-%m-%d %H:%M"
    with contextlib.suppress(ValueError):
        return time.strftime(shown, time.strptime(text, STAMP))
    name = "sweep.json" if SweepDirectory.is_sweep(path) else "config.json"
    return time.strftime(shown, time.localtime((path / name).stat().st_mtime))
