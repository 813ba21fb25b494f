"""The figure of a search."""

import contextlib
from collections.abc import Sequence

from pinnsig.core.errors import FigureError
from pinnsig.plots.style import save_figure
from pinnsig.plots.tuning import AxisValues, plot_tuning
from pinnsig.tuning.table import DONE, Tuned

NAME = "tune.png"


def draw(found: Tuned) -> None:
    """Draw what was found into the search's directory; nothing where too little is done."""
    done = [t for t in found.trials if t.state == DONE and t.value is not None and t.value > 0]
    if len(done) < 2:
        return
    numbers = [trial.number for trial in done]
    values = [trial.value or 0.0 for trial in done]
    axes: Sequence[AxisValues] = [
        AxisValues(axis.name, [trial.settings[axis.name] for trial in done], axis.log)
        for axis in found.spec.axes
    ]
    pruned = [trial.number for trial in found.trials if trial.state == "pruned"]
    with contextlib.suppress(FigureError):  # figures are extras
        save_figure(
            plot_tuning(numbers, values, axes, pruned, found.spec.objective), found.path / NAME
        )
