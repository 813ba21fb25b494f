"""The network at its start: whether signal and gradient come through."""

from typing import Any

import torch

from pinnsig.core.errors import ReportError
from pinnsig.networks import Network, main_inputs, main_network
from pinnsig.plots.style import PALETTE
from pinnsig.problem import INTERIOR, Sites
from pinnsig.reports.charts import LOW, Chart, chart, line
from pinnsig.reports.numbers import short
from pinnsig.reports.page import Page, note, row
from pinnsig.run.building import RunComponents
from pinnsig.run.networks import is_drawn
from pinnsig.signal import Health, network_health

POINTS = 64


def start_health(parts: RunComponents, sites: dict[str, Sites]) -> Health:
    """Return what the first weights did to signal and gradient at some collocation points.

    Raises:
        ReportError: the network is the user's own, whose layers are not known.
    """
    model = parts.model
    network = main_network(model.network)
    if not isinstance(network, Network) or not is_drawn(model.network):
        raise ReportError("the network is the user's own, whose layers are not known")
    points = torch.as_tensor(sites[INTERIOR].points[:POINTS]).to(next(model.parameters()))
    with torch.no_grad():
        inputs = main_inputs(model.network, model.inputs(points))
    return network_health(network, parts.initializer, inputs)


def start(page: Page, health: Health) -> str:
    """Return the charts of the first weights, and the verdict on them."""
    every = range(1, len(health.chis) + 1)
    shares, edges = health.shares
    middles = 0.5 * (edges[1:] + edges[:-1]) / edges[-1]
    bars = {"type": "bar", "x": short(middles), "y": short(shares), "marker": {"color": PALETTE[0]}}
    drawn = {
        "spread of activations": _layers(
            health.profile.layer, health.profile.spread, "spread", yaxis={"range": [0, 1.02]}
        ),
        "gradient norm, over the last layer's": _layers(every, health.gradients, "norm", log=True),
        "gradient amplification of a layer, chi": _layers(every, health.chis, "chi"),
        "activations of the last layer": chart(
            [bars], "activation, over its bound", "share", height=LOW, layout={"bargap": 0}
        ),
    }
    verdict = f"{health.initializer}: {health.grade}; {health.verdict}"
    charts = (page.chart(own, title) for title, own in drawn.items())
    return note(verdict) + row(*charts, few=True)


def _layers(layers: Any, values: Any, name: str, log: bool = False, **layout: Any) -> Chart:
    own = line(list(layers), values, name, mode="lines+markers")
    layout["showlegend"] = False
    return chart([own], "hidden layer", name, height=LOW, log=log, layout=layout)
