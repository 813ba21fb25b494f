"""Appendix B.7: accuracy against the target negative rate p and against sigma_z."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.calibration import sigma_star, target_negative_rate
from pinnsig.paper.base import Data, Verdict, verdict
from pinnsig.paper.experiment import (
    ACCURACY,
    Experiment,
    Grid,
    bars_said,
    deviation,
    mean,
    seeds_said,
)
from pinnsig.plots import Curve, Curves, panels_figure

DEEP, SHALLOW = "50 layers", "3 layers"

DOTS = {"marker": "o", "markersize": 4, "color": "#0072B2", "linestyle": "-"}


class AccuracyByTargetRate(Experiment):
    """Accuracy of tanh networks after a few hundred steps against p.

    The paper names no values of p; these are 11 from 0 to 0.49. Accuracy is the best of the
    epochs. The quick preset has 256 units in place of 512 and 200 steps in place of 600.
    """

    name = "accuracy-target-rate"
    source = "appendix B.7, figures fsweep and fsweep1"
    claim = (
        "At 50 layers accuracy is best for p near 0.01, at 3 layers for p near 0.4, as the rule "
        "p(L) says."
    )
    rates = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.45, 0.49)
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "datasets": ("mnist-5k",), "rates": rates, "iterations": 200, "wide": 256, "seeds": 2,
        },
        "paper": {
            "datasets": ("mnist", "fashion-mnist"), "rates": rates, "iterations": 600,
            "wide": 512, "seeds": 5,
        },
    }  # fmt: skip

    def grid(
        self, datasets: tuple[str, ...], rates: tuple[float, ...], iterations: int, wide: int
    ) -> Grid:
        """50 x 64 and 3 x `wide`."""
        shapes = {DEEP: (50, 64), SHALLOW: (3, wide)}
        return Grid(
            {"dataset": datasets, "shape": tuple(shapes), "p": rates},
            lambda dataset, shape, p: {
                "dataset": dataset, "depth": shapes[shape][0], "width": shapes[shape][1], "p": p,
                "iterations": iterations,
            },
        )  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """A panel for each shape and data set, with p(L) marked."""
        ticks = np.arange(len(data["p"]))
        names = [f"{p:g}".lstrip("0") or "0" for p in data["p"]]
        panels = []
        for i, dataset in enumerate(data["dataset"]):
            for j, shape in enumerate(data["shape"]):
                best = data["best"][i, j]
                rule = target_negative_rate(int(str(shape).split()[0]))
                panels.append(Curves(
                    [Curve(names, mean(best), "", deviation(best), style=DOTS)],
                    "target negative rate $p$ (dotted: the rule $p(L)$)", f"best {ACCURACY}",
                    f"{dataset}, {shape}", marks=(float(np.interp(rule, data["p"], ticks)),),
                ))  # fmt: skip
        return panels_figure(panels, bars_said(data))

    def judge(self, data: Data) -> Verdict:
        """The best p of each shape; whether p = 0.01 and 0.4 are as good, within their spread."""
        found = mean(data["best"])
        p = np.array(data["p"])
        words, conditions, findings = [], {}, {"p": p.tolist()}
        for j, (shape, wanted) in enumerate(((DEEP, 0.01), (SHALLOW, 0.4))):
            for i, dataset in enumerate(data["dataset"]):
                row, spread = found[i, j], deviation(data["best"][i, j])
                top, at = int(row.argmax()), int(np.abs(p - wanted).argmin())
                within = row[top] - row[at] <= max(spread[top], spread[at])
                other = int(np.abs(p - (0.4 if wanted < 0.1 else 0.01)).argmin())
                where = f"{dataset}, {shape}"
                words.append(
                    f"{where}: best {row[top]:.1f} % at p = {p[top]:g}, {row[at]:.1f} at "
                    f"{wanted:g}, {row[other]:.1f} at {p[other]:g}"
                )
                conditions[f"p = {wanted:g} within the spread of the best on {where}"] = bool(
                    within
                )
                conditions[f"p = {wanted:g} better than {p[other]:g} on {where}"] = bool(
                    row[at] > row[other]
                )
                findings[where] = row.tolist()
                findings[f"{where}, standard deviation"] = spread.tolist()
        return verdict(conditions, f"{'; '.join(words)} {seeds_said(data)}", findings)


class AccuracyByNoise(Experiment):
    """Accuracy of tanh networks by epoch for several sigma_z.

    Beside the paper's values stands sigma* of the rule p(L), 0.258 at 50 layers, which is none of
    them. The paper names no number of epochs; here there are 10.
    """

    name = "accuracy-noise"
    source = "appendix B.7, figures fsweep50 and fsweep100"
    claim = (
        "At 50 and 100 layers accuracy is best for sigma_z near sigma* of the calibration (of 0, "
        "0.04, 0.08 and of 0, 0.03, 0.06 the middle one), and falls off away from it."
    )
    noises: ClassVar[Mapping[int, tuple[float, ...]]] = {
        50: (0.0, 0.04, 0.08),
        100: (0.0, 0.03, 0.06),
    }
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"datasets": ("mnist-5k",), "epochs": 10, "seeds": 3},
        "paper": {"datasets": ("mnist", "fashion-mnist", "cifar10"), "epochs": 10, "seeds": 5},
    }

    def grid(self, datasets: tuple[str, ...], epochs: int) -> Grid:
        """64 units; the fourth noise is the rule's."""

        def settings(dataset: str, depth: int, place: int) -> dict[str, Any]:
            noise = _noises(depth)[place]
            return {
                "dataset": dataset, "depth": depth, "width": 64, "epochs": epochs,
                "init": f"given-noise:sigma={noise!r}",
            }  # fmt: skip

        return Grid({"dataset": datasets, "depth": (50, 100), "place": (0, 1, 2, 3)}, settings)

    def draw(self, data: Data) -> Figure:
        """A panel for each data set and depth."""
        panels = []
        for i, dataset in enumerate(data["dataset"]):
            for j, depth in enumerate(data["depth"]):
                curves = []
                for k, noise in enumerate(_noises(int(depth))):
                    accuracy = data["accuracy"][i, j, k]  # (seeds, epochs)
                    rule = ", the rule's" if k == 3 else ""
                    curves.append(Curve(
                        np.arange(1, accuracy.shape[1] + 1), mean(accuracy.T),
                        rf"$\sigma_z$ = {noise:.3g}{rule}", deviation(accuracy.T),
                    ))  # fmt: skip
                panels.append(
                    Curves(curves, "epoch", ACCURACY, f"{dataset}, {depth} layers", counted=True)
                )
        return panels_figure(panels, bars_said(data))

    def judge(self, data: Data) -> Verdict:
        """Of the paper's three values the middle one first; the rule's as good as the best."""
        words, conditions, findings = [], {}, {}
        for i, dataset in enumerate(data["dataset"]):
            for j, depth in enumerate(data["depth"]):
                row, spread = mean(data["best"][i, j]), deviation(data["best"][i, j])
                noises, top = _noises(int(depth)), int(row.argmax())
                where = f"{dataset}, {depth} layers"
                listed = ", ".join(
                    f"{a:.1f} ± {s:.1f} at {n:.3g}"
                    for a, s, n in zip(row, spread, noises, strict=True)
                )
                words.append(f"{where}: {listed}")
                conditions[f"the middle of the paper's three first on {where}"] = (
                    int(row[:3].argmax()) == 1
                )
                conditions[f"sigma* within the spread of the best on {where}"] = bool(
                    row[top] - row[3] <= max(spread[top], spread[3])
                )
                findings[where] = row.tolist()
                findings[f"{where}, sigma_z"] = list(noises)
        return verdict(conditions, f"{'; '.join(words)} {seeds_said(data)}", findings)


def _noises(depth: int) -> tuple[float, ...]:
    """The paper's values, and that of the rule p(L)."""
    rule = round(float(sigma_star(target_negative_rate(depth), depth)), 6)
    return (*AccuracyByNoise.noises[depth], rule)
