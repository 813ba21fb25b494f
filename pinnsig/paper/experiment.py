"""What the classification experiments share: a grid of runs, what became of each, and tables.

Each experiment is a grid: every combination of its axes is trained from several seeds. What is
trained is kept under runs/classify/NAME, so that an interrupted experiment goes on when it is
called again, with whatever preset.

By EOC the paper does not say which point of the edge of chaos it takes; here it is sigma_b = 0.2.
Where omega is 1, sigma_b = 0 is Xavier's scheme in square layers.
"""

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from pinnsig.classify import Outcome, resolve, study
from pinnsig.paper.base import Data, PaperFigure
from pinnsig.plots import Curve

KEPT = Path("runs/classify")

PROPOSED, EOC = "proposed", "EOC"

METHODS = {PROPOSED: "calibrated", EOC: "eoc", "Xavier": "xavier", "He": "he"}
"""The four initialisers that are compared, as text; proposed has the rule p(L)."""

WITH_ZERO = {**METHODS, f"{EOC}, sigma_b = 0": "eoc:sigma_b=0"}
"""With the strongest Gaussian scheme away from omega = 1, where sigma_w = omega is no other one."""

ACTIVATIONS = ("tanh", "erf", "arctan", "gd", "softsign2", "softsign1+softsign2")
"""Those of the experiments with omega near 1."""

ACCURACY = "validation accuracy [%]"

Floats = NDArray[np.float64]

Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Grid:
    """What is trained.

    Attributes:
        axes: values by name; every combination is trained.
        settings: makes the settings of a classifier from one value of each axis.
    """

    axes: Mapping[str, Sequence[Any]]
    settings: Callable[..., dict[str, Any]]


class Experiment(PaperFigure):
    """An experiment that trains a grid of classifiers."""

    trains = True
    running: ClassVar[tuple[str, ...]] = ("data", "workers", "tell")

    grid: Callable[..., Grid]
    """grid(**settings): what is trained, for the settings of a preset but `seeds`."""

    def compute(
        self,
        seed: int,
        seeds: int,
        data: str | None = None,
        workers: int | None = None,
        tell: Tell | None = None,
        **settings: Any,
    ) -> Data:
        """Train whatever has not been trained yet; return accuracies in percent.

        Args:
            seed: the first one.
            seeds: how many.
            data: where image sets are, see `load_images`.
            workers: processes; by default one for each core, or one on a GPU.
            tell: called with how many runs are done, of how many.
            settings: of the preset.

        Returns:
            The axes by name (values that are no numbers as text), `accuracy` of shape (*axes,
            seeds, epochs), NaN where there is none, and its largest over the epochs, `best`.

        Raises:
            PinnsigError: a setting or an image set cannot be used; nothing was trained.
        """
        grid = self.grid(**settings)
        members = [
            resolve({**grid.settings(*values), "seed": seed + s})
            for values in itertools.product(*grid.axes.values())
            for s in range(seeds)
        ]
        workers = workers or (1 if torch.cuda.is_available() else os.cpu_count() or 1)
        found = study(members, KEPT / self.name, data=data, workers=workers, tell=tell)
        shape = [len(axis) for axis in grid.axes.values()]
        accuracy = 100 * _stacked(found).reshape(*shape, seeds, -1)
        return {
            **{name: np.array(_labels(axis)) for name, axis in grid.axes.items()},
            "accuracy": accuracy,
            "best": np.max(accuracy, axis=-1, initial=-np.inf, where=~np.isnan(accuracy)),
            "failed": [outcome["failed"] for outcome in found if "failed" in outcome] or [""],
        }


def _stacked(found: Sequence[Outcome]) -> Floats:
    """Accuracies of shape (runs, epochs); runs that could not start have 0."""
    curves = [outcome.get("accuracy") or [0.0] for outcome in found]
    stacked = np.full((len(curves), max(map(len, curves))), np.nan)
    for row, curve in zip(stacked, curves, strict=True):
        row[: len(curve)] = curve
    return stacked


def _labels(axis: Sequence[Any]) -> Sequence[Any]:
    plain = all(isinstance(value, int | float) for value in axis)
    return axis if plain else [value if isinstance(value, str) else str(value) for value in axis]


# --- of what was computed -----------------------------------------------------------------------


def mean(best: Any) -> Floats:
    """Mean over the seeds, the last axis."""
    return np.mean(best, axis=-1)


def deviation(best: Any) -> Floats:
    """Standard deviation over the seeds, the last axis; 0 for one."""
    best = np.asarray(best)
    return np.std(best, axis=-1, ddof=1) if best.shape[-1] > 1 else np.zeros(best.shape[:-1])


def named(scale: float, f: str) -> str:
    """Return a f(x) for people."""
    return f if scale == 1 else f"{scale:g} {f}"


def chance(dataset: str) -> float:
    """Accuracy of guessing, in percent."""
    return 1.0 if dataset == "cifar100" else 10.0


def halfway(values: Any, dataset: str) -> float:
    """The accuracy from which a network counts as trained: half-way from chance to the best."""
    return (chance(dataset) + float(np.max(values))) / 2


def leads(data: Data, axis: int) -> Floats:
    """Mean accuracy of the first method less that of the best other one.

    Args:
        data: what `Experiment.compute` gave.
        axis: which one the methods are; it is missing in what is returned.
    """
    found = np.moveaxis(mean(data["best"]), axis, 0)
    return found[0] - found[1:].max(axis=0)


def seeds_said(data: Data) -> str:
    """The seeds in words, and runs that could not start."""
    count = data["best"].shape[-1]
    failed = [reason for reason in data["failed"] if reason]
    more = f"; {len(failed)} runs could not start: {failed[0]}" if failed else ""
    return f"({count} seed{'s' if count > 1 else ''}{more})"


def bars_said(data: Data) -> str:
    """What error bars are, as a title; nothing for one seed."""
    seeds = data["best"].shape[-1]
    return f"mean and standard deviation over {seeds} seeds" if seeds > 1 else ""


def curves_by_method(x: Any, best: Any, names: Sequence[str], joined: bool = True) -> list[Curve]:
    """A line of means for each method, with standard deviations where there are several seeds.

    Args:
        x: shape (n,).
        best: shape (methods, n, seeds).
        names: of the methods.
        joined: whether points are joined by lines.
    """
    best = np.asarray(best)
    several = best.shape[-1] > 1
    style = {"marker": "o", "markersize": 4, **({} if joined else {"linestyle": ""})}
    return [
        Curve(x, mean(row), name, deviation(row) if several else None, style)
        for name, row in zip(names, best, strict=True)
    ]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as text."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
