"""Figures made of plain panels: curves, maps and histograms."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from pinnsig.plots.style import DARK, FAINT, PALETTE, finite, log_axis, new_figure, styled

COLOURS = (*PALETTE, DARK)
DASHES = ("-", (0, (4, 2)), (0, (1, 1.2)))


def line_style(index: int) -> dict[str, Any]:
    """A colour and dash for the line of a number; neighbours differ in both."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


@dataclass(frozen=True)
class Curve:
    """A line, or points with bars if `error` is given.

    Attributes:
        x: shape (n,).
        y: shape (n,), or (n, k) for k lines in one colour.
        label: for the legend; none if empty.
        error: standard errors of y.
        style: of matplotlib; by default the line's number decides.
    """

    x: ArrayLike
    y: ArrayLike
    label: str = ""
    error: ArrayLike | None = None
    style: Mapping[str, Any] = field(default_factory=dict)


class Panel(ABC):
    """One of the panels of a figure."""

    @abstractmethod
    def draw(self, axis: Axes) -> None:
        """Draw into an axis."""


@dataclass(frozen=True)
class Curves(Panel):
    """A panel of curves.

    Attributes:
        levels: values marked by a horizontal line.
        marks: values marked by a vertical line.
        limits: of the vertical axis.
        counted: whether x counts something, so that its ticks are whole numbers.
    """

    curves: Sequence[Curve]
    x_label: str
    y_label: str
    title: str = ""
    x_scale: str = "linear"
    y_scale: str = "linear"
    levels: Sequence[float] = ()
    marks: Sequence[float] = ()
    limits: tuple[float | None, float | None] | None = None
    counted: bool = False

    def draw(self, axis: Axes) -> None:
        """Draw into an axis."""
        for i, curve in enumerate(self.curves):
            style = {"linewidth": 1.6, **line_style(i), **curve.style}
            y = finite(curve.y)
            if curve.error is not None:
                axis.errorbar(curve.x, y, curve.error, label=curve.label, capsize=2, **style)
                continue
            lines = axis.plot(curve.x, y, **style)
            if curve.label:
                lines[0].set_label(curve.label)
        if self.x_scale != "linear":  # which would take the names off an axis of names
            axis.set_xscale(self.x_scale)
        if self.counted:
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        if self.y_scale == "log":
            log_axis(axis, [finite(curve.y) for curve in self.curves])
        else:
            axis.set_yscale(self.y_scale)
        for level in self.levels:
            axis.axhline(level, color=FAINT, linewidth=1.0, linestyle=":", zorder=0.5)
        for mark in self.marks:
            axis.axvline(mark, color=FAINT, linewidth=1.0, linestyle=":", zorder=0.5)
        if self.limits:
            axis.set_ylim(*self.limits)
        axis.grid(True)
        axis.set(xlabel=self.x_label, ylabel=self.y_label, title=self.title)


@dataclass(frozen=True)
class Map(Panel):
    """A panel that shows values over two coordinates by colour.

    Attributes:
        values: shape (len(y), len(x)).
        range: of the colours; logarithmic if `log`.
        y_ticks: text for each row, where rows are evenly spaced whatever their values.
    """

    x: ArrayLike
    y: ArrayLike
    values: ArrayLike
    x_label: str
    y_label: str
    value_label: str
    title: str = ""
    range: tuple[float, float] = (0.0, 1.0)
    log: bool = False
    x_scale: str = "linear"
    y_scale: str = "linear"
    y_ticks: Sequence[str] = ()

    def draw(self, axis: Axes) -> None:
        """Draw into an axis, with a colour bar."""
        low, high = self.range
        values = finite(self.values)
        mesh = axis.pcolormesh(
            np.asarray(self.x),
            np.asarray(self.y),
            np.clip(values, low, high),
            cmap="viridis_r" if self.log else "viridis",
            norm=LogNorm(low, high) if self.log else Normalize(low, high),
            shading="nearest",
            rasterized=True,
        )
        axis.figure.colorbar(mesh, ax=axis, label=self.value_label, pad=0.02)
        axis.set(xlabel=self.x_label, ylabel=self.y_label, title=self.title)
        axis.set_xscale(self.x_scale)
        axis.set_yscale(self.y_scale)
        if self.y_ticks:
            axis.set_yticks(np.asarray(self.y), self.y_ticks)


@styled
def panels_figure(
    panels: Sequence[Panel], title: str = "", columns: int | None = None, share_y: bool = False
) -> Figure:
    """Panels in rows; curves of one label in several panels stand once in the legend below."""
    columns = columns or min(len(panels), 2)
    rows = -(-len(panels) // columns)
    figure = new_figure(4.9 * columns, 3.5 * rows + 0.6, title)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=share_y)
    legend: dict[str, Any] = {}
    for axis, panel in zip(grid.flat, panels, strict=False):
        panel.draw(axis)
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            legend.setdefault(label, handle)
    for axis in grid.flat[len(panels) :]:
        axis.remove()
    if legend:
        widest = max(map(len, legend)) + 8  # in letters, with the handle
        ncols = min(len(legend), max(1, 52 * columns // widest))
        figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=ncols)
    return figure


@styled
def histograms_figure(
    shares: ArrayLike,
    edges: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    x_label: str,
) -> Figure:
    """A grid of histograms, one for each row and column, on common logarithmic axes.

    Args:
        shares: shape (rows, columns, bins).
        edges: of the bins, shape (bins + 1,).
        rows: names of the rows.
        columns: names of the columns.
        title: of the figure.
        x_label: of the values.
    """
    shares = np.asarray(shares)
    figure = new_figure(1.9 * len(columns) + 1.2, 1.55 * len(rows) + 0.9, title)
    grid = figure.subplots(len(rows), len(columns), sharex=True, sharey=True, squeeze=False)
    for i, name in enumerate(rows):
        for j, column in enumerate(columns):
            axis = grid[i, j]
            axis.stairs(shares[i, j], np.asarray(edges), fill=True, color=COLOURS[i], alpha=0.85)
            axis.set_yscale("log")
            axis.set_ylim(1e-4, 1.5)
            if i == 0:
                axis.set_title(column)
        grid[i, -1].text(1.04, 0.5, name, transform=grid[i, -1].transAxes, rotation=270,
                         va="center", ha="left", fontsize=9)  # fmt: skip
    figure.supxlabel(x_label, fontsize=11)
    figure.supylabel("share of units per bin", fontsize=11)
    return figure
