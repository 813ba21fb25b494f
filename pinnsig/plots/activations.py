"""How activations spread through the layers of a network."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from pinnsig.plots.style import finite, new_figure, styled

BINS = 121  # odd, so that one bin is centred at 0


@styled
def activations_figure(layers: Sequence[NDArray[Any]], bound: float, title: str) -> Figure:
    """The distribution of x^l at each hidden layer l, with the median and the 5 to 95 % band.

    Args:
        layers: the activations of each hidden layer in order, of any shape.
        bound: sup |f|, which sets the vertical axis; if it is not finite, the largest value does.
    """
    values = [kept[np.isfinite(kept)] for kept in (finite(layer).ravel() for layer in layers)]
    if not (np.isfinite(bound) and bound > 0):
        bound = max((float(np.abs(v).max()) for v in values if v.size), default=0.0) or 1.0
    edges = np.linspace(-bound, bound, BINS + 1)
    depth = np.arange(1, len(values) + 1)
    # rounding may carry a saturated activation past the bound
    shares = np.array(
        [np.histogram(v.clip(-bound, bound), edges)[0] / max(v.size, 1) for v in values]
    ).reshape(-1, BINS)
    low, median, high = (
        np.array([np.percentile(v, (5, 50, 95)) if v.size else [np.nan] * 3 for v in values])
        .reshape(-1, 3)
        .T
    )

    figure = new_figure(8.4, 4.4, title)
    axis = figure.subplots()
    top = float(shares.max(initial=0.0)) or 1.0
    mesh = axis.pcolormesh(
        np.arange(len(values) + 1) + 0.5,
        edges,
        np.ma.masked_equal(shares, 0).T,
        cmap="Blues",
        norm=PowerNorm(0.5, 0.0, top),
        rasterized=True,
    )
    figure.colorbar(mesh, ax=axis, label="share of activations per bin", pad=0.02)
    outline = [Stroke(linewidth=3.4, foreground="white"), Normal()]
    style: dict[str, Any] = {"color": "#D55E00", "path_effects": outline}
    mark = "o" if len(values) == 1 else ""
    axis.plot(depth, median, marker=mark, label="median", linewidth=1.9, **style)
    for edge, label in ((low, "5 % and 95 %"), (high, None)):
        axis.plot(depth, edge, marker=mark, label=label, linewidth=1.3, linestyle="--", **style)
    axis.set_xlim(0.5, max(len(values), 1) + 0.5)
    axis.set_ylim(-bound, bound)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axis.set_xlabel("hidden layer $l$")
    axis.set_ylabel("activation $x^l$")
    figure.legend(loc="outside lower right", ncols=2)
    return figure
