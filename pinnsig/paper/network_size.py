"""Section 5.1 and appendix C.1: accuracy against depth and against width."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.paper.base import Data, Verdict, verdict
from pinnsig.paper.experiment import (
    ACCURACY,
    ACTIVATIONS,
    METHODS,
    Experiment,
    Grid,
    bars_said,
    curves_by_method,
    leads,
    mean,
    seeds_said,
)
from pinnsig.plots import Curves, panels_figure

DATASETS = ("mnist", "fashion-mnist", "cifar10", "cifar100")


class AccuracyByDepth(Experiment):
    """Best accuracy of networks of 64 units against their depth.

    The paper names no number of runs; the paper preset takes 3.
    """

    name = "accuracy-depth"
    source = "section 5.1; appendix C.1, figures dp1 to dp4"
    claim = (
        "On four data sets, for six activations and up to 200 layers, the proposed initialisation "
        "has the best accuracy of four; on MNIST and Fashion-MNIST it hardly changes with depth."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"datasets": ("mnist-5k",), "depths": (20, 50, 100), "epochs": 5, "seeds": 1},
        "paper": {
            "datasets": DATASETS, "depths": (20, 50, 100, 150, 200), "epochs": 10, "seeds": 3,
        },
    }  # fmt: skip

    def grid(self, datasets: tuple[str, ...], depths: tuple[int, ...], epochs: int) -> Grid:
        """64 units."""
        return Grid(
            {"dataset": datasets, "act": ACTIVATIONS, "method": tuple(METHODS), "depth": depths},
            lambda dataset, act, method, depth: {
                "dataset": dataset, "act": act, "init": METHODS[method], "depth": depth,
                "width": 64, "epochs": epochs,
            },
        )  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """A panel for each data set and activation."""
        return panels_figure([
            Curves(curves_by_method(data["depth"], best, data["method"]), "depth $L$",
                   f"best {ACCURACY}", f"{dataset}, {act}", limits=(0, 100))
            for dataset, rows in zip(data["dataset"], data["best"], strict=True)
            for act, best in zip(data["act"], rows, strict=True)
        ], bars_said(data), columns=3)  # fmt: skip

    def judge(self, data: Data) -> Verdict:
        """How often the proposed one is first, and what depth costs it."""
        lead = leads(data, 2)  # (data sets, activations, depths)
        first = (lead > 0).sum(axis=(0, 1))
        of = lead.size // len(first)
        depths = [int(depth) for depth in data["depth"]]
        ends = mean(data["best"])[:, :, :, [0, -1]]  # (data sets, activations, methods, 2)
        lost = np.median(ends[..., 0] - ends[..., 1], axis=(0, 1))
        digits = [i for i, d in enumerate(data["dataset"]) if not str(d).startswith("cifar")]
        kept = ends[digits, :, 0, 0] - ends[digits, :, 0, 1]
        drops = ends[:, :, 0, 0] - ends[:, :, 0, 1]  # of the proposed one
        where = np.unravel_index(drops.argmax(), drops.shape)
        words = (
            f"first for {', '.join(map(str, first))} of {of} at {', '.join(map(str, depths))} "
            f"layers; points lost from {depths[0]} to {depths[-1]} layers, medians: "
            + ", ".join(f"{m} {v:.1f}" for m, v in zip(data["method"], lost, strict=True))
            + f"; the proposed one loses most, {drops.max():.1f}, with {data['act'][where[1]]} on "
            f"{data['dataset'][where[0]]} {seeds_said(data)}"
        )
        conditions: dict[str, bool] = {
            f"first everywhere at {depth} layers": bool(count == of)
            for depth, count in zip(depths, first, strict=True)
        }
        if digits:
            conditions["loses less than 5 points with depth on digits and clothes"] = bool(
                kept.max() < 5
            )
        return verdict(conditions, words, {
            "depths": depths, "first": first.tolist(), "of": of,
            "largest_loss_of_proposed": float(kept.max()) if digits else float("nan"),
            **{f"{d}, {a}, {m}": mean(data["best"])[i, j, k].tolist()
               for i, d in enumerate(data["dataset"])
               for j, a in enumerate(data["act"])
               for k, m in enumerate(data["method"])},
        })  # fmt: skip


class AccuracyByWidth(Experiment):
    """Best accuracy of tanh networks of 100 layers against their width.

    The paper names no number of runs; the paper preset takes 3.
    """

    name = "accuracy-width"
    source = "section 5.1, figure wd1; appendix C.2, figure wd2"
    claim = (
        "At 100 layers the proposed initialisation has the best accuracy from 10 to 512 units; "
        "Gaussian ones struggle where layers are narrow or wide."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "datasets": ("mnist-5k",), "depth": 100, "widths": (10, 48, 128), "epochs": 6,
            "seeds": 1,
        },
        "paper": {
            "datasets": DATASETS, "depth": 100, "widths": (10, 48, 128, 150, 200, 512),
            "epochs": 20, "seeds": 3,
        },
    }  # fmt: skip

    def grid(
        self, datasets: tuple[str, ...], depth: int, widths: tuple[int, ...], epochs: int
    ) -> Grid:
        """Tanh."""
        return Grid(
            {"dataset": datasets, "method": tuple(METHODS), "width": widths},
            lambda dataset, method, width: {
                "dataset": dataset,
                "init": METHODS[method],
                "depth": depth,
                "width": width,
                "epochs": epochs,
            },
        )

    def draw(self, data: Data) -> Figure:
        """A panel for each data set."""
        return panels_figure([
            Curves(curves_by_method(data["width"], best, data["method"]),
                   "units in each hidden layer", f"best {ACCURACY}", str(dataset), x_scale="log")
            for dataset, best in zip(data["dataset"], data["best"], strict=True)
        ], bars_said(data))  # fmt: skip

    def judge(self, data: Data) -> Verdict:
        """Where the proposed one is first."""
        lead = leads(data, 1)  # (data sets, widths)
        widths = [int(width) for width in data["width"]]
        first = (lead > 0).sum(axis=0)
        of = len(lead)
        words = (
            f"first on {', '.join(map(str, first))} of {of} data set{'s' if of > 1 else ''} at "
            f"{', '.join(map(str, widths))} units; mean lead over the best other one "
            f"{', '.join(f'{v:+.1f}' for v in lead.mean(axis=0))} points {seeds_said(data)}"
        )
        conditions = {
            f"first at {width} units": bool(count == of)
            for width, count in zip(widths, first, strict=True)
        }
        return verdict(conditions, words, {
            "widths": widths, "lead": lead.tolist(),
            **{f"{d}, {m}": mean(data["best"])[i, k].tolist()
               for i, d in enumerate(data["dataset"])
               for k, m in enumerate(data["method"])},
        })  # fmt: skip
