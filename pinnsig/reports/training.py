"""How training went: losses, weights, errors and coefficients over the iterations."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pinnsig.plots.history import iterations
from pinnsig.plots.style import DARK, PALETTE, symbol
from pinnsig.reports.charts import Chart, chart, label, line, several
from pinnsig.reports.page import Page, row, table

Records = Sequence[Mapping[str, Any]]
POINTS = 600  # of a line, at most
HEAD = ("phase", "iterations", "evaluations", "seconds", "stop", "advice")
SHADES = ("#F3F6FA", "#FBF6EE")
CLOSE = 0.12  # of the width: names of phases nearer than this stand above one another


def training(
    page: Page, records: Records, phases: Sequence[Mapping[str, Any]], true: Mapping[str, Any]
) -> str:
    """Return the charts of a log, and a table of the phases.

    Args:
        page: what is added to.
        records: lines of the metrics log.
        phases: of the result; none of a run without one.
        true: true values of learned coefficients, as far as they are known.
    """
    if not records:
        return ""
    kept, x, marks = thinned(records)
    drawn = {"loss": _losses(kept, x)}
    weights = _series(kept, "weights")
    if weights:
        lines = several({name: (x, _positive(own)) for name, own in weights.items()})
        drawn["weights of the terms"] = chart(lines, "iterations", "weight", log=True)
    errors = [record.get("relative_l2") for record in kept]
    at = [i for i, value in enumerate(errors) if value is not None]
    if len(at) > 1:
        own = line([x[i] for i in at], _positive([errors[i] for i in at]), "relative L2 error")
        drawn["relative L2 error"] = chart([own], "iterations", "relative L2 error", log=True)
    for name, values in _series(kept, "coefficients").items():
        traces = [line(x, values, "learned")]
        if (exact := true.get(name)) is not None:
            traces.append(line([x[0], x[-1]], [exact] * 2, "true value", PALETTE[1], "dash"))
        drawn[f"learned: {symbol(name)}"] = chart(traces, "iterations", name)
    stops = {phase["name"]: phase.get("stop") for phase in phases}
    for own in drawn.values():
        _mark_phases(own, marks, x, stops)
    body = row(*(page.chart(own, title) for title, own in drawn.items()), few=True)
    if phases:
        body += table(HEAD, [[phase.get(key) for key in ("name", *HEAD[1:])] for phase in phases])
    return body


def thinned(records: Records) -> tuple[Records, list[float], list[tuple[float, str]]]:
    """Return some of the records, their iterations counted over all phases, and the phases."""
    x, marks = iterations(records)
    starts = np.searchsorted(x, [place for place, _ in marks])
    even = np.linspace(0, len(records) - 1, min(POINTS, len(records))).round()
    kept = np.unique(np.concatenate([even, np.minimum(starts, len(records) - 1)]).astype(int))
    return [records[i] for i in kept], x[kept].tolist(), marks


def _losses(records: Records, x: list[float]) -> Chart:
    terms = {name: (x, _positive(own)) for name, own in _series(records, "terms").items()}
    total = line(x, _positive([r.get("loss") for r in records]), "total loss", DARK)
    return chart([*several(terms), total], "iterations", "loss", log=True)


def _series(records: Records, key: str) -> dict[str, list[Any]]:
    """What is logged by name under a key, as a list over the records."""
    names = dict.fromkeys(name for record in records for name in record.get(key) or {})
    return {name: [(record.get(key) or {}).get(name) for record in records] for name in names}


def _positive(values: Sequence[Any]) -> list[float | None]:
    """What a logarithmic axis can show."""
    return [value if value is not None and value > 0 else None for value in values]


def _mark_phases(
    drawn: Chart, marks: Sequence[tuple[float, str]], x: Sequence[float], stops: Mapping[str, Any]
) -> None:
    """Shade every phase, and write its name above it; its stop reason shows below the pointer."""
    ends = [*(place for place, _ in marks[1:]), x[-1]]
    shapes, names, level, before = [], [], 0, None
    width = (x[-1] - x[0]) or 1.0
    for i, ((begin, name), end) in enumerate(zip(marks, ends, strict=True)):
        shapes.append({
            "type": "rect", "xref": "x", "yref": "paper", "x0": begin, "x1": end, "y0": 0, "y1": 1,
            "fillcolor": SHADES[i % 2], "line": {"width": 0}, "layer": "below",
        })  # fmt: skip
        level = level + 1 if before is not None and begin - before < CLOSE * width else 0
        before = begin
        names.append({
            "x": begin, "xref": "x", "y": 1, "yref": "paper", "text": label(name),
            "showarrow": False, "xanchor": "left", "yanchor": "top", "yshift": -12 * level,
            "xshift": 2, "font": {"size": 10, "color": "#666666"},
            "hovertext": label(f"{name}: {stops[name]}") if stops.get(name) else "",
        })  # fmt: skip
    drawn["layout"] |= {"shapes": shapes, "annotations": names}
