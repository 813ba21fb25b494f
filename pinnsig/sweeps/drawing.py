"""Which figures a sweep has, and where they go in its directory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from pinnsig.core.errors import SettingsError
from pinnsig.plots import heat_figure, save_figure, spread_figure
from pinnsig.sweeps.table import SweepTable

METRICS = ("best_loss", "relative_l2", "seconds")


def draw_sweep(table: SweepTable, x: str | None = None, y: str | None = None) -> list[Path]:
    """Draw loss, error and wall time against a setting, and maps over two settings.

    Args:
        table: of a sweep.
        x: the setting along the horizontal axis; by default the scale, or the first with numbers.
        y: the other setting of the maps; by default the second with numbers, if there is one.

    Returns:
        The files, in the sweep's folder `figures`.

    Raises:
        SettingsError: a setting that has no several values.
    """
    for name in filter(None, (x, y)):
        if name not in table.varied:
            raise SettingsError(
                f"{name!r} has no several values in this sweep: "
                f"choose {', '.join(table.varied) or 'none'}"
            )
    paths = []
    for metric in METRICS:
        if any(row[metric] is not None for row in table):
            for suffix, figure in _figures(table, metric, x, y).items():
                path = table.path / "figures" / f"{metric}{suffix}.png"
                save_figure(figure, path)
                paths.append(path)
    return paths


def _figures(table: SweepTable, metric: str, x: str | None, y: str | None) -> dict[str, Figure]:
    """Figures by the end of their files' names."""
    found = {}
    across, lines, panels, rest = axes_of(table, x)
    for key, part in table.groups(rest).items():
        settings = dict(zip(rest, key, strict=True))
        suffix = "".join(f"-{name}={_safe(value)}" for name, value in settings.items())
        found[suffix] = scale_figure(part, metric, across, lines, panels, settings)
    names = _varied(table)
    numeric = [name for name in names if table.is_numeric(name)]
    second = y or next((name for name in numeric if name != across), None)
    if second is not None:
        others = [name for name in names if name not in (across, second)]
        cells = {
            heading(others, key): {
                pair: rows.column(metric) for pair, rows in part.groups([across, second]).items()
            }
            for key, part in table.groups(others).items()
        }
        found["-map"] = heat_figure(cells, metric, across, second, _title(table))
    return found


def axes_of(
    table: SweepTable, x: str | None = None
) -> tuple[str, str | None, str | None, list[str]]:
    """Return the settings along the axis, of lines and of panels, and those of figures.

    Args:
        table: of a sweep.
        x: the setting along the axis; by default the scale, or the first with numbers.
    """
    names = _varied(table)
    numeric = [name for name in names if table.is_numeric(name)]
    across = x or next((n for n in ("scale", *numeric, *names) if n in names), names[0])
    lines = _first(names, "init", {across})
    panels = _first(names, "act", {across, lines})
    return across, lines, panels, [n for n in names if n not in (across, lines, panels)]


def _varied(table: SweepTable) -> list[str]:
    """What varies besides the seed; the seed where nothing else does."""
    return [name for name in table.varied if name != "seed"] or ["seed"]


def scale_figure(
    table: SweepTable,
    metric: str = "best_loss",
    x: str = "scale",
    lines: str | None = "init",
    panels: str | None = "act",
    settings: dict[str, Any] | None = None,
) -> Figure:
    """A number of each run against a setting: the paper's figures of loss against scale.

    Args:
        table: of a sweep.
        metric: a column.
        x: the setting along the horizontal axis.
        lines: the setting with a line for each value.
        panels: the setting with a panel for each value.
        settings: what the title is to say.
    """
    found: dict[str, dict[str, dict[Any, list[Any]]]] = {}
    for (value,), part in _split(table, panels).items():
        found[heading([panels], [value]) if panels else ""] = {
            str(name): {place: rows.column(metric) for (place,), rows in line.groups([x]).items()}
            for (name,), line in _split(part, lines).items()
        }
    return spread_figure(found, metric, x, _title(table, settings or {}), lines or "")


def _split(table: SweepTable, name: str | None) -> dict[tuple[Any, ...], SweepTable]:
    return table.groups([name]) if name else {("",): table}


def _title(table: SweepTable, settings: dict[str, Any] | None = None) -> str:
    """The problem, what is held, and on how much the figure stands."""
    problems = [Path(name).stem for name in table.values("problem")]
    held = [f"{name} = {value}" for name, value in (settings or {}).items() if name != "problem"]
    seeds = len(table.values("seed"))
    missing = len(table) - len(table.done)
    words = [", ".join([*problems, *held])]
    words.append(f"median and range over {seeds} seeds" if seeds > 1 else "one seed")
    if missing:
        words.append(f"{missing} of {len(table)} runs missing")
    return "; ".join(words)


def heading(names: Sequence[str], key: Sequence[Any]) -> str:
    """Return the settings of a panel in words."""
    return ", ".join(
        str(value) if name in ("act", "init") else f"{name.removeprefix('set.')} = {value}"
        for name, value in zip(names, key, strict=True)
    )


def _first(names: Sequence[str], wanted: str, taken: set[str | None]) -> str | None:
    left = [name for name in names if name not in taken]
    return wanted if wanted in left else next(iter(left), None)


def _safe(value: Any) -> str:
    text = Path(value).stem if str(value).endswith(".py") else str(value)
    return "".join(c if c.isalnum() or c in ".=-" else "_" for c in text)
