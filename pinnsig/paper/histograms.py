"""Histograms of the last layer by depth and by width, for tanh and its scaled relatives."""

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
    PROPOSED_FIXED,
    PROPOSED_RULE,
)
from pinnsig.plots import histograms_figure
from pinnsig.signal import RandomNetwork, histogram, normal_inputs, spread

INPUTS = 64


class _Histograms(PaperFigure):
    """What both kinds share: a grid of networks, rows by initialiser."""

    def __init__(self, activation: str) -> None:
        self.activation = activation

    def _grid(self, sizes: list[tuple[int, int]], seed: int) -> Data:
        """Histograms and statistics of the last layer for each initialiser, depth and width."""
        f = parse_activation(self.activation)
        shares, spreads, sizes_of_x = [], [], []
        edges = np.zeros(1)
        for initializer in COMPARED.values():
            for depth, width in sizes:
                network = RandomNetwork(f, initializer, depth, width, seed)
                last = network.last(normal_inputs(INPUTS, width, seed)).numpy()
                row, edges = histogram(last, f.bound, 61)
                shares.append(row)
                spreads.append(spread(last, f.bound))
                sizes_of_x.append(np.sqrt(np.mean(last**2)) / f.bound)
        shape = (len(COMPARED), len(sizes))
        return {
            "names": list(COMPARED), "sizes": sizes, "edges": edges,
            "shares": np.reshape(shares, (*shape, -1)), "spread": np.reshape(spreads, shape),
            "rms": np.reshape(sizes_of_x, shape),
        }  # fmt: skip

    def _draw(self, data: Data, columns: list[str], title: str) -> Figure:
        return histograms_figure(
            data["shares"], data["edges"], data["names"], columns, title, "activation $x^L$"
        )

    def _judge(self, data: Data, where: str, hardest: int) -> Verdict:
        """The proposed scheme against EOC in the hardest column, and in all."""
        spreads = dict(zip(data["names"], data["spread"], strict=True))
        rms = dict(zip(data["names"], data["rms"][:, hardest], strict=True))
        last = {name: float(row[hardest]) for name, row in spreads.items()}
        words = (
            f"Spread {where}: {', '.join(f'{n} {v:.2f}' for n, v in last.items())}; root mean "
            f"square over the range: {', '.join(f'{v:.2g}' for v in rms.values())}"
        )
        fixed, rule = spreads[PROPOSED_FIXED], spreads[PROPOSED_RULE]
        conditions = {
            "p = 0.49 wider than EOC without bias": bool(np.all(fixed > spreads[EOC_ZERO])),
            "p(L) wider than EOC without bias": bool(np.all(rule > spreads[EOC_ZERO])),
            "p(L) well dispersed (Spread > 0.5)": bool(np.min(rule) > 0.5),
            "EOC with bias is near 0": rms[EOC_BIAS] < 0.05,
        }
        return verdict(conditions, words, {
            "spread": {n: v.tolist() for n, v in spreads.items()}, "rms_hardest": rms,
        })  # fmt: skip


class HistogramsByDepth(_Histograms):
    """Width 64, depth up to 10,000."""

    source = "appendix B.5, last-layer histograms by depth"
    claim = (
        "The proposed initialisation keeps the last layer dispersed at depth 10,000, while the "
        "edge of chaos concentrates it near 0, at each activation scale."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"depths": (10, 100, 1000), "width": 64},
        "paper": {"depths": (10, 100, 1000, 5000, 10_000), "width": 64},
    }

    def __init__(self, activation: str) -> None:
        super().__init__(activation)
        self.name = f"histograms-depth-{activation.replace('*', '')}"

    def compute(self, seed: int, depths: tuple[int, ...], width: int) -> Data:
        """Histograms, shape (initialisers, depths, bins)."""
        return self._grid([(depth, width) for depth in depths], seed)

    def draw(self, data: Data) -> Figure:
        """A column for each depth."""
        columns = [f"$L$ = {depth}" for depth, _ in data["sizes"]]
        return self._draw(data, columns, f"{self.activation}, width {data['sizes'][0][1]}")

    def judge(self, data: Data) -> Verdict:
        """The deepest column is the hardest."""
        return self._judge(data, f"at depth {data['sizes'][-1][0]}", -1)


class HistogramsByWidth(_Histograms):
    """Depth 1000, several widths."""

    source = "section 4.3 and appendix B.5, last-layer histograms by width"
    claim = (
        "At depth 1000 the proposed initialisation keeps the last layer dispersed at every width, "
        "while the edge of chaos concentrates it near 0 in narrow networks."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"depth": 300, "widths": (20, 64, 128)},
        "paper": {"depth": 1000, "widths": (20, 32, 64, 128, 256, 512)},
    }

    def __init__(self, activation: str) -> None:
        super().__init__(activation)
        self.name = f"histograms-width-{activation.replace('*', '')}"

    def compute(self, seed: int, depth: int, widths: tuple[int, ...]) -> Data:
        """Histograms, shape (initialisers, widths, bins)."""
        return self._grid([(depth, width) for width in widths], seed)

    def draw(self, data: Data) -> Figure:
        """A column for each width."""
        columns = [f"$N$ = {width}" for _, width in data["sizes"]]
        return self._draw(data, columns, f"{self.activation}, depth {data['sizes'][0][0]}")

    def judge(self, data: Data) -> Verdict:
        """The narrowest column is the hardest."""
        return self._judge(data, f"at width {data['sizes'][0][1]}", 0)
