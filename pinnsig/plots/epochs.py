"""Losses and accuracy of a classifier by epoch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pinnsig.plots.panels import Curve, Curves, panels_figure
from pinnsig.plots.style import finite


def epochs_figure(records: Sequence[Mapping[str, Any]]) -> Figure:
    """Return training and validation loss on the left, validation accuracy on the right.

    Args:
        records: lines of the metrics log: `epoch`, `train_loss`, `validation_loss` and
            `validation_accuracy`; None leaves a gap.
    """
    epochs, *rest = (
        finite([record[name] for record in records])
        for name in ("epoch", "train_loss", "validation_loss", "validation_accuracy")
    )
    train, validation, accuracy = map(np.asarray, rest)
    dots = {"marker": "o", "markersize": 3}
    losses = [
        Curve(epochs, train, "training", style=dots),
        Curve(epochs, validation, "validation", style=dots),
    ]
    right = [Curve(epochs, 100 * accuracy, style=dots)]
    return panels_figure([
        Curves(losses, "epoch", "cross-entropy", counted=True),
        Curves(right, "epoch", "validation accuracy [%]", limits=(0, 100), counted=True),
    ])  # fmt: skip
