"""The range of activations at great depth, for very small and very large scales."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.activations import parse_activation
from pinnsig.paper.base import Data, PaperFigure, Verdict, verdict
from pinnsig.paper.entropy import at_depths
from pinnsig.paper.initializers import (
    COMPARED,
    EOC_BIAS,
    EOC_ZERO,
    PROPOSED_FIXED,
    PROPOSED_RULE,
)
from pinnsig.plots import Curve, Curves, panels_figure

FLOOR = 1e-8  # smaller values are drawn there


class ActivationRange(PaperFigure):
    """max |x^L| of alpha tanh against depth."""

    name = "activation-range"
    source = "appendix C.4, figure on the activation range"
    claim = (
        "Under the proposed initialisation alpha tanh keeps its last layer spread over "
        "[-alpha, alpha] to depth 100,000, for alpha = 1e-4 and 1e3; under the edge of chaos it "
        "shrinks to 0."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"depths": (50, 500, 2000), "scales": (1e-4, 1e3), "width": 64},
        "paper": {
            "depths": (50, 500, 5000, 50_000, 100_000), "scales": (1e-4, 1e3), "width": 64,
        },
    }  # fmt: skip

    def compute(
        self, seed: int, depths: tuple[int, ...], scales: tuple[float, ...], width: int
    ) -> Data:
        """max |x^L| / alpha and the correlation, shape (scales, initialisers, depths)."""
        reach, alike = [], []
        for scale in scales:
            f = scale * parse_activation("tanh")
            for initializer in COMPARED.values():
                found = at_depths(f, initializer, depths, width, seed, inputs=32)
                reach.append(np.maximum(-found.low, found.high) / scale)
                alike.append(found.correlation)
        shape = (len(scales), len(COMPARED), len(depths))
        return {
            "names": list(COMPARED), "depths": depths, "scales": scales,
            "reach": np.reshape(reach, shape), "correlation": np.reshape(alike, shape),
        }  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """A panel for each scale."""
        dots = {"marker": "o", "markersize": 4}
        return panels_figure([
            Curves(
                [Curve(data["depths"], np.maximum(r, FLOOR), n, style=dots)
                 for n, r in zip(data["names"], reach, strict=True)],
                "depth $L$", rf"max $|x^L|\;/\;\alpha$ (drawn from {FLOOR:g})",
                rf"$\alpha$ = {scale:g}", x_scale="log", y_scale="log", levels=(1.0,),
                limits=(FLOOR / 2, 2.0),
            )
            for scale, reach in zip(data["scales"], data["reach"], strict=True)
        ])  # fmt: skip

    def judge(self, data: Data) -> Verdict:
        """How much of the range is reached at the greatest depth, in the worse of the scales."""
        worst = dict(zip(data["names"], data["reach"][:, :, -1].min(axis=0), strict=True))
        words = (
            f"share of the range reached at depth {data['depths'][-1]}, worse scale: "
            f"{', '.join(f'{n} {v:.2g}' for n, v in worst.items())}"
        )
        conditions = {
            "p = 0.49 fills a quarter or more": bool(worst[PROPOSED_FIXED] > 0.25),
            "p(L) fills a quarter or more": bool(worst[PROPOSED_RULE] > 0.25),
            "EOC without bias shrinks below 1 %": bool(worst[EOC_ZERO] < 0.01),
            "EOC with bias shrinks below 1 %": bool(worst[EOC_BIAS] < 0.01),
        }
        return verdict(conditions, words, {
            "depths": list(data["depths"]),
            **{f"alpha = {s:g}, {n}": row.tolist()
               for s, rows in zip(data["scales"], data["reach"], strict=True)
               for n, row in zip(data["names"], rows, strict=True)},
            "correlation_deepest": dict(zip(data["names"], data["correlation"][0, :, -1].tolist(),
                                            strict=True)),
        })  # fmt: skip
