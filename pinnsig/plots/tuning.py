"""A hyperparameter search: how the best value fell, and the objective over each setting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from pinnsig.plots.style import DARK, FAINT, PALETTE, new_figure, styled

COLUMNS = 3
LETTERS = 14  # of a choice's name below an axis


@dataclass(frozen=True)
class AxisValues:
    """A searched setting: its value in each trial, and whether it is shown on a log scale."""

    name: str
    values: Sequence[Any]
    log: bool = False


@styled
def plot_tuning(
    numbers: Sequence[int],
    objective: Sequence[float],
    axes: Sequence[AxisValues],
    pruned: Sequence[int] = (),
    name: str = "objective",
) -> Figure:
    """Return a figure with a history and one panel for each setting.

    Args:
        numbers: of the trials that are done.
        objective: their values, above 0.
        axes: what was searched, with values in the same order.
        pruned: numbers of trials that were ended early.
        name: of the objective.
    """
    columns = min(COLUMNS, len(axes) + 1)
    rows = -(-(len(axes) + 1) // columns)
    figure = new_figure(
        3.7 * columns, 3.1 * rows, f"{len(numbers)} trials done, the later the lighter"
    )
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    best = int(np.argmin(objective))
    history, *others = panels
    history.semilogy(numbers, objective, "o", color=FAINT, markersize=4, label="trial")
    history.step(numbers, np.minimum.accumulate(objective), where="post", color=PALETTE[0],
                 linewidth=1.8, label="best so far")  # fmt: skip
    if pruned:
        low = min(objective)
        history.plot(pruned, [low] * len(pruned), "|", color=PALETTE[1], markersize=9,
                     label="pruned")  # fmt: skip
    history.set(xlabel="trial", ylabel=name)
    history.legend(fontsize=8.5)
    for panel, axis in zip(others, axes, strict=False):
        places, labels = _places(axis)
        panel.scatter(places, objective, c=numbers, cmap="cividis", s=18)
        panel.plot(places[best], objective[best], "o", color="none", markeredgecolor=PALETTE[1],
                   markeredgewidth=1.8, markersize=9)  # fmt: skip
        panel.set(xlabel=axis.name, yscale="log", xscale="log" if axis.log else "linear")
        if axis.log:
            panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
            panel.xaxis.set_minor_formatter(NullFormatter())
        elif all(isinstance(value, int) for value in axis.values):
            panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        if labels:
            panel.set_xticks(range(len(labels)), labels, fontsize=8.5,
                             rotation=0 if len(labels) < 4 else 30)  # fmt: skip
            panel.set_xlim(-0.5, len(labels) - 0.5)
        panel.tick_params(axis="y", colors=DARK)
    for panel in others[len(axes) :]:
        panel.remove()
    return figure


def _places(axis: AxisValues) -> tuple[list[float], list[str]]:
    """Where values stand: numbers where they are, choices side by side with their names."""
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in axis.values):
        return [float(value) for value in axis.values], []
    names = list(dict.fromkeys(map(str, axis.values)))
    short = [n if len(n) <= LETTERS else f"{n[: LETTERS - 1]}…" for n in names]
    return [float(names.index(str(value))) for value in axis.values], short
