"""The paper's figures, claims and verdicts, from their records and from cheap computations."""

import json
from pathlib import Path
from typing import Any

from _copied import write

from pinnsig.paper import FIGURES, PRESETS
from pinnsig.plots import save_figure

DRAWN = (
    "activation-class",
    "random-gains",
    "fixed-gain",
    "convergence",
    "sigma-star",
    "chi-calibrated",
    "surrogate-rate",
    "histograms-depth-tanh",
)
"""Those that are computed anew for the site: a few seconds each with the quick preset."""


def write_pages(folder: Path, root: Path) -> None:
    """Write what is known of every figure, and draw those that are cheap; what is there stays.

    Args:
        folder: where the text and the figures go.
        root: the repository, which has the records.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in DRAWN:
        figure, path = FIGURES[name], folder / f"{name}.png"
        if not path.is_file():
            save_figure(figure.draw(figure.compute(0, **figure.presets["quick"])), path)
    write(folder / "claims.md", "\n".join(section(name, root) for name in FIGURES))


def section(name: str, root: Path) -> str:
    """Return what is known of a figure: its place in the paper, claim and verdicts by preset."""
    figure = FIGURES[name]
    lines = [f"## {name}", "", f"*{figure.source}*", "", f"**Claim.** {figure.claim}", ""]
    for preset in PRESETS:
        path = root / "runs" / "paper" / name / f"{preset}.json"
        if path.is_file():
            lines += verdict(json.loads(path.read_text(encoding="utf-8")))
        table = path.with_suffix(".md")
        if table.is_file():
            lines += [table.read_text(encoding="utf-8"), ""]
    if len(lines) == 6:
        lines += ["No record yet: it trains for hours.", ""]
    if name in DRAWN:
        lines += [f"![the figure {name}]({name}.png)", ""]
    lines += ["```bash", f"pinnsig paper {name}", "```", ""]
    return "\n".join(lines)


def verdict(record: dict[str, Any]) -> list[str]:
    """Return a record's verdict in words."""
    about = f"preset {record['preset']}, seed {record['seed']}, {record['seconds']:.0f} s"
    return [f"**{record['outcome'].capitalize()}** ({about}). {plain(record['words'])}", ""]


def plain(text: str) -> str:
    """Return a text as Markdown that shows it as it is."""
    for sign in "\\*_<$[":
        text = text.replace(sign, f"\\{sign}")
    return text
