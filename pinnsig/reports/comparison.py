"""Several runs side by side: what differs, what came of it, and how their losses fell."""

from collections.abc import Mapping, Sequence
from typing import Any

from pinnsig.reports.charts import chart, several
from pinnsig.reports.page import Page, row, table
from pinnsig.reports.run import Run
from pinnsig.reports.training import thinned
from pinnsig.run.settings import ADDED

GIVEN = ("relative_l2", "estimated_error", "best_loss", "seconds", "iterations", "stop")
HEAD = ("relative L2 error", "estimated error", "lowest loss", "seconds", "iterations", "ended by")


def comparison(page: Page, runs: Sequence[Run]) -> str:
    """Return a table of runs with the settings that differ, and their losses in one chart."""
    names = differing([run.config for run in runs])
    rows = [
        (run.path.name, *(_cell(run.config.get(n)) for n in names),
         *(run.result.get(n) for n in GIVEN))
        for run in runs
    ]  # fmt: skip
    found = table(("run", *(name.replace("_", " ") for name in names), *HEAD), rows)
    lines: dict[str, dict[str, tuple[Any, Any]]] = {"iterations": {}, "seconds": {}}
    for run in runs:
        if not run.records:
            continue
        kept, x, _ = thinned(run.records)
        losses = [record.get("best_loss") for record in kept]
        lines["iterations"][run.name] = (x, losses)
        lines["seconds"][run.name] = ([record.get("seconds") for record in kept], losses)
    drawn = [
        page.chart(chart(several(own), x, "lowest loss", log=True), f"lowest loss over {x}")
        for x, own in lines.items()
        if own
    ]
    return found + row(*drawn, few=True)


def differing(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the settings that are not the same in all runs."""
    names = dict.fromkeys(name for config in configs for name in config if name not in ADDED)
    return [name for name in names if any(c.get(name) != configs[0].get(name) for c in configs)]


def _cell(value: Any) -> Any:
    return str(value) if isinstance(value, dict | list) else value
