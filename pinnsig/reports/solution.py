"""The solution explorer: every field with its reference and error, to be looked at by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import ReportError
from pinnsig.model import Model, SlabModel
from pinnsig.model.evaluation import Comparison, compare
from pinnsig.plots.solution import ABSOLUTE_ERROR, error_colours, field_colours
from pinnsig.plots.style import DARK, ERROR, PREDICTION, REFERENCE, is_to_scale, symbol
from pinnsig.problem import Problem
from pinnsig.reports.charts import Chart, chart, dots, heat, line
from pinnsig.reports.numbers import short
from pinnsig.reports.page import Page, row, tabs
from pinnsig.run.planes import MOST, Measured

Array = NDArray[np.float64]
CURVE = 401  # points of a curve alone
MAP, TIMES = 101, 41  # points along space and time of a map, and places of its slider
SLICES = {3: (51, 26)}  # by coordinates: points of each side of a map, and places of its slider
SMALL = (41, 21)  # of more coordinates, which have maps for each of SHOWN
SHOWN = 2  # coordinates, at most, that have a slider in turn


@dataclass(frozen=True)
class View:
    """A grid to look at fields on.

    Attributes:
        axes: its points along every coordinate, in the domain's order.
        plane: the coordinates to the right and upwards; one alone makes a curve.
        slider: the coordinate that a slider moves along.
        held: those that stay in the middle, with their values.
    """

    axes: dict[str, Array]
    plane: tuple[str, ...]
    slider: str | None
    held: dict[str, float]


def views(problem: Problem, times: int = TIMES) -> dict[str, View]:
    """Return the grids to look at a problem's fields on, by what tells them apart.

    Args:
        problem: whose domain.
        times: points along time on a map over time.

    Raises:
        ReportError: it has too many coordinates.
    """
    domain = problem.domain
    names, time = list(domain.names), domain.time
    if len(names) > MOST:
        raise ReportError(f"{len(names)} coordinates are too many for a map: the most are {MOST}")
    space = [name for name in names if name != time]

    def axis(name: str, count: int) -> Array:
        return np.linspace(*domain.interval(name), count)

    if len(names) == 1:
        return {"": View({names[0]: axis(names[0], CURVE)}, (names[0],), None, {})}
    if len(names) == 2:
        counts = {name: times if name == time else MAP for name in names}
        plane = (time, space[0]) if time else (names[0], names[1])
        axes = {name: axis(name, count) for name, count in counts.items()}
        return {"": View(axes, plane, time, {})}
    plane = (space[0], space[1])
    side, places = SLICES.get(len(names), SMALL)
    movable = [name for name in (time, *reversed(space[2:])) if name][:SHOWN]
    found = {}
    for slider in movable:
        held = {n: 0.5 * sum(domain.interval(n)) for n in names if n not in (*plane, slider)}
        axes = {
            name: np.array([held[name]])
            if name in held
            else axis(name, places if name == slider else side)
            for name in names
        }
        found[f"over {symbol(slider)}"] = View(axes, plane, slider, held)
    return found


def solution(
    page: Page, model: Model | SlabModel, measured: Mapping[str, Measured] | None = None
) -> str:
    """Return the explorer of a model's fields.

    Raises:
        ReportError: see `views`.
        ProblemError: see `compare`.
    """
    panels: dict[str, dict[str, str]] = {name: {} for name in model.problem.fields}
    for name, view in views(model.problem).items():
        for field, found in compare(model, view.axes).items():
            panels[field][name] = explore(page, found, view, (measured or {}).get(field))
    return tabs({symbol(field): tabs(own) for field, own in panels.items()})


def explore(page: Page, found: Comparison, view: View, measured: Measured | None = None) -> str:
    """Return the charts of one field on one grid."""
    if len(view.plane) == 1:
        return curves(page, found, measured)
    maps = _maps(found, view, measured)
    drawn = [page.chart(own, title) for title, own in maps.items()]
    words = ", ".join(f"{symbol(name)} = {value:.4g}" for name, value in view.held.items())
    held = f'<p class="hint">at {words}</p>' if words else ""
    if view.slider is None:
        return row(*drawn)
    places = short(view.axes[view.slider])
    if view.slider in view.plane:
        drawn.append(
            page.chart(
                _profile(found, view), f"{symbol(found.field)} along {symbol(view.plane[1])}", True
            )
        )
    return held + page.explorer(symbol(view.slider), places, *drawn)


def curves(
    page: Page,
    found: Comparison,
    measured: Measured | None = None,
    band: Sequence[dict[str, Any]] = (),
) -> str:
    """Return a field of one coordinate as curves, and its error."""
    ((name, x),) = found.axes.items()
    data = [*band, *_pair(x, found.prediction, found.reference)]
    if measured is not None:
        points, values = measured
        data.append(dots(points[:, 0], values, "data", symbol="circle-open"))
    charts = [page.chart(chart(data, name, found.field), symbol(found.field))]
    if found.error is not None:
        error = line(x, found.error, ABSOLUTE_ERROR, ERROR["color"])
        own = chart([error], name, ABSOLUTE_ERROR, log=True, layout={"showlegend": False})
        charts.append(page.chart(own, ABSOLUTE_ERROR))
    return row(*charts, few=True)


def _pair(x: Array, prediction: Array, reference: Array | None) -> list[dict[str, Any]]:
    found = []
    if reference is not None:
        found.append(line(x, reference, "reference", REFERENCE["color"]))
    found.append(line(x, prediction, "prediction", PREDICTION["color"], "dash"))
    return found


def _maps(found: Comparison, view: View, measured: Measured | None) -> dict[str, Chart]:
    """Prediction, reference and error, the first two in the same colours."""
    panels = {"prediction": found.prediction}
    if found.reference is not None:
        panels["reference"] = found.reference
    colours = field_colours(np.stack(list(panels.values())))
    if found.error is not None:
        panels[ABSOLUTE_ERROR] = found.error
    across, up = view.plane
    x, y = found.axes[across], found.axes[up]
    to_scale = is_to_scale(float(np.ptp(x)), float(np.ptp(y)), view.plane)
    drawn = {}
    for title, values in panels.items():
        shades = error_colours(values) if title == ABSOLUTE_ERROR else colours
        trace = heat(x, y, view.plane, found.field, shades)
        data: list[dict[str, Any]] = [trace]
        more: dict[str, Any] = {}
        frames = arranged(values, view)
        if view.slider is None or view.slider in view.plane:
            trace["z"] = short(frames[0])
            more = {"cursor": "x"} if view.slider else {}
        else:
            more = {"frames": {"0": {"z": short(frames)}}}
        if title == "prediction" and measured is not None and len(found.axes) == 2:
            places = dict(zip(found.axes, measured[0].T, strict=True))
            data.append(dots(places[across], places[up], "data", color="white", size=5,
                             line={"color": DARK, "width": 1}))  # fmt: skip
        drawn[f"{symbol(found.field)}: {title}"] = chart(
            data, across, up, to_scale=to_scale, layout={"showlegend": False}, **more
        )
    return drawn


def arranged(values: Array, view: View) -> Array:
    """Return values on a view's grid as frames of maps, shape (places, rows, columns)."""
    across, up = view.plane
    names = list(view.axes)
    moving = [] if view.slider in (None, *view.plane) else [view.slider]
    order = [*moving, up, across]
    held = [name for name in names if name not in order]
    turned = values.transpose([names.index(name) for name in (*held, *order)])
    return turned.reshape(-1, len(view.axes[up]), len(view.axes[across]))


def _profile(found: Comparison, view: View) -> Chart:
    """The field along the coordinate upwards, at each place of the one to the right."""
    up = view.plane[1]
    both = [arranged(own, view)[0].T for own in (found.reference, found.prediction)
            if own is not None]  # fmt: skip
    known = np.concatenate([values[np.isfinite(values)] for values in both])
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    room = 0.05 * (high - low) or 0.1
    data = _pair(found.axes[up], both[-1][0], both[0][0] if len(both) > 1 else None)
    frames = {str(i): {"y": short(values)} for i, values in enumerate(both)}
    layout = {"yaxis": {"range": short([low - room, high + room])}}
    return chart(data, up, found.field, frames=frames, layout=layout)
