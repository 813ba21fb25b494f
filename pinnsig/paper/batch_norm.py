"""Section 5.2 and appendix C.2: deep networks with and without batch normalisation."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.paper.base import Data, Verdict, verdict
from pinnsig.paper.experiment import (
    ACCURACY,
    METHODS,
    PROPOSED,
    WITH_ZERO,
    Experiment,
    Grid,
    chance,
    mean,
    seeds_said,
)
from pinnsig.plots import Curve, Curves, panels_figure

NORMED = " + BN"

TRAINED = 3.0
"""Times the accuracy of guessing, from which a network counts as trained."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
"""Of the initialisers, with and without batch normalisation."""

Coefficients = tuple[float, float, float, float]

FIRST, SECOND, THIRD = (10, 1000, 10, 1), (100, 1000, 10, 1000), (1000, 100, 0.1, 0.01)
"""The paper's (a, b, c, d)."""


def composite(coefficients: Sequence[float]) -> str:
    """Return tanh(ax) + erf(bx) + x/(1+|cx|) + gd(dx) as text; x/(1+|cx|) is softsign1(cx)/c."""
    a, b, c, d = coefficients
    return f"tanh({a}x) + erf({b}x) + softsign1({c}x)/{c} + gd({d}x)"


def strategies(normed: bool) -> dict[str, tuple[str, bool]]:
    """Return every initialiser, and whether it goes with batch normalisation, by name.

    Args:
        normed: whether the proposed one stands there with batch normalisation too, as with tanh;
            otherwise the edge of chaos without biases does, as an eighth.
    """
    plain = {name: (init, False) for name, init in METHODS.items()}
    with_norm = {f"{name}{NORMED}": (init, True) for name, init in METHODS.items()}
    if not normed:
        del with_norm[f"{PROPOSED}{NORMED}"]
        plain = {name: (init, False) for name, init in WITH_ZERO.items()}
    return {**plain, **with_norm}


class BatchNormFree(Experiment):
    """Accuracy by epoch of the proposed initialisation and others with batch normalisation.

    Where the paper names no number of epochs, here there are 10; it names no number of runs, the
    paper preset takes 3. Without batch normalisation the learning rate is 1e-4 omega, and with it
    too.
    """

    def grid(
        self,
        datasets: Mapping[str, Sequence[Coefficients]],
        depth: int,
        width: int,
        epochs: int,
        normed: bool,
    ) -> Grid:
        """Data sets and activations in pairs."""
        known = strategies(normed)
        pairs = [(name, each) for name, listed in datasets.items() for each in listed or [()]]

        def settings(panel: str, strategy: str) -> dict[str, Any]:
            dataset, coefficients = panels[panel]
            init, norm = known[strategy]
            return {
                "dataset": dataset, "act": composite(coefficients) if coefficients else "tanh",
                "init": init, "batch_norm": norm, "depth": depth, "width": width,
                "epochs": epochs,
            }  # fmt: skip

        panels = {f"{name}, {each if each else 'tanh'}": (name, each) for name, each in pairs}
        return Grid({"panel": tuple(panels), "strategy": tuple(known)}, settings)

    def draw(self, data: Data) -> Figure:
        """A panel for each data set and activation; medians over the seeds."""
        panels = []
        for panel, rows in zip(data["panel"], data["accuracy"], strict=True):
            curves = []
            for name, accuracy in zip(data["strategy"], rows, strict=True):
                colour = COLOURS[list(WITH_ZERO).index(str(name).removesuffix(NORMED))]
                dash = "--" if str(name).endswith(NORMED) else "-"
                curves.append(
                    Curve(np.arange(1, accuracy.shape[1] + 1), np.median(accuracy, axis=0),
                          str(name), style={"color": colour, "linestyle": dash, "marker": "o",
                                            "markersize": 3})
                )  # fmt: skip
            title = str(panel).replace(", (", ", $(a, b, c, d)$ = (")
            panels.append(Curves(curves, "epoch", ACCURACY, title, limits=(0, 100), counted=True))
        return panels_figure(panels)

    def judge(self, data: Data) -> Verdict:
        """Whether the proposed one is first, without and with batch normalisation of the rest."""
        words, conditions, findings = [], {}, {}
        names = [str(name) for name in data["strategy"]]
        normed = np.array([name.endswith(NORMED) for name in names])
        others = np.array([not name.startswith(PROPOSED) for name in names])
        for panel, best in zip(data["panel"], mean(data["best"]), strict=True):
            dataset = str(panel).partition(",")[0]
            ours, plain = best[names.index(PROPOSED)], best[others & ~normed].max()
            with_norm = best[others & normed].max()
            listed = ", ".join(f"{n} {v:.1f}" for n, v in zip(names, best, strict=True))
            words.append(f"{panel}: {listed}")
            conditions[f"trains on {panel}"] = bool(ours >= TRAINED * chance(dataset))
            conditions[f"beats the others without BN on {panel}"] = bool(ours > plain)
            conditions[f"at least level with the others with BN on {panel}"] = bool(
                ours >= with_norm
            )
            findings[str(panel)] = best.tolist()
        return verdict(
            conditions, f"best accuracy [%] on {'; '.join(words)} {seeds_said(data)}", findings
        )


class Composite(BatchNormFree):
    """100 layers with the composite activation, at three sets of coefficients."""

    name = "batch-norm-free"
    source = "section 5.2; appendix C.2, figure batch_norm"
    claim = (
        "Networks of 100 layers with tanh(ax) + erf(bx) + x/(1+|cx|) + gd(dx) train better from "
        "the proposed initialisation without batch normalisation than from Gaussian ones with or "
        "without."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "datasets": {"mnist-5k": (FIRST, SECOND, THIRD)}, "depth": 100, "width": 64,
            "epochs": 4, "normed": False, "seeds": 1,
        },
        "paper": {
            "datasets": {"mnist": (FIRST,), "fashion-mnist": (SECOND,), "cifar10": (THIRD,)},
            "depth": 100, "width": 64, "epochs": 10, "normed": False, "seeds": 3,
        },
    }  # fmt: skip


class Tanh(BatchNormFree):
    """100 layers with tanh; the proposed initialisation stands there with batch norm too."""

    name = "batch-norm-tanh"
    source = "appendix C.2, figure tanh_batch"
    claim = (
        "With tanh, 100 layers of 64, the proposed initialisation without batch normalisation "
        "matches or beats the others with it."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "datasets": {"mnist-5k": ()}, "depth": 100, "width": 64, "epochs": 6,
            "normed": True, "seeds": 1,
        },
        "paper": {
            "datasets": {"mnist": (), "fashion-mnist": (), "cifar10": ()}, "depth": 100,
            "width": 64, "epochs": 10, "normed": True, "seeds": 3,
        },
    }  # fmt: skip


class Deepest(BatchNormFree):
    """800 layers of 32 with the composite activation."""

    name = "batch-norm-800-layers"
    source = "appendix C.2, figure 800layers"
    claim = (
        "At 800 layers of 32 the proposed initialisation trains without batch normalisation, "
        "while Gaussian ones, with or without it, fail or end lower."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "datasets": {"mnist-5k": (SECOND,)}, "depth": 800, "width": 32, "epochs": 8,
            "normed": False, "seeds": 1,
        },
        "paper": {
            "datasets": {"fashion-mnist": (SECOND,)}, "depth": 800, "width": 32, "epochs": 10,
            "normed": False, "seeds": 3,
        },
    }  # fmt: skip
