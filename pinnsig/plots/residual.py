"""Where a residual is large."""

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pinnsig.geometry import TIME_NAMES
from pinnsig.plots.style import ERROR, finite, is_to_scale, log_axis, new_figure, styled, symbol

DECADES = 6  # of |r|, at most, below the largest
BAD = "#56B4E9"  # not in the map of colours


@styled
def residual_figure(
    names: Sequence[str], points: NDArray[np.float64], sizes: NDArray[np.float64]
) -> Figure:
    """Return a figure of |r| at points, on a logarithmic scale, the largest drawn last.

    One coordinate lies along the horizontal axis; of more, the first two span the plane, with time,
    if it is one of them, to the right, and the others are not shown.

    Args:
        names: of the coordinates.
        points: shape (N, dimensions).
        sizes: |r| at the points, shape (N,); what is not finite is marked by crosses.
    """
    sizes = finite(sizes)
    good = np.isfinite(sizes)
    order = np.flatnonzero(good)[np.argsort(sizes[good], kind="stable")]
    title = "|residual| at points outside of training"
    if len(names) == 1:
        figure = new_figure(6.4, 3.6, title)
        axis = figure.subplots()
        order = np.argsort(points[:, 0], kind="stable")
        style = {**ERROR, "linestyle": "none", "marker": ".", "markersize": 3}
        axis.plot(points[order, 0], sizes[order], **style)
        log_axis(axis, [sizes])
        axis.set_xlabel(symbol(names[0]), style="italic")
        axis.set_ylabel("|r|")
        axis.margins(x=0)
        return figure
    across, up = (1, 0) if names[1] in TIME_NAMES else (0, 1)
    width, height = (float(np.ptp(points[:, i])) if len(points) else 0.0 for i in (across, up))
    to_scale = is_to_scale(width, height, (names[across], names[up]))
    figure = new_figure(6.4, 4.2, title, compressed=to_scale)
    axis = figure.subplots()
    if to_scale:
        axis.set_aspect("equal")
    largest = float(sizes[good].max(initial=0.0)) or 1.0
    least = float(sizes[good & (sizes > 0)].min(initial=largest))
    low = max(least, largest * 10.0**-DECADES)
    colours = LogNorm(low if low < largest else largest / 10, largest)
    dots = axis.scatter(
        points[order, across],
        points[order, up],
        c=np.clip(sizes[order], low, None),
        s=min(40.0, max(1.0, 4e4 / max(len(order), 1))),
        norm=colours,
        cmap="magma_r",
        linewidths=0,
        rasterized=True,
    )
    if not good.all():
        lost = points[~good]
        axis.plot(lost[:, across], lost[:, up], "x", color=BAD, label="not finite")
        axis.legend(loc="upper right")
    figure.colorbar(dots, ax=axis, pad=0.02, label="|r|")
    axis.set_xlabel(symbol(names[across]), style="italic")
    axis.set_ylabel(symbol(names[up]), style="italic")
    axis.margins(0)
    axis.set_facecolor("#E8E8E8")  # the palest points show on it
    return figure
