"""HTML: escaped text, tables, tabs, and the charts of a page."""

import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pinnsig.core.json import dumps
from pinnsig.reports.numbers import DIGITS


def escape(text: Any) -> str:
    """Return a text as HTML, whatever it holds."""
    return html.escape(str(text))


def number(value: Any) -> str:
    """Return a value for people, as HTML: five significant digits, a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}" if math.isfinite(value) else str(value)
    if isinstance(value, dict | list):
        return f"<code>{escape(dumps(value))}</code>"
    return escape(value)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; cells are texts or numbers, or `Html`."""
    top = "".join(f"<th>{_cell(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(c)}</td>' for c in row)}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def pairs(items: Mapping[str, Any]) -> str:
    """Return names and values, a line for each."""
    rows = "".join(f"<tr><th>{_cell(k)}</th><td>{_cell(v)}</td></tr>" for k, v in items.items())
    return f'<div class="wide"><table class="pairs"><tbody>{rows}</tbody></table></div>'


class Html(str):
    """Text that is HTML already."""


def _cell(value: Any) -> str:
    return value if isinstance(value, Html) else number(value)


def note(text: str, name: str = "note") -> str:
    """Return a line that stands out: a `note`, or a `doubt`."""
    return f'<p class="{name}">{escape(text)}</p>'


def prose(text: str) -> str:
    """Return a text as paragraphs; one with indented lines, as formulas are, keeps its lines."""
    found = []
    for part in text.split("\n\n"):
        lines = part.splitlines()
        kind = "about lines" if any(line.startswith(" ") for line in lines) else "about"
        found.append(f'<p class="{kind}">{escape(chr(10).join(lines))}</p>' if part.strip() else "")
    return "".join(found)


def section(title: str, *parts: str) -> str:
    """Return parts below a heading; nothing where there are none."""
    body = "".join(parts)
    return f"<section><h2>{escape(title)}</h2>{body}</section>" if body else ""


def folded(title: str, *parts: str) -> str:
    """Return parts that a click on the title unfolds."""
    return f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details>"


def tabs(panels: Mapping[str, str]) -> str:
    """Return panels of which one is seen, with a button for each; one alone has no button."""
    if len(panels) < 2:
        return "".join(panels.values())
    buttons = "".join(
        f'<button role="tab" aria-selected="{str(not i).lower()}">{escape(name)}</button>'
        for i, name in enumerate(panels)
    )
    bodies = "".join(
        f'<div role="tabpanel"{" hidden" if i else ""}>{body}</div>'
        for i, body in enumerate(panels.values())
    )
    return f'<div class="tabs"><div role="tablist">{buttons}</div>{bodies}</div>'


@dataclass
class Page:
    """The charts of a page, by the id of the element that each is drawn in.

    A chart is what plotly.js draws, `data` and `layout`; where a slider moves it, `frames` hold by
    the position of a trace what its attributes are at each place of the slider, and `cursor` says
    along which axis a line marks that place.
    """

    charts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def chart(self, chart: Mapping[str, Any], title: str = "", broad: bool = False) -> str:
        """Return the element that a chart is drawn in.

        Args:
            chart: see above.
            title: HTML above it.
            broad: whether it is as broad as the page.
        """
        name = f"chart-{len(self.charts) + 1}"
        self.charts[name] = dict(chart)
        caption = f"<figcaption>{title}</figcaption>" if title else ""
        height = chart["layout"]["height"]
        to_scale = "scaleanchor" in chart["layout"]["yaxis"]
        kind = ' class="broad"' if broad else ' class="square"' if to_scale else ""
        drawn = f'<div class="chart" id="{name}" style="height:{height}px"></div>'
        return f"<figure{kind}>{caption}{drawn}</figure>"

    def explorer(self, slider: str, values: Sequence[float], *charts: str) -> str:
        """Return charts that one slider moves.

        Args:
            slider: what changes.
            values: at each of its places.
            charts: from `chart`.
        """
        held = escape(json.dumps(list(values)))
        last = len(values) - 1
        return (
            f'<div class="explorer" data-values="{held}"><div class="slider">'
            f'<button class="play" aria-label="play">▶</button><label>{escape(slider)} = '
            f'<output></output><input type="range" min="0" max="{last}" value="{last // 2}"'
            f' aria-label="{escape(slider)}"></label></div>{row(*charts)}</div>'
        )


def row(*charts: str, few: bool = False) -> str:
    """Return charts side by side, as far as there is room; not more than two of `few`."""
    kind = "charts few" if few else "charts"
    return f'<div class="{kind}">{"".join(charts)}</div>' if charts else ""


def script_json(data: Any) -> str:
    """Return strict JSON that no HTML parser takes for markup."""
    return dumps(data).replace("<", "\\u003c")
