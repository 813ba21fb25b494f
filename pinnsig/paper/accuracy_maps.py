"""Section 4.3, heat maps of accuracy over depth and noise scale."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.paper.base import Data, Verdict, verdict
from pinnsig.paper.experiment import ACCURACY, Experiment, Grid, halfway, mean, named, seeds_said
from pinnsig.plots import Map, panels_figure

SCHEMES = {"D + Z": "given-noise:sigma={sigma!r}", "Gaussian": "gaussian:sigma_w={sigma!r}"}

SCALES = (1.0, 0.1, 10.0)


class AccuracyMaps(Experiment):
    """Accuracy of a tanh over depth and noise, for D + Z and for Gaussian weights.

    Noise is given in units of omega = 1/a, so that the three activations have the same axis. The
    paper names neither the grid nor the epochs; the paper preset takes 7 depths, 20 noises and 5
    epochs. The quick one has 32 units in place of 128.
    """

    name = "accuracy-heatmaps"
    source = "section 4.3, figure on heat maps of accuracy (heatmap_tanh)"
    claim = (
        "Networks with tanh, 0.1 tanh and 10 tanh train over a much broader region of depth and "
        "noise scale with D + Z than with Gaussian weights."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "datasets": ("mnist-5k",), "depths": (5, 20, 80),
            "noises": (0.05, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0), "width": 32, "epochs": 5,
            "seeds": 1,
        },
        "paper": {
            "datasets": ("mnist",), "depths": (5, 10, 20, 50, 100, 150, 200),
            "noises": tuple(round(0.1 * k, 1) for k in range(1, 21)), "width": 128, "epochs": 5,
            "seeds": 3,
        },
    }  # fmt: skip

    def grid(
        self,
        datasets: tuple[str, ...],
        depths: tuple[int, ...],
        noises: tuple[float, ...],
        width: int,
        epochs: int,
    ) -> Grid:
        """Scales of the output, schemes, depths and noises."""
        return Grid(
            {"dataset": datasets, "scale": SCALES, "scheme": tuple(SCHEMES), "depth": depths,
             "noise": noises},
            lambda dataset, scale, scheme, depth, noise: {
                "dataset": dataset, "act": "tanh", "scale": scale, "depth": depth,
                "init": SCHEMES[scheme].format(sigma=noise / scale), "width": width,
                "epochs": epochs,
            },
        )  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """D + Z above, Gaussian below, a column for each activation."""
        found = mean(data["best"])
        panels = []
        for i, dataset in enumerate(data["dataset"]):
            for k, scheme in enumerate(data["scheme"]):
                for j, scale in enumerate(data["scale"]):
                    label = r"\sigma_z" if k == 0 else r"\sigma_w"
                    panels.append(Map(
                        data["noise"], np.arange(len(data["depth"])), found[i, j, k],
                        rf"noise ${label} / \omega$", "depth $L$", f"best {ACCURACY}",
                        f"{scheme}, {named(scale, 'tanh')}, {dataset}", (0.0, 100.0),
                        y_ticks=[str(depth) for depth in data["depth"]],
                    ))  # fmt: skip
        return panels_figure(panels, columns=3)

    def judge(self, data: Data) -> Verdict:
        """The share of the map in which networks train, and the band at the greatest depth."""
        found = mean(data["best"])  # (data sets, scales, schemes, depths, noises)
        width = np.gradient(data["noise"])
        words, conditions, findings = [], {}, {}
        for i, dataset in enumerate(map(str, data["dataset"])):
            trained = found[i] >= halfway(found[i], dataset)
            share = 100 * (trained * width).sum(axis=-1).mean(axis=-1) / width.sum()
            band = (trained[:, :, -1] * width).sum(axis=-1)
            for j, scale in enumerate(data["scale"]):
                where = f"{named(scale, 'tanh')} on {dataset}"
                words.append(
                    f"{where}: {share[j, 0]:.0f} % of the map against {share[j, 1]:.0f} %, at "
                    f"{data['depth'][-1]} layers {band[j, 0]:.2f} against {band[j, 1]:.2f} in "
                    "sigma / omega"
                )
                conditions[f"half as much again, {where}"] = bool(share[j, 0] > 1.5 * share[j, 1])
                conditions[f"broader at the greatest depth, {where}"] = bool(
                    band[j, 0] > band[j, 1]
                )
                findings[f"{where}, share"] = share[j].tolist()
                findings[f"{where}, band"] = band[j].tolist()
        text = f"D + Z against Gaussian weights, {'; '.join(words)}"
        return verdict(conditions, f"{text} {seeds_said(data)}", findings)
