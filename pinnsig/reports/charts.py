"""Charts for plotly.js as plain data, in the look of the package's figures."""

import html
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import to_hex

from pinnsig.plots.style import DARK, FAINT, PALETTE, symbol
from pinnsig.reports.numbers import short

Chart = dict[str, Any]
STOPS = 17  # of a map of colours
HEIGHT, LOW = 340, 260
GRID = "#E4E4E4"
DASHES = ("solid", "dash", "dot")


def label(name: str) -> str:
    """Return a name as plotly.js writes it: nothing in it is markup."""
    return html.escape(symbol(name))


def line(
    x: Any, y: Any, name: str, colour: str = PALETTE[0], dash: str = "solid", **more: Any
) -> dict[str, Any]:
    """Return a line; what is not finite is a gap."""
    style = {"color": colour, "dash": dash, "width": 2}
    return {"type": "scatter", "mode": "lines", "x": _values(x), "y": _values(y),
            "name": label(name), "line": style, **more}  # fmt: skip


def dots(x: Any, y: Any, name: str, **marker: Any) -> dict[str, Any]:
    """Return points."""
    style = {"size": 4, "color": DARK, **marker}
    return {"type": "scatter", "mode": "markers", "x": _values(x), "y": _values(y),
            "name": label(name), "marker": style, "hoverinfo": "x+y+name"}  # fmt: skip


def band(x: Any, low: Any, high: Any, name: str, colour: str) -> list[dict[str, Any]]:
    """Return an area between two lines."""
    plain: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": _values(x),
                             "line": {"width": 0}, "hoverinfo": "skip"}  # fmt: skip
    return [
        {**plain, "y": _values(low), "showlegend": False},
        {**plain, "y": _values(high), "name": label(name), "fill": "tonexty",
         "fillcolor": f"{colour}30"},
    ]  # fmt: skip


def heat(
    x: Any, y: Any, names: Sequence[str], value: str, colours: Mapping[str, Any], z: Any = None
) -> dict[str, Any]:
    """Return a map of values over two coordinates.

    Args:
        x: of the columns.
        y: of the rows.
        names: of both coordinates.
        value: what the colours stand for.
        colours: `cmap`, `vmin` and `vmax` as matplotlib has them.
        z: values, shape (rows, columns); None where a slider gives them.
    """
    across, up = map(label, names)
    trace = {
        "type": "heatmap", "x": _values(x), "y": _values(y), "hoverongaps": False,
        "colorscale": colour_scale(str(colours["cmap"])),
        "zmin": short(colours["vmin"]), "zmax": short(colours["vmax"]),
        "hovertemplate": f"{across} = %{{x}}<br>{up} = %{{y}}<br>{label(value)} = %{{z}}"
                         "<extra></extra>",
        "colorbar": {"thickness": 12, "len": 1, "outlinewidth": 0, "exponentformat": "e",
                     "nticks": 6},
    }  # fmt: skip
    return trace if z is None else {**trace, "z": short(z)}


@cache
def colour_scale(name: str) -> list[list[Any]]:
    """Return a map of colours of matplotlib as plotly.js has it."""
    colours = matplotlib.colormaps[name]
    return [[round(float(s), 4), to_hex(colours(float(s)))] for s in np.linspace(0, 1, STOPS)]


def chart(
    data: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    *,
    height: int = HEIGHT,
    log: bool = False,
    to_scale: bool = False,
    layout: Mapping[str, Any] | None = None,
    **more: Any,
) -> Chart:
    """Return a chart.

    Args:
        data: its traces.
        x: what lies to the right.
        y: what lies upwards.
        height: in pixels.
        log: whether the vertical axis is logarithmic.
        to_scale: whether both axes have one unit.
        layout: more of plotly's layout.
        more: `frames` and `cursor`, see `Page`.
    """
    axis = {"gridcolor": GRID, "zeroline": False, "automargin": True, "exponentformat": "e"}
    across = {**axis, "tickangle": 0, "nticks": 6, "title": {"text": label(x), "standoff": 6}}
    up = {**axis, "title": {"text": label(y), "standoff": 6}}
    if log:
        up |= {"type": "log", "dtick": 1 if 1.5 < _decades(data) < 9 else None}
    if to_scale:
        up |= {"scaleanchor": "x", "constrain": "domain"}
        across |= {"constrain": "domain"}
    given = dict(layout or {})
    return {
        "data": list(data),
        "layout": {
            "height": height, "margin": {"l": 54, "r": 12, "t": 14, "b": 44},
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": DARK},
            "modebar": {"bgcolor": "rgba(255,255,255,0.8)", "color": FAINT, "activecolor": DARK},
            "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0,
                       "traceorder": "normal"},
            "xaxis": {**across, **given.pop("xaxis", {})},
            "yaxis": {**up, **given.pop("yaxis", {})},
            **given,
        },
        **more,
    }  # fmt: skip


def _decades(data: Sequence[Mapping[str, Any]]) -> float:
    known = [v for trace in data for v in _flat(trace.get("y")) if v is not None and v > 0]
    return float(np.log10(max(known) / min(known))) if known else 0.0


def _flat(values: Any) -> list[Any]:
    return values if isinstance(values, list) else []


def _values(values: Any) -> Any:
    """Numbers in few digits; words as they are."""
    if isinstance(values, list) and any(isinstance(value, str) for value in values):
        return values
    return short(values)


def several(lines: Mapping[str, tuple[Any, Any]], **more: Any) -> list[dict[str, Any]]:
    """Return lines told apart by colour, then by dashes."""
    count = len(PALETTE)
    return [
        line(x, y, name, PALETTE[i % count], DASHES[i // count % len(DASHES)], **more)
        for i, (name, (x, y)) in enumerate(lines.items())
    ]
