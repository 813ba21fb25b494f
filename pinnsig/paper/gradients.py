"""Layerwise gradient norms of a fresh network of 1000 layers."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.activations import parse_activation
from pinnsig.paper.base import Data, PaperFigure, Verdict, verdict
from pinnsig.paper.initializers import (
    COMPARED,
    EOC_BIAS,
    EOC_ZERO,
    GAUSSIAN,
    PROPOSED_FIXED,
    PROPOSED_RULE,
)
from pinnsig.plots import Curve, Curves, panels_figure
from pinnsig.signal import RandomNetwork, gradient_norms, normal_inputs

INITIALIZERS = {**COMPARED, "He": GAUSSIAN["He"]}  # Xavier is EOC without bias, for tanh
KEPT = 10.0  # a factor within which a gradient counts as preserved


class GradientNorms(PaperFigure):
    """|delta^l| for the loss 0.5 |y|^2."""

    name = "gradient-norms"
    source = "section 4.3, figure on layerwise gradient norms"
    claim = (
        "At depth 1000 the proposed initialisation preserves the gradient norm at every width, "
        "while Gaussian ones lose it in networks of moderate width."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"depth": 300, "widths": (32, 64, 128), "seeds": 3},
        "paper": {"depth": 1000, "widths": (32, 64, 128, 256), "seeds": 5},
    }

    def compute(self, seed: int, depth: int, widths: tuple[int, ...], seeds: int) -> Data:
        """|delta^l| / |delta^L|, shape (initialisers, widths, seeds, L), medians over inputs."""
        f = parse_activation("tanh")
        norms = np.empty((len(INITIALIZERS), len(widths), seeds, depth))
        for i, initializer in enumerate(INITIALIZERS.values()):
            for j, width in enumerate(widths):
                for s in range(seeds):
                    network = RandomNetwork(f, initializer, depth, width, seed + s)
                    found = gradient_norms(network, normal_inputs(16, width, seed + s))
                    norms[i, j, s] = (found / found[-1]).median(dim=1).values.numpy()
        return {"names": list(INITIALIZERS), "widths": widths, "norms": norms}

    def draw(self, data: Data) -> Figure:
        """A panel for each width; the median over seeds."""
        norms = np.median(data["norms"], axis=2)
        layers = np.arange(1, norms.shape[-1] + 1)
        return panels_figure([
            Curves(
                [Curve(layers, norms[i, j], n) for i, n in enumerate(data["names"])],
                "hidden layer $l$", r"$|\delta^l|\;/\;|\delta^L|$", f"width {width}", y_scale="log",
                levels=(1.0,),
            )
            for j, width in enumerate(data["widths"])
        ], share_y=True)  # fmt: skip

    def judge(self, data: Data) -> Verdict:
        """The ratio of first to last layer by initialiser and width, and its spread over seeds."""
        first = data["norms"][..., 0]
        median = dict(zip(data["names"], np.median(first, axis=2), strict=True))
        away = {
            name: float(np.max(np.abs(np.log10(row)))) for name, row in median.items()
        }  # of all widths
        words = "first over last layer: " + "; ".join(
            f"{n} {', '.join(f'{v:.1e}' for v in row)}" for n, row in median.items()
        ) + f" at width {', '.join(str(w) for w in data['widths'])}"  # fmt: skip
        limit = float(np.log10(KEPT))
        conditions = {
            "p(L) keeps it within a factor 10": away[PROPOSED_RULE] < limit,
            "p = 0.49 keeps it within a factor 10": away[PROPOSED_FIXED] < limit,
            "EOC without bias loses it": away[EOC_ZERO] > limit,
            "EOC with bias loses it": away[EOC_BIAS] > limit,
        }
        return verdict(conditions, words, {
            "widths": list(data["widths"]), "median": {n: v.tolist() for n, v in median.items()},
            "largest_decades": away,
        })  # fmt: skip
