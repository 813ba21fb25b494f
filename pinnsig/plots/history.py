"""The loss over the iterations."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from numpy.typing import NDArray

from pinnsig.plots.style import DARK, FAINT, PALETTE, finite, log_axis, new_figure, styled

START = "start"  # the phase of the initialised network, at iteration 0
LABEL_WIDTH = 0.12  # of the axis, about; labels closer than this go above one another


@styled
def loss_figure(records: Sequence[Mapping[str, Any]]) -> Figure:
    """The total loss and its terms over the iterations of all phases, on a log axis.

    Args:
        records: lines of the metrics log: `phase`, `iteration` (which starts again in each phase),
            `loss` and `terms` by name; None, or a value that is not finite, leaves a gap.
    """
    x, phases = iterations(records)
    names = list(dict.fromkeys(name for record in records for name in record["terms"]))
    terms = {name: finite([record["terms"].get(name) for record in records]) for name in names}
    total = finite([record["loss"] for record in records])

    figure = new_figure(8.4, 4.4)
    axis = figure.subplots()
    _line(axis, x, total, "total loss", color=DARK, linewidth=1.5, zorder=3)
    for i, (name, values) in enumerate(terms.items()):
        dash = ("-", "--", ":")[i // len(PALETTE) % 3]
        colour = PALETTE[i % len(PALETTE)]
        _line(axis, x, values, name, color=colour, linestyle=dash, linewidth=1.1, alpha=0.9)
    log_axis(axis, [total, *terms.values()])
    iteration_axis(axis, x)
    mark_phases(axis, phases, x)
    axis.set_ylabel("loss")
    figure.legend(loc="outside right upper")
    return figure


def iteration_axis(axis: Axes, x: NDArray[np.float64]) -> None:
    """Make the horizontal axis one of iterations, just as long as `x`."""
    low, high = (x[0], x[-1]) if len(x) else (0.0, 0.0)
    margin = max(0.01 * (high - low), 0.5)
    axis.set_xlim(low - margin, high + margin)
    axis.set_xlabel("iterations")
    axis.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, min_n_ticks=1))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def iterations(
    records: Sequence[Mapping[str, Any]],
) -> tuple[NDArray[np.float64], list[tuple[float, str]]]:
    """Return iterations counted over all phases, and where each phase begins."""
    x: list[float] = []
    phases: list[tuple[float, str]] = []
    offset, phase, last = 0.0, START, -1
    for record in records:
        # two phases of one optimiser differ only in that the count starts again
        if record["phase"] != phase or record["iteration"] <= last:
            phase, offset = record["phase"], x[-1] if x else 0.0
            phases.append((offset, phase))
        last = record["iteration"]
        x.append(offset + last)
    return np.array(x), phases


def _line(axis: Axes, x: NDArray[Any], y: NDArray[Any], label: str, **style: Any) -> None:
    """A line with gaps, and a dot for each value that has a gap on either side."""
    known = np.pad(y > 0, 1)
    alone = known[1:-1] & ~known[:-2] & ~known[2:]
    axis.plot(x, y, label=label, **style)
    axis.plot(x[alone], y[alone], "o", color=style["color"], markersize=4)


def mark_phases(
    axis: Axes,
    phases: Sequence[tuple[float, str]],
    x: NDArray[np.float64],
    labels: bool = True,
) -> None:
    """Draw a vertical line where each phase begins, and its name above the axis."""
    width = float(x[-1] - x[0]) if len(x) else 0.0
    level, previous = 0, None
    for place, name in phases:
        close = previous is not None and place - previous < LABEL_WIDTH * width
        level, previous = level + 1 if close else 0, place
        if place > 0:
            axis.axvline(place, color=FAINT, linewidth=1.0, linestyle=(0, (3, 3)), zorder=0.5)
        if not labels:
            continue
        axis.annotate(
            name,
            (place, 1.0),
            xycoords=axis.get_xaxis_transform(),
            xytext=(2, 3 + 13 * level),
            textcoords="offset points",
            color="#555555",
        )
