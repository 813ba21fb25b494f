"""What initialisations do to signal and gradient, side by side."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pinnsig.plots.panels import line_style
from pinnsig.plots.style import FAINT, finite, log_axis, new_figure, styled
from pinnsig.signal import Health


@styled
def health_figure(reports: Sequence[Health], title: str) -> Figure:
    """Four panels with a line for each report.

    The last layer's histogram, the spread and the gradient norms over the layers, and the measured
    chi: of `ffnn` the mean squared singular value of a layer's Jacobian, of other networks the gain
    of the squared gradients. Activations are over sup|f|, or over their largest size if a network's
    states go beyond.
    """
    figure = new_figure(9.6, 6.8, title)
    (last, spread), (gradient, chi) = figure.subplots(2, 2)
    for i, report in enumerate(reports):
        style = {"linewidth": 1.7, **line_style(i)}
        shares, edges = report.shares
        last.stairs(shares, edges / edges[-1], label=report.initializer, **style)
        spread.plot(report.profile.layer, report.profile.spread, **style)
        layers = np.arange(1, len(report.gradients) + 1)
        gradient.plot(layers, finite(report.gradients), **style)
        chi.plot(layers, report.chis, **{**style, "linewidth": 1.0})
    last.set_xlabel("activation $x^L$, over its bound")
    last.set_ylabel("share of units per bin")
    last.set_yscale("log")
    last.set_title("last layer")
    spread.set_ylabel("Spread (normalised entropy)")
    spread.set_ylim(0, 1)
    spread.set_title("spread of activations")
    log_axis(gradient, [report.gradients for report in reports])
    gradient.set_ylabel(r"$|\delta^l|\;/\;|\delta^L|$")
    gradient.set_title("gradient norm, from the last layer back")
    chi.set_ylabel(r"$\chi_l$ (mean squared gain)")
    chi.set_title("gradient amplification of a layer")
    chi.axhline(1.0, color=FAINT, linewidth=1.0, linestyle=":")
    for axis in (spread, gradient, chi):
        axis.set_xlabel("hidden layer $l$")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(True)
    figure.legend(*last.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
