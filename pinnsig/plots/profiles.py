"""How the loss rises around learned coefficients."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from pinnsig.plots.style import DARK, PALETTE, finite, new_figure, styled, symbol

BEYOND = 3.0  # times the highest that is foretold: losses above are left out

Curves = tuple[Sequence[float], Sequence[float], Sequence[float]]
"""Values of a coefficient, the lowest loss at each, and what the matrix foretells."""


@styled
def profiles_figure(
    profiles: Mapping[str, Curves],
    values: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
    true: Mapping[str, float | None],
) -> Figure:
    """Return a figure with the loss above its minimum around each learned coefficient.

    Losses that are far above what the matrix foretells, as where a few steps did not suffice, are
    left out, and counted.

    Args:
        profiles: by coefficient.
        values: what was learned.
        intervals: 95 % confidence intervals.
        true: true values; None where one is not known.
    """
    width = max(1.0 + 3.6 * len(profiles), 6.4)
    figure = new_figure(width, 4.0, "Loss around the learned coefficients")
    row = figure.subplots(1, len(profiles), squeeze=False)[0]
    for axis, (name, (x, losses, quadratic)) in zip(row, profiles.items(), strict=True):
        bottom = min(quadratic)
        rise, foretold = finite(losses) - bottom, finite(quadratic) - bottom
        curve = np.linspace(min(x), max(x), 101)
        beyond = ~(rise <= BEYOND * foretold.max())
        if beyond.any():
            axis.set_title(f"{beyond.sum()} of {len(x)} losses lie above", fontsize=9.5)
            rise[beyond] = np.nan
        axis.axvspan(*intervals[name], color=PALETTE[0], alpha=0.15, linewidth=0,
                     label="95 % interval")  # fmt: skip
        smooth = np.poly1d(np.polyfit(np.asarray(x) - values[name], foretold, min(4, len(x) - 1)))
        axis.plot(curve, smooth(curve - values[name]), color=PALETTE[0], linewidth=1.6,
                  label="quadratic")  # fmt: skip
        axis.plot(x, rise, "o", color=DARK, markersize=5, markerfacecolor="white",
                  label="minimised again")  # fmt: skip
        axis.axvline(values[name], color=PALETTE[0], linewidth=1.2, linestyle=(0, (1, 1.5)),
                     label="learned")  # fmt: skip
        exact = true.get(name)
        if exact is not None and np.isfinite(exact):
            near = abs(exact - values[name]) <= 2 * (max(x) - min(x))
            if near:
                axis.axvline(exact, color=PALETTE[1], linewidth=1.6, linestyle=(0, (4, 2)),
                             label="true value")  # fmt: skip
        axis.set_xlabel(symbol(name), style="italic")
        axis.locator_params(axis="x", nbins=4)
        axis.grid(True)
    row[0].set_ylabel("loss above its minimum")
    seen: dict[str, Artist] = {}
    for axis in row:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            seen.setdefault(label, handle)
    rows = 1 if len(profiles) > 1 else 2
    columns = -(-len(seen) // rows)
    figure.legend(list(seen.values()), list(seen), loc="outside lower center", ncols=columns)
    return figure
