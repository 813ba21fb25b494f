"""Prediction, reference and error over the domain."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from pinnsig.geometry import TIME_NAMES
from pinnsig.model.evaluation import Comparison
from pinnsig.plots.style import (
    DARK,
    DATA,
    ERROR,
    PREDICTION,
    REFERENCE,
    finite,
    is_to_scale,
    log_axis,
    new_figure,
    styled,
    symbol,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Measured = tuple[Array, Array]
NEAR = 0.02  # share of the range of data within which they belong to a plane
ABSOLUTE_ERROR = "absolute error"


@styled
def solution_figure(
    comparison: Comparison,
    title: str = "",
    measured: Measured | None = None,
    band: tuple[Array, Array] | None = None,
) -> Figure:
    """Return the prediction beside the reference and the absolute error, if there is a reference.

    With two coordinates maps with time, if there is one, to the right; with one coordinate curves;
    with more, maps over the first two at the middle of the others, as the title then says. Maps of
    space are to scale.

    Args:
        comparison: the field to draw.
        title: above all.
        measured: points, shape (N, dimensions), and values there, shape (N,).
        band: the ends of a 95 % interval at every grid point, for curves.
    """
    if len(comparison.axes) == 1:
        return _curves(comparison, title, measured, band)
    return _maps(comparison, title, measured)


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


def _curves(
    comparison: Comparison,
    title: str,
    measured: Measured | None,
    band: tuple[Array, Array] | None,
) -> Figure:
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
    shown = comparison.prediction, comparison.reference
    if band is not None:
        known = [finite(values) for values in shown if values is not None]
        low, high = (finite(end) for end in band)
        top.fill_between(x, low, high, color=PREDICTION["color"], alpha=0.2, linewidth=0,
                         label="95 % interval")  # fmt: skip
        _hold(top, np.concatenate(known), np.concatenate([low, high]))
    draw_curves(top, x, *shown)
    if measured is not None:
        points, values = measured
        top.plot(points[:, 0], values, "o", label="data", **DATA)
    top.set_ylabel(symbol(comparison.field), style="italic")
    handles = top.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=len(handles[0]))
    bottom.set_xlabel(symbol(name), style="italic")
    return figure


def _hold(axis: Axes, values: Array, ends: Array) -> None:
    """Keep curves in sight where a band goes far beyond them."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 1.5 * max(high - low, 0.1 * max(abs(low), abs(high)))
    if room > 0:
        low, high = (max(low - room, float(np.nanmin([*ends, low]))),
                     min(high + room, float(np.nanmax([*ends, high]))))  # fmt: skip
        space = 0.05 * (high - low)
        axis.set_ylim(low - space, high + space)


def _maps(comparison: Comparison, title: str, measured: Measured | None) -> Figure:
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

    outside = None if comparison.outside is None else comparison.outside[cut]
    panels = {"prediction": comparison.prediction[cut]}
    if comparison.reference is not None:
        panels["reference"] = comparison.reference[cut]
    colours = field_colours(np.stack(list(panels.values())))
    if comparison.error is not None:
        panels[ABSOLUTE_ERROR] = comparison.error[cut]

    wide, high = (float(np.ptp(comparison.axes[name])) for name in (across, up))
    to_scale = is_to_scale(wide, high, (across, up))
    height = 3.6
    if to_scale:  # axes as high as their share of the width makes them
        height = min(max(1.0 + 2.9 * high / wide, 2.4), 7.0) + 0.3 * bool(title)
    height += 0.4 * (measured is not None)
    figure = new_figure(1.1 + 3.9 * len(panels), height, title, compressed=to_scale)
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
            **(error_colours(values) if label == ABSOLUTE_ERROR else colours),
        )
        figure.colorbar(mesh, ax=axis, pad=0.02)
        axis.set_facecolor("white" if outside is not None else "#BBBBBB")  # what is not finite
        if outside is not None:
            bad = np.isnan(values) & ~(outside.T if across == names[0] else outside)
            _draw_shape(axis, comparison, (across, up), outside, bool(bad.any()))
        axis.set_title(f"{symbol(comparison.field)}: {label}")
        axis.set_xlabel(symbol(across), style="italic")
        if to_scale:
            axis.set_aspect("equal")
    if measured is not None:
        _draw_data(row[0], comparison, measured, (across, up), colours)
    row[0].set_ylabel(symbol(up), style="italic")
    # cells of "nearest" at the edge reach over it by half
    for name, limit in ((across, row[0].set_xlim), (up, row[0].set_ylim)):
        points = comparison.axes[name]
        if points[0] < points[-1]:
            limit(points[0], points[-1])
    return figure


def _draw_data(
    axis: Axes,
    comparison: Comparison,
    measured: Measured,
    plane: tuple[str, str],
    colours: dict[str, Any],
) -> None:
    """Measured values near the plane of a map as dots in the colours of the map."""
    (points, values), names = measured, list(comparison.axes)
    near = np.ones(len(points), dtype=bool)
    for i, name in enumerate(names):
        if name not in plane:
            held = comparison.axes[name]
            spread = float(np.ptp(points[:, i])) or 1.0
            near &= np.abs(points[:, i] - held[middle(held)]) <= NEAR * spread
    if not near.any():
        return
    x, y = (points[near, names.index(name)] for name in plane)
    size = float(np.clip(1500 / near.sum(), 6, 30))
    style: dict[str, Any] = {"clip_on": False, "zorder": 3}
    axis.scatter(x, y, s=2.2 * size, c="white", linewidths=0, **style)  # seen on dark and bright
    axis.scatter(x, y, s=size, c=values[near], edgecolors=DARK, linewidths=0.8, **colours, **style)
    axis.figure.legend(handles=[Line2D([], [], linestyle="none", marker="o", label="data", **DATA)],
                       loc="outside lower center")  # fmt: skip


def _draw_shape(
    axis: Axes, comparison: Comparison, plane: tuple[str, str], outside: Mask, bad: bool
) -> None:
    """The outline of a domain that is no box; grey within it where values are not finite."""
    names = list(comparison.axes)
    shape = (outside.T if plane[0] == names[0] else outside).astype(float)
    x, y = (comparison.axes[name] for name in plane)
    if min(shape.shape) > 1 and 0 < shape.mean() < 1:
        axis.contour(x, y, shape, levels=[0.5], colors=DARK, linewidths=0.8)
        if bad:
            axis.contourf(x, y, shape, levels=[-0.5, 0.5], colors=["#BBBBBB"], zorder=0)


def field_colours(values: Array) -> dict[str, Any]:
    """Map and limits: diverging about 0 for values that reach well to both sides of it."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    size = max(abs(low), abs(high))
    if min(-low, high) > 0.1 * size:
        return {"cmap": "RdBu_r", "vmin": -size, "vmax": size}
    return {"cmap": "viridis", "vmin": low, "vmax": high}


def error_colours(values: Array) -> dict[str, Any]:
    """Map and limits: from 0 to the largest."""
    largest = float(values.max(initial=0.0, where=np.isfinite(values)))
    return {"cmap": "magma_r", "vmin": 0.0, "vmax": largest or 1.0}
