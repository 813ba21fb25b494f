"""Spread of the last layer against depth and against width."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.activations import Activation, parse_activation
from pinnsig.calibration.quadrature import Array
from pinnsig.initializers import Initializer
from pinnsig.paper.base import Data, PaperFigure, Verdict, verdict
from pinnsig.paper.initializers import (
    COMPARED,
    EOC_BIAS,
    EOC_ZERO,
    PROPOSED_FIXED,
    PROPOSED_RULE,
)
from pinnsig.plots import Curve, Curves, panels_figure
from pinnsig.signal import Profile, RandomNetwork, normal_inputs, profile


def at_depths(
    activation: Activation,
    initializer: Initializer,
    depths: Sequence[int],
    width: int,
    seed: int,
    inputs: int = 64,
) -> Profile:
    """Statistics of the last layer of a network of each depth."""
    x = normal_inputs(inputs, width, seed)
    deepest = max(depths)
    if initializer.scales(activation, 1) == initializer.scales(activation, deepest):
        # one pass: a shallower network is the beginning of a deeper one
        return profile(RandomNetwork(activation, initializer, deepest, width, seed), x, depths)
    each = [
        profile(RandomNetwork(activation, initializer, depth, width, seed), x, [depth])
        for depth in depths
    ]
    return Profile(*(np.concatenate(column) for column in zip(*map(_columns, each), strict=True)))


def _columns(found: Profile) -> list[Array]:
    return list(vars(found).values())


class Entropy(PaperFigure):
    """Spread of tanh networks under four initialisations."""

    name = "entropy"
    source = "appendix B.5, first figure"
    claim = (
        "The proposed initialisation keeps the last layer spread to depth 10,000 and down to width "
        "20, while that of the edge of chaos collapses."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "depths": (10, 30, 100, 300, 1000), "widths": (20, 32, 48, 64, 100, 128),
            "width": 64, "depth": 300, "seeds": 2,
        },
        "paper": {
            "depths": (10, 30, 100, 300, 1000, 3000, 10_000),
            "widths": (20, 32, 48, 64, 100, 128, 256, 512), "width": 64, "depth": 1000, "seeds": 3,
        },
    }  # fmt: skip

    def compute(
        self, seed: int, depths: tuple[int, ...], widths: tuple[int, ...], width: int, depth: int,
        seeds: int,
    ) -> Data:  # fmt: skip
        """Spread and correlation, shape (initialisers, depths or widths), means over seeds."""
        f = parse_activation("tanh")
        by_depth, alike, by_width = [], [], []
        for initializer in COMPARED.values():
            runs = [at_depths(f, initializer, depths, width, seed + s) for s in range(seeds)]
            by_depth.append(np.mean([r.spread for r in runs], axis=0))
            alike.append(np.mean([r.correlation for r in runs], axis=0))
            by_width.append([
                np.mean([at_depths(f, initializer, [depth], w, seed + s).spread[0]
                         for s in range(seeds if w < 256 else 1)])
                for w in widths
            ])  # fmt: skip
        return {
            "names": list(COMPARED), "depths": depths, "widths": widths, "width": width,
            "depth": depth, "by_depth": np.array(by_depth), "by_width": np.array(by_width),
            "correlation": np.array(alike),
        }  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """Spread by depth and by width, and how alike different inputs are."""
        dots = {"marker": "o", "markersize": 4}

        def curves(x: str, key: str) -> list[Curve]:
            return [
                Curve(data[x], row, n, style=dots)
                for n, row in zip(data["names"], data[key], strict=True)
            ]

        width, depth = int(data["width"]), int(data["depth"])
        return panels_figure([
            Curves(curves("depths", "by_depth"), "depth $L$", "Spread", f"width {width}",
                   x_scale="log", limits=(0, 1.02)),
            Curves(curves("widths", "by_width"), "width $N$", "Spread", f"depth {depth}",
                   limits=(0, 1.02)),
            Curves(curves("depths", "correlation"), "depth $L$", "correlation of two inputs",
                   f"width {width}", x_scale="log", limits=(-0.2, 1.05)),
        ], columns=3)  # fmt: skip

    def judge(self, data: Data) -> Verdict:
        """Spread at the greatest depth and the smallest width, proposed against EOC."""
        deep = dict(zip(data["names"], data["by_depth"][:, -1], strict=True))
        narrow = dict(zip(data["names"], data["by_width"][:, 0], strict=True))
        alike = dict(zip(data["names"], data["correlation"][:, -1], strict=True))
        words = (
            f"Spread at depth {data['depths'][-1]}: "
            f"{', '.join(f'{n} {v:.2f}' for n, v in deep.items())}; at width {data['widths'][0]}: "
            f"{', '.join(f'{n} {v:.2f}' for n, v in narrow.items())}; with biases EOC stays spread "
            f"but maps all inputs to one (correlation {alike[EOC_BIAS]:.3f})"
        )
        conditions = {
            "p = 0.49 beyond EOC without bias": bool(
                deep[PROPOSED_FIXED] > deep[EOC_ZERO] + 0.2
                and narrow[PROPOSED_FIXED] > narrow[EOC_ZERO] + 0.2
            ),
            "p(L) beyond EOC without bias": bool(
                deep[PROPOSED_RULE] > deep[EOC_ZERO] + 0.1
                and narrow[PROPOSED_RULE] > narrow[EOC_ZERO] + 0.1
            ),
            "p(L) still spread (> 0.5)": bool(
                min(deep[PROPOSED_RULE], narrow[PROPOSED_RULE]) > 0.5
            ),
            "EOC with bias collapses": bool(min(deep[EOC_BIAS], narrow[EOC_BIAS]) < 0.5),
        }
        return verdict(conditions, words, {
            "deepest": deep, "narrowest": narrow, "correlation_deepest": alike,
        })  # fmt: skip
