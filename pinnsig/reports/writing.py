"""One HTML file of runs and sweeps, which needs nothing but a browser."""

from collections.abc import Callable
from importlib import resources
from pathlib import Path

from pinnsig.core.errors import ReportError
from pinnsig.core.extras import require_extra
from pinnsig.core.files import write_reported
from pinnsig.core.gradients import own_gradients
from pinnsig.core.paths import user_path
from pinnsig.core.trust import Trust
from pinnsig.core.version import __version__
from pinnsig.problem import Problem
from pinnsig.reports.comparison import comparison
from pinnsig.reports.page import Page, escape, script_json, tabs
from pinnsig.reports.run import Run, open_run, or_reason, run_report
from pinnsig.reports.sweep import sweep_report
from pinnsig.run.networks import Own
from pinnsig.sweeps import SweepDirectory, SweepTable

NAME = "report.html"


@own_gradients()
def report(
    *paths: str | Path,
    out: str | Path | None = None,
    trust: Trust = False,
    problem: type[Problem] | None = None,
    network: Own | None = None,
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Write one HTML file of runs and sweeps that works without a network.

    Args:
        paths: directories of runs and of sweeps.
        out: the file; by default `report.html` in the directory, where there is one.
        trust: whether code that came with the runs may be run; this is remembered.
        problem: the problem's class, where the runs were started from Python with a class.
        network: the runs' own network, or what makes it, where it is not a registered one.
        tell: told of each thing that a user should know, a line each.

    Returns:
        The file.

    Raises:
        ReportError: plotly is not installed; no directory, or several and no file are named; the
            file cannot be written.
        RunError: a directory holds no run or sweep, or one of `classify`.
        TrustError: a run holds code that is not trusted.
    """
    plotly = _plotly()
    if not paths:
        raise ReportError("name a run or a sweep to report of")
    if out is None and len(paths) > 1:
        raise ReportError(f"{len(paths)} directories and no file: say where to, out='{NAME}'")
    opened = [_open(path, trust, problem, network) for path in paths]
    first = opened[0].path
    target = first / NAME if out is None else user_path(out, ReportError)
    page = Page()
    runs = [one for one in opened if isinstance(one, Run)]
    panels = {}
    if len(runs) > 1:
        panels["Comparison"] = "<h1>Comparison</h1>" + or_reason(lambda: comparison(page, runs))
    for one in opened:
        if isinstance(one, Run):
            for line in (*(one.trained.notices if one.trained else ()), one.missing):
                if line and tell is not None:
                    tell(line)
            panels[_unused(one.name, panels)] = run_report(page, one, network)
        else:
            panels[_unused(f"sweep {one.path.name}", panels)] = sweep_report(page, one)
    title = ", ".join(one.name if isinstance(one, Run) else one.path.name for one in opened)
    text = _document(title, tabs(panels), page, plotly)
    data = text.encode(errors="backslashreplace")  # of odd file names
    return write_reported(target, data, ReportError, folders=True)


def _plotly() -> str:
    """The script that draws the charts."""
    return require_extra("plotly.offline", "report", "a report", ReportError).get_plotlyjs()


def _open(
    path: str | Path, trust: Trust, problem: type[Problem] | None, network: Own | None
) -> Run | SweepTable:
    if SweepDirectory.is_sweep(path):
        return SweepDirectory.open(path).table()
    return open_run(path, trust, problem, network)


def _unused(name: str, taken: dict[str, str]) -> str:
    """A name that no other panel has."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name} ({number})"
    return found


def _document(title: str, body: str, page: Page, plotly: str) -> str:
    assets = resources.files("pinnsig.reports") / "assets"
    style, script = ((assets / f"report.{end}").read_text("utf-8") for end in ("css", "js"))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
<footer>made by pinnsig {escape(__version__)}</footer>
<script type="application/json" id="charts">{script_json(page.charts)}</script>
<script>{plotly}</script>
<script>
{script}</script>
</body>
</html>
"""
