"""Errors of many problems side by side: a dot for the median, a bar for the range."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from pinnsig.plots.style import DARK, FAINT, PALETTE, new_figure, styled

ROW = 0.27  # inches
WIDTH = 8.4
ROOM = 0.35  # decades on both sides of what is drawn


@dataclass(frozen=True)
class Dots:
    """One row of the figure.

    Attributes:
        name: of the problem.
        values: its errors, one for each seed.
        published: the best published error, if there is one.
        same: whether that has the same setting.
    """

    name: str
    values: Sequence[float]
    published: float | None = None
    same: bool = True


@styled
def dots_figure(rows: Sequence[Dots], bounds: Sequence[float] = (), title: str = "") -> Figure:
    """Return errors on a logarithmic axis, a row for each problem, the lowest median on top.

    Args:
        rows: of the problems; one without a positive value says "no result".
        bounds: errors to mark.
        title: above all.
    """
    drawn = sorted((_Row(row) for row in rows), key=lambda row: row.median or float("inf"))
    figure = new_figure(WIDTH, 1.7 + ROW * len(drawn), title)
    axis = figure.subplots()
    numbers = [v for row in drawn for v in row.numbers] + list(bounds)
    low, high = min(numbers, default=1e-8), max(numbers, default=1.0)
    axis.set_xscale("log")
    axis.set_xlim(low / 10**ROOM, high * 10**ROOM)
    axis.set_ylim(len(drawn) - 0.4, -0.6)
    for bound in bounds:
        axis.axvline(bound, color=FAINT, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    for place, row in enumerate(drawn):
        if row.median is None:
            note = axis.text(0.5, place, "no result", transform=axis.get_yaxis_transform(),
                             ha="center", va="center", color=FAINT, fontsize=9)  # fmt: skip
            note.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0})
            continue
        ends = min(row.values), max(row.values)
        axis.plot(ends, [place, place], color=PALETTE[0], linewidth=2.6, alpha=0.45, zorder=2)
        axis.plot(row.median, place, "o", color=PALETTE[0], markersize=6.5, zorder=3)
    for same, fill in ((True, PALETTE[1]), (False, "white")):
        known = [(r.published, i) for i, r in enumerate(drawn) if r.published and r.same == same]
        if known:
            x, y = zip(*known, strict=True)
            axis.plot(x, y, "D", color=PALETTE[1], markerfacecolor=fill, markersize=5.5, zorder=4,
                      linestyle="none", label=f"best published{'' if same else ', other setting'}"
                      )  # fmt: skip
    several = any(len(row.values) > 1 for row in drawn)
    axis.plot([], [], "o-", color=PALETTE[0], markersize=6.5, linewidth=2.6,
              label="median and range over seeds" if several else "one seed")  # fmt: skip
    axis.set_yticks(range(len(drawn)), [row.name for row in drawn], parse_math=False)
    axis.tick_params(axis="y", length=0)
    axis.xaxis.set_major_locator(LogLocator(numticks=12))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.grid(True)
    axis.spines["left"].set_color(DARK)
    axis.set_xlabel("relative error")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


class _Row:
    """A row with what of it a logarithmic axis can show."""

    def __init__(self, dots: Dots) -> None:
        self.name, self.same = dots.name, dots.same
        self.values = [value for value in dots.values if 0 < value < float("inf")]
        self.median = statistics.median(self.values) if self.values else None
        self.published = dots.published if dots.published and dots.published > 0 else None
        self.numbers = [*self.values, *([self.published] if self.published else [])]
