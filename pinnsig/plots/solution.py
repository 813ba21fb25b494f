"""Prediction, reference and error over the domain."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pinnsig.evaluation import Comparison
from pinnsig.plots.style import (
    ERROR,
    PREDICTION,
    REFERENCE,
    finite,
    log_axis,
    new_figure,
    styled,
    symbol,
)
from pinnsig.problem.domain import TIME_NAMES

Array = NDArray[np.float64]
ABSOLUTE_ERROR = "absolute error"


@styled
def solution_figure(comparison: Comparison, title: str = "") -> Figure:
    """The prediction beside the reference and the absolute error, where there is a reference.

    With two coordinates maps with time, if there is one, to the right; with one coordinate curves;
    with more, maps over the first two at the middle of the others, as the title then says.
    """
    if len(comparison.axes) == 1:
        return _curves(comparison, title)
    return _maps(comparison, title)


def middle(axis: Array) -> int:
    """Index of the grid point nearest to the middle of an axis."""
    return int(np.argmin(np.abs(axis - (axis[0] + axis[-1]) / 2)))


def draw_curves(axis: Axes, x: Array, prediction: Array, reference: Array | None) -> None:
    """The prediction over the reference, named for a legend."""
    if reference is not None:
        axis.plot(x, finite(reference), label="reference", **REFERENCE)
    axis.plot(x, finite(prediction), label="prediction", **PREDICTION)
    axis.margins(x=0)
    axis.grid(True)


def _curves(comparison: Comparison, title: str) -> Figure:
    ((name, x),) = comparison.axes.items()
    error = comparison.error
    figure = new_figure(6.4, 3.6 if error is None else 5.4, title)
    if error is None:
        top = bottom = figure.subplots()
    else:
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        bottom.plot(x, finite(error), **ERROR)
        log_axis(bottom, [error])
        bottom.set_ylabel(ABSOLUTE_ERROR)
    draw_curves(top, x, comparison.prediction, comparison.reference)
    top.set_ylabel(symbol(comparison.field), style="italic")
    figure.legend(*top.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    bottom.set_xlabel(symbol(name), style="italic")
    return figure


def _maps(comparison: Comparison, title: str) -> Figure:
    names = list(comparison.axes)
    held = {name: middle(comparison.axes[name]) for name in names[2:]}
    if held:
        places = ", ".join(
            f"{symbol(name)} = {comparison.axes[name][at]:.4g}" for name, at in held.items()
        )
        title = f"{title or symbol(comparison.field)} at {places}"
    cut = (slice(None), slice(None), *held.values())
    across, up = names[:2]
    if up in TIME_NAMES:
        across, up = up, across

    panels = {"prediction": comparison.prediction[cut]}
    if comparison.reference is not None:
        panels["reference"] = comparison.reference[cut]
    colours = _colours(np.stack(list(panels.values())))
    if comparison.error is not None:
        panels[ABSOLUTE_ERROR] = comparison.error[cut]

    figure = new_figure(1.1 + 3.9 * len(panels), 3.6, title)
    row = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for axis, (label, values) in zip(row, panels.items(), strict=True):
        values = finite(values.T if across == names[0] else values)  # rows run to the right
        smooth = min(values.shape) > 1 and not np.isnan(values).any()
        mesh = axis.pcolormesh(
            comparison.axes[across],
            comparison.axes[up],
            np.ma.masked_invalid(values),
            shading="gouraud" if smooth else "nearest",
            rasterized=True,
            **(_error_colours(values) if label == ABSOLUTE_ERROR else colours),
        )
        figure.colorbar(mesh, ax=axis, pad=0.02)
        axis.set_facecolor("#BBBBBB")  # what is not finite
        axis.set_title(f"{symbol(comparison.field)}: {label}")
        axis.set_xlabel(symbol(across), style="italic")
    row[0].set_ylabel(symbol(up), style="italic")
    # cells of "nearest" at the edge reach over it by half
    for name, limit in ((across, row[0].set_xlim), (up, row[0].set_ylim)):
        points = comparison.axes[name]
        if points[0] < points[-1]:
            limit(points[0], points[-1])
    return figure


def _colours(values: Array) -> dict[str, Any]:
    """Map and limits: diverging about 0 for values that reach well to both sides of it."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    size = max(abs(low), abs(high))
    if min(-low, high) > 0.1 * size:
        return {"cmap": "RdBu_r", "vmin": -size, "vmax": size}
    return {"cmap": "viridis", "vmin": low, "vmax": high}


def _error_colours(values: Array) -> dict[str, Any]:
    largest = float(values.max(initial=0.0, where=np.isfinite(values)))
    return {"cmap": "magma_r", "vmin": 0.0, "vmax": largest or 1.0}
