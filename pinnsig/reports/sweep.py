"""A sweep as a part of a page: its table, and its numbers against a setting."""

import shlex
from typing import Any

from pinnsig.plots.style import PALETTE
from pinnsig.plots.sweep import DECADES
from pinnsig.reports.charts import Chart, band, chart, line
from pinnsig.reports.page import Html, Page, escape, folded, note, row, section, table
from pinnsig.sweeps.drawing import axes_of, heading
from pinnsig.sweeps.table import Spread, SweepTable

METRICS = {"best_loss": "lowest loss", "relative_l2": "relative L2 error"}
COLUMNS = ("best_loss", "relative_l2", "seconds", "iterations", "status", "stop", "learned",
           "suspicious", "reason", "run")  # fmt: skip
CHARTS = 24  # at most


def sweep_report(page: Page, found: SweepTable) -> str:
    """Return a sweep: its best members, its numbers against the scale, every member in a table."""
    return "".join((
        f"<h1>{escape(found.path.name)}</h1>",
        note(f"{len(found.done)} of {len(found)} runs done"),
        section("Best members", _best(found)),
        section("Against the settings", _charts(page, found)),
        section("All members", _members(found)),
    ))  # fmt: skip


def _best(found: SweepTable) -> str:
    rows = []
    for metric, words in METRICS.items():
        known = [own for own in found.done if own[metric] is not None]
        if known:
            best = min(known, key=lambda own: own[metric])
            told = f"pinnsig report {shlex.quote(str(found.path / best['run']))}"
            settings = ", ".join(f"{name} = {best[name]}" for name in found.varied)
            rows.append((words, best[metric], settings, Html(f"<code>{escape(told)}</code>")))
    return table(("lowest", "value", "settings", "its own report"), rows) if rows else ""


def _charts(page: Page, found: SweepTable) -> str:
    across, lines, panels, rest = axes_of(found)
    others = [name for name in (panels, *rest) if name]
    drawn = []
    for key, part in found.groups(others).items():
        for metric, words in METRICS.items():
            if any(value is not None for value in part.column(metric)):
                title = escape(heading(others, key))
                drawn.append(
                    page.chart(_spread(part, metric, words, across, lines), title or words)
                )
    seeds = len(found.values("seed"))
    told = f"lines are medians, areas full ranges, over {seeds} seeds" if seeds > 1 else "one seed"
    more = len(drawn) - CHARTS
    return (
        f'<p class="hint">{told}</p>'
        + row(*drawn[:CHARTS], few=True)
        + (note(f"{more} more charts: pinnsig plot draws them") if more > 0 else "")
    )


def _spread(part: SweepTable, metric: str, words: str, across: str, lines: str | None) -> Chart:
    data: list[dict[str, Any]] = []
    numeric = part.is_numeric(across)
    for i, ((name,), own) in enumerate(part.groups([lines]).items() if lines else [(("",), part)]):
        spreads = {place: rows.spread(metric) for (place,), rows in own.groups([across]).items()}
        x = [place if numeric else str(place) for place in spreads]
        colour = PALETTE[i % len(PALETTE)]
        if any(spread.count > 1 for spread in spreads.values()):
            data += _range(x, list(spreads.values()), colour)
        middle = [spread.median for spread in spreads.values()]
        data.append(
            line(x, middle, str(name), colour, mode="lines+markers", showlegend=bool(lines))
        )
    places = part.values(across)
    wide = numeric and places[0] > 0 and places[-1] > places[0] * 10**DECADES
    layout = {"xaxis": {"type": "log"}} if wide else None
    return chart(data, across, words, log=True, layout=layout)


def _range(x: list[Any], spreads: list[Spread], colour: str) -> list[dict[str, Any]]:
    area = band(x, [s.low for s in spreads], [s.high for s in spreads], "", colour)
    return [{**own, "showlegend": False} for own in area]


def _cell(name: str, value: Any) -> Any:
    """A doubt is long: only a click shows it."""
    return Html(folded("yes", escape(value))) if name == "suspicious" and value else value


def _members(found: SweepTable) -> str:
    kept = [name for name in COLUMNS if any(value is not None for value in found.column(name))]
    settings = [name for name in found.settings if name in found.varied]
    rows = [[_cell(name, own[name]) for name in (*settings, *kept)] for own in found]
    return table([name.replace("_", " ") for name in (*settings, *kept)], rows)
