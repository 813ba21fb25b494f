"""Where the residual is large, and where it was trained."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import ReportError
from pinnsig.model import Model
from pinnsig.objective import Objective
from pinnsig.plots.residual import DECADES
from pinnsig.plots.style import DARK, ERROR, PALETTE, is_to_scale, symbol
from pinnsig.problem import INTERIOR, Problem, Sites
from pinnsig.reports.charts import Chart, chart, dots, heat, line
from pinnsig.reports.numbers import short
from pinnsig.reports.page import Page, tabs
from pinnsig.reports.solution import MAP, View, arranged, views
from pinnsig.run.judging import residuals_by_term

Array = NDArray[np.float64]
COLLOCATION, CONDITION = 1500, 300  # points drawn, at most; on slices together, more
ON_SLICES = 4
MARKS = ("square", "diamond", "triangle-up", "cross", "triangle-down", "star")
LOG = "log10 |r|"


def residual_map(page: Page, model: Model, sites: Mapping[str, Sites]) -> str:
    """Return maps of |r|, over all equations, with the first points of the training.

    Args:
        page: what is added to.
        model: in float64.
        sites: by term.

    Raises:
        ReportError: see `views`; no point of the grid lies in the domain.
    """
    panels = {}
    for name, view in views(model.problem, MAP).items():
        sizes = residual_sizes(model, view)
        more = 1 if view.slider in (None, *view.plane) else ON_SLICES
        points = {
            "collocation" if term == INTERIOR else term: _thinned(
                own.points, more * (COLLOCATION if term == INTERIOR else CONDITION)
            )
            for term, own in sites.items()
        }
        panels[name] = _drawn(page, model.problem, view, sizes, points)
    return tabs(panels)


def residual_sizes(model: Model, view: View) -> Array:
    """Return the 2-norm over the equations on a grid, NaN outside the domain."""
    mesh = np.meshgrid(*view.axes.values(), indexing="ij")
    places = np.stack([own.ravel() for own in mesh], axis=1)
    inside = model.problem.domain.contains(places)
    if not inside.any():
        raise ReportError("no point of the grid lies in the domain")
    objective = Objective(model, "auto", {INTERIOR: Sites(places[inside])}, checked=True)
    squares = np.sum([part.values**2 for part in residuals_by_term(objective)], axis=0)
    sizes = np.full(len(places), np.nan)
    sizes[inside] = np.sqrt(squares)
    return sizes.reshape(mesh[0].shape)


def _thinned(points: Array, most: int) -> Array:
    """Every so manieth point: they are in no order."""
    return points[:: -(-len(points) // most) or 1]


def _drawn(
    page: Page, problem: Problem, view: View, sizes: Array, points: Mapping[str, Array]
) -> str:
    names = list(problem.domain.names)
    if len(view.plane) == 1:
        return page.chart(_curve(view, sizes, points))
    across, up = view.plane
    x, y = view.axes[across], view.axes[up]
    known = sizes[np.isfinite(sizes) & (sizes > 0)]
    high = float(np.log10(known.max())) if known.size else 0.0
    low = max(float(np.log10(known.min())), high - DECADES) if known.size else -1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(np.isnan(sizes), np.nan, np.maximum(np.log10(sizes), low))
    moving = None if view.slider in view.plane else view.slider
    frames = arranged(logs, view)
    limits = {"cmap": "magma_r", "vmin": low, "vmax": high if high > low else low + 1}
    trace = heat(x, y, view.plane, LOG, limits, frames[0])
    trace["colorbar"] |= {"title": {"text": LOG, "side": "right"}}
    data, moved = [trace], {}
    for i, (term, own) in enumerate(points.items()):
        columns = dict(zip(names, own.T, strict=True))
        shown = dots(columns[across], columns[up], term, **_mark(i))
        data.append(shown)
        if moving is not None:
            moved[str(i + 1)] = _near(columns, view, moving)
    to_scale = is_to_scale(float(np.ptp(x)), float(np.ptp(y)), view.plane)
    if moving is None:
        return page.chart(chart(data, across, up, height=430, to_scale=to_scale))
    moved["0"] = {"z": short(frames)}
    drawn = chart(data, across, up, height=430, to_scale=to_scale, frames=moved)
    return page.explorer(symbol(moving), short(view.axes[moving]), page.chart(drawn))


def _near(columns: Mapping[str, Array], view: View, moving: str) -> dict[str, Any]:
    """Coordinates of the points within half a step of each place of the slider."""
    places = view.axes[moving]
    half = 0.5 * float(places[1] - places[0]) if len(places) > 1 else np.inf
    near = [np.abs(columns[moving] - place) <= half for place in places]
    return {
        key: [short(columns[name][mask]) for mask in near]
        for key, name in zip(("x", "y"), view.plane, strict=True)
    }


def _mark(index: int) -> dict[str, Any]:
    if not index:
        return {"size": 3, "color": PALETTE[5], "line": {"width": 0.5, "color": DARK}}
    i = (index - 1) % len(MARKS)
    return {"size": 7, "symbol": MARKS[i], "color": ("white", PALETTE[4], PALETTE[2])[i % 3],
            "line": {"width": 1, "color": DARK}}  # fmt: skip


def _curve(view: View, sizes: Array, points: Mapping[str, Array]) -> Chart:
    """|r| over the only coordinate, with the points at its foot."""
    (name,) = view.plane
    known = sizes[np.isfinite(sizes) & (sizes > 0)]
    foot = float(known.min()) if known.size else 1.0
    data = [line(view.axes[name], sizes, "|r|", ERROR["color"])]
    data += [
        dots(own[:, 0], np.full(len(own), foot), term, **_mark(i))
        for i, (term, own) in enumerate(points.items())
    ]
    return chart(data, name, "|r|", log=True)
