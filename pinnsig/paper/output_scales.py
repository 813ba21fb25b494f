"""Section 5.2 and appendix C.4, tables 1 to 6: activations a f(x) for a over eleven decades."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.activations import parse_activation
from pinnsig.paper.base import Data, Verdict, verdict
from pinnsig.paper.experiment import (
    ACCURACY,
    EOC,
    METHODS,
    PROPOSED,
    Experiment,
    Floats,
    Grid,
    halfway,
    markdown,
    mean,
    named,
    seeds_said,
)
from pinnsig.plots import Curve, Curves, panels_figure

COMPARED = {
    PROPOSED: METHODS[PROPOSED],
    f"{EOC}, sigma_b = 0.2": "eoc",
    f"{EOC}, sigma_b = 0": "eoc:sigma_b=0",
}
"""Both points of the edge of chaos, for the paper does not say which it takes."""

FACTORS = (1e-5, 1e-4, 1e-3, 1e-2)
"""Learning rates over omega that each initialiser may choose from."""


class OutputScales(Experiment):
    """Accuracy by epoch of each initialiser at its best learning rate.

    The captions have the rate 1e-4/a for all, the text a grid search for each initialiser; this
    is the search, over 1e-5 to 1e-2 omega, by the mean best accuracy. The paper names no number of
    epochs or runs; the paper preset takes 10 and 3. The quick one has 64 units in place of 128.

    Args:
        f: the activation.
        tables: their numbers in the paper.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "datasets": ("mnist-5k",), "scales": (1e-2, 1.0, 1e3, 1e9), "width": 64, "epochs": 5,
            "seeds": 1,
        },
        "paper": {
            "datasets": ("mnist", "fashion-mnist"),
            "scales": tuple(10.0**k for k in range(-2, 10)), "width": 128, "epochs": 10,
            "seeds": 3,
        },
    }  # fmt: skip

    def __init__(self, f: str, tables: str) -> None:
        self.f = f
        self.name = f"output-scales-{f}"
        self.source = f"section 5.2; appendix C.4, tables {tables}"
        self.claim = (
            f"With a*{f} the proposed initialisation trains at every output scale a from 0.01 to "
            "1e9; the edge of chaos, at the best rate of its own, fails at large ones."
        )

    def grid(
        self, datasets: tuple[str, ...], scales: tuple[float, ...], width: int, epochs: int
    ) -> Grid:
        """50 layers."""
        omega = parse_activation(self.f).omega
        return Grid(
            {"dataset": datasets, "scale": scales, "method": tuple(COMPARED), "factor": FACTORS},
            lambda dataset, scale, method, factor: {
                "dataset": dataset, "act": self.f, "scale": scale, "init": COMPARED[method],
                "lr": factor * omega / scale, "depth": 50, "width": width, "epochs": epochs,
            },
        )  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """A panel for each scale and data set, as the rows of the paper's tables."""
        accuracy = np.nanmean(data["accuracy"], axis=4)  # over the seeds
        _, rates = _tuned(data)
        panels = []
        for j, scale in enumerate(data["scale"]):
            for i, dataset in enumerate(data["dataset"]):
                curves = []
                for k, name in enumerate(data["method"]):
                    curve = accuracy[i, j, k, rates[i, j, k]]
                    curves.append(
                        Curve(np.arange(1, len(curve) + 1), curve, str(name),
                              style={"marker": "o", "markersize": 3})
                    )  # fmt: skip
                panels.append(Curves(
                    curves, "epoch", ACCURACY, f"{dataset}, {named(scale, self.f)}",
                    limits=(0, 100), counted=True,
                ))  # fmt: skip
        return panels_figure(panels)

    def table(self, data: Data) -> str:
        """Best accuracy by scale and initialiser, with the rate over omega that gave it."""
        best, rates = _tuned(data)
        head = ["a", *(f"{d}: {m}" for d in data["dataset"] for m in data["method"])]
        rows = [
            [f"{scale:g}", *(f"{best[i, j, k]:.1f} (at {data['factor'][rates[i, j, k]]:g} omega)"
                             for i in range(len(data["dataset"]))
                             for k in range(len(data["method"])))]
            for j, scale in enumerate(data["scale"])
        ]  # fmt: skip
        return markdown(head, rows)

    def judge(self, data: Data) -> Verdict:
        """At which scales each of them trains."""
        best, _ = _tuned(data)  # (data sets, scales, methods)
        scales, names = data["scale"], [str(name) for name in data["method"]]
        words, conditions, findings = [], {}, {}
        for rows, dataset in zip(best, map(str, data["dataset"]), strict=True):
            trained = rows >= halfway(rows, dataset)
            for k, name in enumerate(names):
                listed = ", ".join(f"{v:.1f}" for v in rows[:, k])
                words.append(f"{dataset}, {name}: {listed}")
                findings[f"{dataset}, {name}"] = rows[:, k].tolist()
                large = trained[scales >= 1e3, k]
                if k == 0:
                    conditions[f"{name} trains at every scale on {dataset}"] = bool(
                        trained[:, k].all()
                    )
                else:
                    conditions[f"{name} fails at a large scale on {dataset}"] = not large.all()
        text = f"best accuracy [%] at a = {', '.join(f'{s:g}' for s in scales)}: {'; '.join(words)}"
        findings["scales"] = [float(scale) for scale in scales]
        return verdict(conditions, f"{text} {seeds_said(data)}", findings)


def _tuned(data: Data) -> tuple[Floats, Any]:
    """Best mean accuracy over the learning rates, and which rate has it."""
    found = mean(data["best"])
    return found.max(axis=3), found.argmax(axis=3)
