"""What a reproduced figure leaves on disk.

<out>/<name>/
    <preset>.json    claim, verdict, figures behind it, seed, seconds, versions; kept in git
    <preset>.npz     the data that is drawn
    <preset>.png     the drawing
    <preset>.md      the table, where the paper has one
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from pinnsig.core.errors import FigureError
from pinnsig.core.files import replacing
from pinnsig.core.json import dumps
from pinnsig.paper.base import PRESETS, ROOT, Data, PaperFigure
from pinnsig.plots import save_figure
from pinnsig.run.environment import environment

FigureRecord = dict[str, Any]
"""What is written of a reproduced figure beside its data: claim, verdict, settings, versions."""


def reproduce(
    figure: PaperFigure,
    preset: str,
    seed: int = 0,
    out: Path = ROOT,
    datasets: Sequence[str] = (),
    **running: Any,
) -> FigureRecord:
    """Compute, draw, judge and save one figure, and return its record.

    Args:
        figure: which.
        preset: of its settings.
        seed: the first one.
        out: where the files go.
        datasets: only these of the preset's image sets; without any, all of them.
        running: what is named in `PaperFigure.running`.

    Raises:
        FigureError: the figure has no such preset, image set or option, or the files cannot be
            written.
    """
    settings = _settings(figure, preset, datasets)
    for name in running:
        if name not in figure.running:
            raise FigureError(f"{figure.name} takes no {name}")
    if "out" in figure.running:
        running["out"] = out
    start = time.perf_counter()
    data = figure.compute(seed, **settings, **running)
    found = figure.judge(data)
    record = {
        "name": figure.name,
        "source": figure.source,
        "claim": figure.claim,
        "outcome": found.outcome,
        "words": found.words,
        "findings": _rounded(found.findings),
        "preset": preset,
        "settings": settings,
        "seed": seed,
        "seconds": round(time.perf_counter() - start, 1),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": environment()["versions"],
    }
    path = out / figure.name / preset
    save_figure(figure.draw(data), path.with_suffix(".png"))
    _write(path.with_suffix(".npz"), lambda part: _save_arrays(part, data))
    table = figure.table(data)
    if table is not None:
        _write(path.with_suffix(".md"), lambda part: part.write_text(table, encoding="utf-8"))
    _write(path.with_suffix(".json"), lambda part: part.write_text(dumps(record, 2) + "\n"))
    return record


def last_record(name: str, out: Path = ROOT) -> FigureRecord | None:
    """Return the newest record of a figure, of any preset; None if there is none.

    Raises:
        FigureError: a record is damaged.
    """
    records = []
    for preset in PRESETS:
        path = out / name / f"{preset}.json"
        if path.is_file():
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
                records.append((record["finished"], record["outcome"], record))
            except (OSError, ValueError, KeyError, TypeError):
                raise FigureError(f"{path} is damaged: it is no record of a figure") from None
    return max(records, key=lambda found: found[0])[2] if records else None


def _settings(figure: PaperFigure, preset: str, datasets: Sequence[str]) -> dict[str, Any]:
    """Those of a preset, with the chosen ones of its image sets."""
    if preset not in figure.presets:
        raise FigureError(f"{figure.name} has no preset {preset!r}: {', '.join(figure.presets)}")
    settings = dict(figure.presets[preset])
    known = settings.get("datasets", ())
    for name in datasets:
        if name not in known:
            has = f"has {', '.join(known)}" if known else "needs no image set"
            raise FigureError(f"{figure.name} with preset {preset} {has}, not {name!r}")
    if isinstance(known, Mapping) and datasets:
        settings["datasets"] = {name: known[name] for name in datasets}
    elif datasets:
        settings["datasets"] = tuple(datasets)
    return settings


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            write(part)
    except OSError as error:
        raise FigureError(f"cannot write {path}: {error.strerror}") from None


def _save_arrays(path: Path, data: Data) -> None:
    arrays = {key: np.asarray(value) for key, value in data.items()}
    with path.open("wb") as stream:  # given a name, numpy would add its own suffix
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def _rounded(findings: Any) -> Any:
    """Six significant digits, and plain Python numbers."""
    if isinstance(findings, dict):
        return {name: _rounded(value) for name, value in findings.items()}
    if isinstance(findings, list | tuple | np.ndarray):
        return [_rounded(value) for value in findings]
    if isinstance(findings, bool | int | str):
        return findings
    return float(f"{float(findings):.6g}")
