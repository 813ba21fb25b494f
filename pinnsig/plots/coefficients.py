"""What learned coefficients were over the iterations."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pinnsig.plots.history import iteration_axis, iterations, mark_phases
from pinnsig.plots.style import FAINT, PALETTE, finite, new_figure, styled, symbol

DECADES = 1.5  # from which on an axis is logarithmic


@styled
def coefficients_figure(
    records: Sequence[Mapping[str, Any]], true: Mapping[str, float | None]
) -> Figure:
    """Return a figure with a panel for each learned coefficient, its true value as a line.

    Args:
        records: lines of the metrics log, with `phase`, `iteration` and `coefficients`.
        true: true values by coefficient; None where one is not known.
    """
    x, phases = iterations(records)
    figure = new_figure(8.4, 1.0 + 2.4 * len(true), "Learned coefficients")
    panels = figure.subplots(len(true), 1, sharex=True, squeeze=False)[:, 0]
    for i, (axis, (name, exact)) in enumerate(zip(panels, true.items(), strict=True)):
        values = finite([(record.get("coefficients") or {}).get(name) for record in records])
        axis.plot(x, values, color=PALETTE[0], linewidth=1.8, label="learned")
        if exact is not None:
            axis.axhline(exact, color=PALETTE[1], linewidth=1.6, linestyle=(0, (4, 2)),
                         label="true value")  # fmt: skip
        shown = np.append(values[np.isfinite(values)], [] if exact is None else exact)
        if shown.size and shown.min() > 0 and np.log10(shown.max() / shown.min()) > DECADES:
            axis.set_yscale("log")
        axis.grid(True)
        axis.set_ylabel(symbol(name), style="italic")
        mark_phases(axis, phases, x, labels=not i)
        if not len(x):
            axis.text(0.5, 0.5, "nothing logged", ha="center", color=FAINT,
                      transform=axis.transAxes)  # fmt: skip
    iteration_axis(panels[-1], x)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
    return figure
