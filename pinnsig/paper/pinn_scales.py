"""Appendix C.4: the best loss of PINNs against the activation's scale. These train networks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.paper.base import ROOT, Data, PaperFigure, Verdict, verdict
from pinnsig.sweeps import SweepDirectory, SweepTable
from pinnsig.sweeps.drawing import scale_figure
from pinnsig.sweeps.scale_protocol import PROBLEMS, run_scale_sweep, scale_verdict


class PinnScale(PaperFigure):
    """One of the paper's two sweeps of the scale; an interrupted one is finished when run again.

    Args:
        name: `burgers-scale` or `black-scholes-scale`.
    """

    trains = True
    running = ("workers", "out")
    claim = (
        "At nearly every scale the proposed initialisation reaches a lower loss than the edge of "
        "chaos."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"preset": "quick", "seeds": 3},
        "paper": {"preset": "paper", "seeds": 5},
    }

    def __init__(self, name: str) -> None:
        self.name = name
        self.source = f"appendix C.4, {PROBLEMS[name]}"

    def compute(self, seed: int, preset: str, seeds: int, out: Path = ROOT, **options: Any) -> Data:
        """Return the best losses of all runs; the runs themselves stay in a sweep directory.

        Args:
            seed: the first one.
            preset: of `run_scale_sweep`.
            seeds: how many.
            out: where figures go; the sweep is in `sweeps` there, for ROOT in `sweeps` beside it.
            options: settings that are to differ, and options of `sweep`.
        """
        sweeps = (out.parent if out == ROOT else out) / "sweeps"
        place = sweeps / f"{self.name}-{preset}-seed{seed}"
        table = run_scale_sweep(self.name, preset, range(seed, seed + seeds), out=place, **options)
        losses = [np.nan if loss is None else loss for loss in table.column("best_loss")]
        return {
            "sweep": str(table.path),
            "best_loss": losses,
            **{key: table.column(key) for key in ("act", "scale", "init", "seed")},
        }

    def draw(self, data: Data) -> Figure:
        """Best loss against scale, a line for each initialiser, median and range over seeds."""
        return scale_figure(self._table(data), "best_loss")

    def judge(self, data: Data) -> Verdict:
        """For each activation and edge of chaos: below it at more than half of the scales."""
        found = scale_verdict(self._table(data))
        counts = {
            f"{panel.activation} against {panel.against}": (len(panel.below), len(panel.scales))
            for panel in found.panels
        }
        words = "; ".join(
            f"{name}: below at {below} of {of} scales" for name, (below, of) in counts.items()
        )
        return verdict(
            {name: 2 * below > of for name, (below, of) in counts.items()},
            f"{words} ({found.seeds} seeds)",
            {name: list(map(float, pair)) for name, pair in counts.items()},
        )

    def _table(self, data: Data) -> SweepTable:
        return SweepDirectory.open(data["sweep"]).table()
