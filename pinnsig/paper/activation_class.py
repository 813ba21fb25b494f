"""Figure 1: members of the odd-sigmoid class."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from matplotlib.figure import Figure

from pinnsig.activations import check_membership, parse_activation, parse_function
from pinnsig.paper.base import Data, PaperFigure, Verdict, verdict
from pinnsig.plots import Curve, Curves, panels_figure

MEMBERS = (
    "tanh", "erf", "gd", "2/pi*arctan(x)", "softsign1", "softsign2", "softsign3",
    "softsign1 + softsign3",
)  # fmt: skip


class ActivationClass(PaperFigure):
    """f and f' of the activations of appendix B.1."""

    name = "activation-class"
    source = "figure 1; definition 4.1; appendix B.1"
    claim = (
        "The named activations and their positive sums are smooth, odd, bounded, strictly rising "
        "and flatten monotonically away from 0."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"points": 401},
        "paper": {"points": 2001},
    }

    def compute(self, seed: int, points: int) -> Data:  # noqa: ARG002
        """f and f' on [-5, 5], and how many of the five conditions each meets."""
        x = torch.linspace(-5, 5, points, dtype=torch.float64)
        values = [torch.stack(parse_activation(f).derivatives(x, 1)).numpy() for f in MEMBERS]
        met = [
            sum(c.holds for c in check_membership(parse_function(f)).conditions) for f in MEMBERS
        ]
        return {"x": x.numpy(), "names": list(MEMBERS), "values": np.array(values), "met": met}

    def draw(self, data: Data) -> Figure:
        """f on the left, f' on the right."""
        named = list(zip(data["names"], data["values"], strict=True))
        panels = [
            Curves([Curve(data["x"], values[order], name) for name, values in named], "$x$", label)
            for order, label in ((0, "$f(x)$"), (1, "$f'(x)$"))
        ]
        return panels_figure(panels)

    def judge(self, data: Data) -> Verdict:
        """All five conditions, for each."""
        members = sum(m == 5 for m in data["met"])
        return verdict(
            {n: m == 5 for n, m in zip(data["names"], data["met"], strict=True)},
            f"{members} of {len(data['met'])} activations meet all five conditions",
            {"members": members, "activations": len(data["met"])},
        )
