"""Figures of a sweep: a number of each run against a setting, with its spread over seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, NullFormatter
from numpy.typing import NDArray

from pinnsig.plots.style import FAINT, PALETTE, finite, log_axis, new_figure, styled

LABELS = {
    "best_loss": "best loss",
    "last_loss": "last loss",
    "relative_l2": "relative $L_2$ error",
    "max_error": "maximal error",
    "seconds": "wall time [s]",
    "scale": "activation scale $a$",
    "depth": "depth $L$",
    "width": "width $N$",
    "act": "activation",
    "init": "initialiser",
    "lr": "learning rate",
}
MARKS = "osD^vP"
DECADES = 1.5  # from which on the horizontal axis is logarithmic
PER_ROW = 3
Array = NDArray[np.float64]
Line = Mapping[Any, Sequence[float | None]]
"""What was found at each place of the horizontal axis, one number for each seed; None for none."""


def label(name: str) -> str:
    """How to write a setting or a column on an axis."""
    return LABELS.get(name, name.removeprefix("set.").replace("_", " "))


@styled
def spread_figure(
    panels: Mapping[str, Mapping[str, Line]],
    metric: str,
    x: str,
    title: str = "",
    lines_are: str = "",
) -> Figure:
    """Medians as lines over the full range as a band, on a log axis; a panel beside the other.

    Args:
        panels: by title, the lines by name.
        metric: the column drawn.
        x: the setting along the horizontal axis; words stand side by side.
        title: above all.
        lines_are: the setting whose values the lines have, which titles the legend.
    """
    rows, columns = _shape(len(panels))
    figure = new_figure(4.4 * columns + 0.4, 3.5 * rows + 0.7, title)
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    places = list(dict.fromkeys(p for ls in panels.values() for line in ls.values() for p in line))
    for axis, (heading, lines) in zip(grid.flat, panels.items(), strict=False):
        drawn = [
            _draw_line(axis, line, places, names.index(name), name) for name, line in lines.items()
        ]
        log_axis(axis, drawn)
        if metric == "seconds":  # 20, not 2 x 10^1
            axis.yaxis.set_major_formatter(LogFormatter())
            axis.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.0, 0.4)))
        axis.set_title(heading, parse_math=False)
        axis.set_xlabel(label(x))
        _horizontal(axis, places)
    for axis in grid.flat[len(panels) :]:
        axis.remove()
    for axis in grid[:, 0]:
        axis.set_ylabel(label(metric))
    handles = {}
    for axis in grid.flat[: len(panels)]:
        handles |= {n: h for h, n in zip(*axis.get_legend_handles_labels(), strict=True)}
    if any(names):
        figure.legend(list(handles.values()), list(handles), loc="outside lower center",
                      ncols=min(len(handles), 2 * columns),
                      title=label(lines_are) if lines_are else None)  # fmt: skip
    return figure


def _shape(panels: int) -> tuple[int, int]:
    """Rows and columns, filled evenly."""
    rows = -(-panels // PER_ROW)
    return rows, -(-panels // rows)


def _draw_line(axis: Axes, line: Line, places: list[Any], number: int, name: str) -> Array:
    """Draw one line; returns its medians."""
    numeric = _numeric(places)
    order = sorted(line) if numeric else [place for place in places if place in line]
    x = np.array(order if numeric else [places.index(place) for place in order], dtype=float)
    found = [finite(line[place]) for place in order]
    found = [values[~np.isnan(values)] for values in found]
    middle = np.array([np.median(v) if v.size else np.nan for v in found])
    low = np.array([v.min() if v.size else np.nan for v in found])
    high = np.array([v.max() if v.size else np.nan for v in found])
    style: dict[str, Any] = {"color": PALETTE[number % len(PALETTE)]}
    axis.fill_between(x, low, high, alpha=0.18, linewidth=0, **style)
    axis.vlines(x, low, high, linewidth=1.2, alpha=0.7, **style)
    axis.plot(
        x,
        middle,
        marker=MARKS[number % len(MARKS)],
        linestyle="-" if numeric else "none",
        markersize=5,
        linewidth=1.6,
        label=name,
        **style,
    )
    return np.concatenate([middle, high])


def _horizontal(axis: Axes, places: list[Any]) -> None:
    if not _numeric(places):
        axis.set_xticks(range(len(places)), [str(place) for place in places], rotation=20)
        axis.margins(x=0.15)
        return
    values = np.array(places, dtype=float)
    if values.min() > 0 and np.log10(values.max() / values.min()) > DECADES:
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
    if len(places) <= 10:
        axis.set_xticks(np.unique(values), [f"{value:g}" for value in np.unique(values)])


def _numeric(places: Sequence[Any]) -> bool:
    return all(isinstance(p, int | float) and not isinstance(p, bool) for p in places)


@styled
def heat_figure(
    panels: Mapping[str, Mapping[tuple[Any, Any], Sequence[float | None]]],
    metric: str,
    x: str,
    y: str,
    title: str = "",
) -> Figure:
    """Medians over seeds as colours, for every pair of values of two settings.

    Args:
        panels: by title, the numbers of all seeds by the values of x and y.
        metric: the column drawn.
        x: the setting to the right.
        y: the setting upwards.
        title: above all.
    """
    across, up = (
        _ordered([pair[i] for panel in panels.values() for pair in panel]) for i in (0, 1)
    )
    maps = {}
    for heading, cells in panels.items():
        maps[heading] = np.full((len(up), len(across)), np.nan)
        for (column, row), values in cells.items():
            known = finite(values)[np.isfinite(finite(values))]
            if known.size:
                maps[heading][up.index(row), across.index(column)] = np.median(known)
    known = np.concatenate([m[m > 0] for m in maps.values()])
    low, high = (known.min(), known.max()) if known.size else (0.1, 1.0)
    norm = LogNorm(low, high if high > low else 1.01 * low)
    rows, columns = _shape(len(panels))
    figure = new_figure(
        (1.2 + 0.75 * len(across)) * columns + 1.2, (1.1 + 0.5 * len(up)) * rows + 0.6, title
    )
    grid = figure.subplots(rows, columns, squeeze=False)
    mesh = None
    for axis, (heading, values) in zip(grid.flat, maps.items(), strict=False):
        mesh = axis.pcolormesh(np.ma.masked_invalid(values), cmap="viridis", norm=norm,
                               edgecolors="white", linewidth=0.6)  # fmt: skip
        _write_cells(axis, values, norm)
        axis.set_facecolor(FAINT)  # where there is no result
        axis.set_xticks(np.arange(len(across)) + 0.5, [_short(v) for v in across])
        axis.set_yticks(np.arange(len(up)) + 0.5, [_short(v) for v in up])
        axis.tick_params(length=0)
        axis.set_title(heading, parse_math=False)
        axis.set_xlabel(label(x))
        axis.set_ylabel(label(y))
    for axis in grid.flat[len(panels) :]:
        axis.remove()
    if mesh is not None:
        shown = list(grid.flat[: len(panels)])
        figure.colorbar(mesh, ax=shown, label=f"{label(metric)},\nmedian over seeds", pad=0.02)
    return figure


def _write_cells(axis: Axes, values: Array, norm: LogNorm) -> None:
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            bright = norm(value) > 0.6
            axis.text(column + 0.5, row + 0.5, f"{value:.1e}", ha="center", va="center",
                      fontsize=8, color="#222222" if bright else "white")  # fmt: skip


def _ordered(values: Sequence[Any]) -> list[Any]:
    different = list(dict.fromkeys(values))
    return sorted(different) if _numeric(different) else different


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
