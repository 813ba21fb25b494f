"""The table as Markdown and as a drawing, from its records."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pinnsig.plots import Dots, dots_figure, save_figure
from pinnsig.sweeps.table import Spread
from pinnsig.table.budget import Budget
from pinnsig.table.records import read_records, write_text
from pinnsig.table.summary import PRECISE, RIGHT, Line, Summary

HEAD = ("problem", "relative error", "estimated", "seconds", "network", "weights",
        "method (iterations)", "best published", "command")  # fmt: skip
BAR = "\\|"  # a bar within a cell


def write_table(budget: Budget, out: Path, problems: Sequence[str], figure: bool = False) -> None:
    """Write the table of a budget from its records; nothing where there are none.

    Args:
        budget: which.
        out: where tables are.
        problems: all that belong to the list.
        figure: whether to draw it, too.

    Raises:
        RunError: a record is damaged, or a file cannot be written.
    """
    folder = out / budget.name
    lines = [Line.of(record) for record in read_records(folder)]
    if not lines:
        return
    write_text(folder / "README.md", markdown(budget, lines, problems))
    if figure:
        dots = [_dots(line) for line in lines]
        title = f"preset {budget.preset}, {budget.seconds:g} s, {seeds(budget)}"
        save_figure(dots_figure(dots, (RIGHT, PRECISE), title), folder / "table.png")


def markdown(budget: Budget, lines: Sequence[Line], problems: Sequence[str]) -> str:
    """Return the table as Markdown, with what it stands on and what went wrong."""
    text = [f"# Errors: preset {budget.preset}, {budget.seconds:g} s, {seeds(budget)}", ""]
    text += [f"`{budget.command()}` makes this table, or what is missing of it.", ""]
    text += [f"- {fact}" for fact in facts(budget, lines, problems)]
    text += ["", _row(HEAD), "|" + "---|" * len(HEAD)]
    text += [_row(cells(line, "<br>", code="`")) for line in lines]
    notes = [f"- {line.problem}, {note}" for line in lines for note in line.notes()]
    if notes:
        text += ["", "## What went wrong or looks so", "", *map(_one_line, notes)]
    return "\n".join(text) + "\n"


def facts(budget: Budget, lines: Sequence[Line], problems: Sequence[str]) -> list[str]:
    """Return what the table as a whole says, and what it was made with, in lines."""
    summary = Summary(lines)
    found = [
        f"{len(lines)} of {len(problems)} problems: {summary.right} right (error below "
        f"{RIGHT:g}), {summary.precise} at or below {PRECISE:g}, {summary.beaten} below the best "
        f"published, of {summary.comparable} where that has the same setting.",
        "Errors are relative L2 errors of fields against a reference, and relative errors of "
        "learned coefficients: median [lowest, highest] over seeds. A problem counts by the median "
        "of each run's largest, a failed run as infinitely wrong.",
        f"Each run may train {budget.seconds:g} s with one thread; seconds are wall time of "
        "training, set-up and judging.",
        *_made(lines),
    ]
    missing = [name for name in problems if name not in {line.problem for line in lines}]
    if missing:
        found.append(f"Not run: {', '.join(missing)}.")
    return found


def cells(line: Line, between: str = "; ", code: str = "") -> tuple[str, ...]:
    """Return the cells of a problem, as HEAD has them.

    Args:
        line: the problem.
        between: what stands between several numbers.
        code: what stands around commands.
    """
    record, fields = line.record, line.fields()
    errors = [f"{name} {spread_text(s)}" if len(fields) > 1 else spread_text(s)
              for name, s in fields.items()]  # fmt: skip
    errors += [f"coefficient {n} {spread_text(s)}" for n, s in line.coefficients().items()]
    left = len(line.runs) - len(line.done)
    if left:
        failed = sum(run["status"] == "failed" for run in line.runs)
        kinds = {"failed": failed, "not done": left - failed}
        errors += [f"**{n} of {len(line.runs)} {kind}**" if code else f"{n} {kind}"
                   for kind, n in kinds.items() if n]  # fmt: skip
    weights = "-" if record["weights"] is None else f"{record['weights']:,}"
    estimated = line.spread(lambda run: run["estimated_error"])
    seconds = line.spread(lambda run: run["seconds"])
    return (
        line.problem,
        between.join(errors) or "-",
        f"{estimated.median:.1e}" if estimated.count else "-",
        f"{seconds.median:.0f}" if seconds.count else "-",
        record["network"] or "-",
        weights,
        line.method() or "-",
        published_text(line),
        f"{code}{record['command']}{code}",
    )


def published_text(line: Line) -> str:
    """Return the best published error with its source, and how it or its setting differs."""
    if line.published is None:
        return "-"
    parts = [f"{line.published.error:.1e}: {line.published.source}", line.published.other]
    if line.published.measure is not None:
        here = line.measured()
        parts.append(f"of {line.published.measure}" + (f", here {here:.1e}" if here else ""))
    return "; ".join(filter(None, parts))


def spread_text(spread: Spread) -> str:
    """Return median and range; the range only where there are several."""
    text = f"{spread.median:.1e}"
    return f"{text} [{spread.low:.1e}, {spread.high:.1e}]" if spread.count > 1 else text


def seeds(budget: Budget) -> str:
    """Return how many seeds there are, in words."""
    return f"{budget.seeds} seeds" if budget.seeds > 1 else "1 seed"


def _made(lines: Iterable[Line]) -> list[str]:
    """With what and when the runs were made, every difference once."""
    runs = [run for line in lines for run in line.runs if "environment" in run]
    if not runs:
        return []
    made = [run["environment"] for run in runs]
    days = sorted(run["finished"][:10] for run in runs)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    torch, own = (_each(m["versions"].get(name) for m in made) for name in ("torch", "pinnsig"))
    machine = (
        f"{_each(m.get('cores') for m in made)} cores",
        _each(m["accelerator"] or "no GPU" for m in made),
        _each(m["platform"] for m in made),
    )
    versions = f"torch {torch}, pinnsig {own}, Python {_each(m['python'] for m in made)}"
    return [f"Machine: {', '.join(machine)}; {versions}; {when}."]


def _each(values: Iterable[Any]) -> str:
    return " or ".join(dict.fromkeys("?" if value is None else str(value) for value in values))


def _dots(line: Line) -> Dots:
    failed = sum(run["status"] == "failed" for run in line.runs)
    published = line.published
    return Dots(
        line.problem if not failed else f"{line.problem} ({failed} of {len(line.runs)} failed)",
        [error for error in line.errors() if error < float("inf")],
        None if published is None else published.error,
        published is not None and not published.other,
    )


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(_one_line(text).replace('|', BAR) for text in texts)} |"


def _one_line(text: str) -> str:
    return " ".join(text.split())
