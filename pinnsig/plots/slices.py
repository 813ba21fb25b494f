"""Prediction against reference along a line through the domain, at some times."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from pinnsig.geometry import TIME_NAMES
from pinnsig.model.evaluation import Comparison
from pinnsig.plots.solution import draw_curves, middle
from pinnsig.plots.style import new_figure, styled, symbol

SLICES = 5
PER_ROW = 5

Cut = tuple[int | slice, ...]


@styled
def slices_figure(comparison: Comparison, at: Sequence[float] | None = None) -> Figure:
    """One panel for each time, with the prediction dashed and the reference solid.

    The curves run along the first coordinate that is not time; without a time, the last
    coordinate takes its part. Further coordinates are held at their middle, as the title then
    says. With one coordinate there is one panel.

    Args:
        comparison: the field to draw.
        at: times, each drawn at the nearest grid point; by default five from start to end.
    """
    names = list(comparison.axes)
    time = next((name for name in names if name in TIME_NAMES), names[-1])
    along = next((name for name in names if name != time), time)
    panels = {"": (slice(None),)} if along == time else _cuts(comparison, along, time, at)
    held = [name for name in names if name not in (along, time)]
    title = ", ".join(
        f"{symbol(name)} = {comparison.axes[name][middle(comparison.axes[name])]:.4g}"
        for name in held
    )

    rows = -(-len(panels) // PER_ROW)
    columns = -(-len(panels) // rows)
    figure = new_figure(max(2.6 * columns, 5.2) + 0.6, 2.9 * rows + 0.4, title and f"at {title}")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axis, (label, cut) in zip(grid.flat, panels.items(), strict=False):
        reference = None if comparison.reference is None else comparison.reference[cut]
        draw_curves(axis, comparison.axes[along], comparison.prediction[cut], reference)
        axis.set_title(label)
        axis.set_xlabel(symbol(along), style="italic")
    for axis in grid.flat[len(panels) :]:
        axis.remove()
    for axis in grid[:, 0]:
        axis.set_ylabel(symbol(comparison.field), style="italic")
    handles = grid[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2)
    return figure


def _cuts(
    comparison: Comparison, along: str, time: str, at: Sequence[float] | None
) -> dict[str, Cut]:
    """Where to cut the grid for each panel, by the panel's label."""
    times = comparison.axes[time]
    wanted = np.linspace(times[0], times[-1], SLICES) if at is None or not len(at) else at
    centre = {name: middle(points) for name, points in comparison.axes.items()}
    cuts: dict[str, Cut] = {}
    for value in wanted:
        index = int(np.argmin(np.abs(times - value)))
        place = centre | {time: index}
        cuts[f"{symbol(time)} = {times[index]:.4g}"] = tuple(
            slice(None) if name == along else place[name] for name in comparison.axes
        )
    return cuts
