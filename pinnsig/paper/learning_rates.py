"""Appendix C.3: which learning rates train f(ax), for scales a over six decades."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.activations import parse_activation
from pinnsig.paper.base import Data, Verdict, verdict
from pinnsig.paper.experiment import (
    ACCURACY,
    WITH_ZERO,
    Experiment,
    Grid,
    curves_by_method,
    halfway,
    mean,
    seeds_said,
)
from pinnsig.plots import Curves, panels_figure

SMALL = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)
LARGE = (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)


class LearningRates(Experiment):
    """Accuracy after 200 steps against the learning rate.

    The paper names no rates: these reach from 1e-9 to 10, two in a decade. The quick preset has 64
    units in place of 512 and 100 steps. A rate is learnable if its accuracy reaches half-way from
    chance to the best of the panel.

    Attributes:
        act: f(ax) as text with {a}.
        shown: f(ax) for people.
    """

    act: ClassVar[str]
    shown: ClassVar[str]
    claim = (
        "The proposed initialisation has a window of learning rates that train at every scale, "
        "mostly a wider one than Gaussian ones have."
    )

    def grid(
        self,
        datasets: Mapping[str, Mapping[str, Any]],
        width: int,
        iterations: int,
        decades: tuple[int, int],
        rates: int,
    ) -> Grid:
        """20 layers; every scale of every data set."""
        panels = {
            f"{name}, a = {scale:g}": (name, scale)
            for name, own in datasets.items() for scale in own["scales"]
        }  # fmt: skip

        def settings(panel: str, method: str, rate: float) -> dict[str, Any]:
            dataset, scale = panels[panel]
            return {
                "dataset": dataset, "act": self.act.format(a=scale), "init": WITH_ZERO[method],
                "lr": rate, "samples": datasets[dataset]["samples"], "depth": 20, "width": width,
                "iterations": iterations,
            }  # fmt: skip

        return Grid({
            "panel": tuple(panels), "method": tuple(WITH_ZERO),
            "rate": [float(f"{rate:.6g}") for rate in np.logspace(*decades, rates)],
        }, settings)  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """A panel for each scale, with the band [1e-5, 1e-3] omega marked."""
        panels = []
        for panel, last in zip(data["panel"], _last(data), strict=True):
            omega = parse_activation(self.act.format(a=float(str(panel).split()[-1]))).omega
            panels.append(Curves(
                curves_by_method(data["rate"], last, data["method"]),
                r"learning rate $\eta$ (dotted: $10^{-5}\omega$, $10^{-3}\omega$)", ACCURACY,
                f"{self.shown}, {panel}", x_scale="log", marks=(1e-5 * omega, 1e-3 * omega),
                limits=(0, 100),
            ))  # fmt: skip
        return panels_figure(panels, columns=3)

    def judge(self, data: Data) -> Verdict:
        """Decades of learnable rates by panel and initialiser."""
        last = mean(_last(data))  # (panels, methods, rates)
        names = [str(name) for name in data["method"]]
        step = float(np.diff(np.log10(data["rate"]))[0])
        windows = np.array([
            (rows >= halfway(rows, str(panel).partition(",")[0])).sum(axis=1) * step
            for panel, rows in zip(data["panel"], last, strict=True)
        ])  # fmt: skip
        ours, others = windows[:, 0], windows[:, 1:].max(axis=1)
        wider, level = int((ours > others).sum()), int((ours == others).sum())
        words = "decades of learnable rates: " + "; ".join(
            f"{panel}: " + ", ".join(f"{n} {w:.1f}" for n, w in zip(names, row, strict=True))
            for panel, row in zip(data["panel"], windows, strict=True)
        )
        each = {
            f"wider than {name} at more than half of the scales": _more(ours, windows[:, k])
            for k, name in enumerate(names) if k
        }  # fmt: skip
        conditions = {"a window at every scale": bool((ours > 0).all()), **each}
        return verdict(conditions, f"{words} {seeds_said(data)}", {
            "wider_than_all_others": wider, "as_wide": level, "panels": len(ours),
            **{str(panel): row.tolist()
               for panel, row in zip(data["panel"], windows, strict=True)},
        })  # fmt: skip


def _more(ours: Any, theirs: Any) -> bool:
    return bool(2 * int((ours > theirs).sum()) > len(ours))


def _last(data: Data) -> Any:
    """Accuracy at the end, not the best of the way: (panels, methods, rates, seeds)."""
    accuracy = data["accuracy"]
    ended = np.isnan(accuracy).argmax(axis=-1)  # 0 where no epoch is missing
    return np.take_along_axis(accuracy, (ended - 1)[..., None], axis=-1)[..., 0]


def _presets(samples: tuple[int, int]) -> dict[str, dict[str, Any]]:
    """Presets for so many images of MNIST and of Fashion-MNIST."""
    return {
        "quick": {
            "datasets": {"mnist-5k": {"samples": 1000, "scales": (1e-2, 1.0, 1e2)}},
            "width": 64, "iterations": 100, "decades": (-9, 1), "rates": 21, "seeds": 1,
        },
        "paper": {
            "datasets": {
                "mnist": {"samples": samples[0], "scales": SMALL},
                "fashion-mnist": {"samples": samples[1], "scales": LARGE},
            },
            "width": 512, "iterations": 200, "decades": (-9, 1), "rates": 21, "seeds": 1,
        },
    }  # fmt: skip


class ArctanRates(LearningRates):
    """(2/pi) arctan(ax), from 10,000 images."""

    name = "learning-rates-arctan"
    source = "section 5.2; appendix C.3, figures lrst1 and lrst4"
    act = "2/pi*arctan({a}x)"
    shown = r"$\frac{2}{\pi}\arctan(ax)$"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = _presets((10_000, 10_000))


class TanhRates(LearningRates):
    """tanh(ax), from 1,000 images of MNIST and 10,000 of Fashion-MNIST."""

    name = "learning-rates-tanh"
    source = "section 5.2; appendix C.3, figures lrst2 and lrst3"
    act = "tanh({a}x)"
    shown = r"$\tanh(ax)$"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = _presets((1_000, 10_000))
