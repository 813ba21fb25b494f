"""Numbers, Markdown and drawing of a table, from records made by hand."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnsig.core.errors import RunError
from pinnsig.plots import Dots, dots_figure
from pinnsig.table import Budget, Line, Measure, Published, Summary, read_tables
from pinnsig.table.writing import cells, facts, markdown, published_text, spread_text

BUDGET = Budget("accurate", 300.0, 3)
ENVIRONMENT = {
    "cores": 2, "threads": 1, "accelerator": None, "platform": "Linux", "python": "3.11.7",
    "versions": {"torch": "2.13.0", "pinnsig": "0.1.0"},
}  # fmt: skip


def run(seed: int, coefficients: dict[str, Any] | None = None, **fields: float | None):
    return {
        "seed": seed, "status": "done", "reason": None, "fields": fields,
        "coefficients": coefficients or {}, "relative_l2": 0.5, "estimated_error": 2e-5,
        "best_loss": 1e-9, "seconds": 290.0 + seed, "stop": "time limit", "suspicious": [],
        "iterations": {"adam": 100, "ssbroyden": 1000 * (seed + 1)},
        "finished": "2026-11-28T10:00:00+00:00", "environment": ENVIRONMENT,
    }  # fmt: skip


FAILED = {"seed": 2, "status": "failed", "reason": "ValueError: a | b"}
MISSING = {"seed": 2, "status": "missing", "reason": None}


def line(*runs: dict[str, Any], problem: str = "toy", published: Published | None = None) -> Line:
    record = {
        "problem": problem, "budget": BUDGET.as_dict(), "settings": {}, "weights": 2181,
        "command": "python -m pinnsig solve toy", "network": "ffnn 6 x 20", "runs": list(runs),
    }  # fmt: skip
    return Line(record, published)


def learned(value: float, true: float | None) -> dict[str, Any]:
    error = None if true is None else abs(value - true)
    return {"k": {"value": value, "true": true, "error": error, "estimated": None}}


def test_a_problem_counts_by_the_largest_error_of_each_run():
    found = line(run(0, u=1e-3, v=4e-3), run(1, u=5e-3, v=1e-3), run(2, u=2e-3, v=None))
    assert found.errors() == [4e-3, 5e-3, 2e-3]
    assert found.median() == 4e-3
    assert found.fields()["u"].median == 2e-3
    assert found.fields()["v"].count == 2


def test_coefficients_count_by_their_relative_error():
    found = line(run(0, learned(0.3, 0.2), u=1e-3), run(1, learned(1e-4, 0.0), u=1e-3),
                 run(2, learned(5.0, None), u=1e-3))  # fmt: skip
    assert found.errors() == pytest.approx([0.5, 1e-3, 1e-3])
    assert found.coefficients()["k"].high == pytest.approx(0.5)
    assert "coefficient k 2.5e-01 [1.0e-04, 5.0e-01]" in cells(found)[1]


def test_failed_runs_are_infinitely_wrong_and_missing_ones_do_not_count():
    assert line(run(0, u=1e-3), run(1, u=2e-3), FAILED).median() == 2e-3
    assert line(run(0, u=1e-3), FAILED).median() == math.inf
    assert line(run(0, u=1e-3), run(1, u=3e-3), MISSING).median() == 2e-3
    assert line(MISSING).median() is None


def test_how_many_are_right_precise_and_below_the_best_published():
    same, other = Published(1e-5, "a method"), Published(1e-5, "a method", "elsewhere")
    summary = Summary([
        line(run(0, u=1e-2), published=same),  # not below 1e-2
        line(run(0, u=9e-3), published=other),
        line(run(0, u=1e-6), published=same),
        line(run(0, u=1e-7)),
        line(run(0, u=1e-7), published=other),
        line(FAILED, published=same),
        line(MISSING, published=same),
    ])  # fmt: skip
    assert (summary.right, summary.precise) == (4, 3)
    assert (summary.beaten, summary.comparable) == (1, 3)


def test_a_published_error_is_met_in_the_way_it_was_measured():
    published = Published(1e-4, "a method", measure=Measure(("u", "v"), {"t": 1.0}))
    runs = [run(0, u=1e-3) | {"measured": 9e-5}, run(1, u=1e-3) | {"measured": 3e-5}]
    found = line(*runs, published=published)
    assert (found.median(), found.measured(), found.beats()) == (1e-3, 6e-5, True)
    assert published_text(found) == "1.0e-04: a method; of u, v at t = 1, here 6.0e-05"
    unknown = line(run(0, u=1e-9), published=published)  # of an older record
    assert (unknown.measured(), unknown.beats()) == (None, None)
    assert published_text(unknown) == "1.0e-04: a method; of u, v at t = 1"
    assert line(*runs, FAILED, FAILED | {"seed": 3}, FAILED, published=published).beats() is False


def test_markdown():
    doubtful = run(1, u=5e-3)
    doubtful["suspicious"] = ["not trained"]
    lines = [line(run(0, u=1e-3), doubtful, FAILED, published=Published(1e-9, "a way", "there")),
             line(run(0, u=1e-7, p=1e-8), problem="flow")]  # fmt: skip
    text = markdown(BUDGET, lines, ["flow", "toy", "wave"])
    rows = text.splitlines()
    assert rows[0] == "# Errors: preset accurate, 300 s, 3 seeds"
    assert "`python -m pinnsig table --preset accurate --seconds 300 --seeds 3`" in text
    assert "2 of 3 problems: 2 right (error below 0.01), 1 at or below 1e-06, 0 below" in text
    assert "Not run: wave." in text
    assert "2 cores, no GPU, Linux; torch 2.13.0, pinnsig 0.1.0, Python 3.11.7; 2026-11-28" in text
    assert (
        "| toy | 3.0e-03 [1.0e-03, 5.0e-03]<br>**1 of 3 failed** | 2.0e-05 | 290 | ffnn 6 x 20 | "
        "2,181 | adam 100, ssbroyden 1,500 | 1.0e-09: a way; there | "
        "`python -m pinnsig solve toy` |"
    ) in rows
    assert "| flow | u 1.0e-07<br>p 1.0e-08 |" in text
    assert "- toy, seed 1 suspicious: not trained" in rows
    assert "- toy, seed 2 failed: ValueError: a | b" in rows
    widths = {row.count("|") for row in rows if row.startswith("|")}
    assert len(widths) == 1


def test_differences_of_machines_are_said():
    other = run(1, u=1e-3)
    other["environment"] = {**ENVIRONMENT, "cores": 8, "accelerator": "H200"}
    other["finished"] = "2026-12-01T10:00:00+00:00"
    text = "\n".join(facts(BUDGET, [line(run(0, u=1e-3), other)], ["toy"]))
    assert "2 or 8 cores, no GPU or H200" in text
    assert "2026-11-28 to 2026-12-01" in text


def test_a_range_needs_two_runs():
    assert spread_text(line(run(0, u=1e-3)).fields()["u"]) == "1.0e-03"


def test_damaged_records(tmp_path: Path):
    assert read_tables(tmp_path) == {}
    path = tmp_path / "b" / "toy.json"
    path.parent.mkdir()
    whole = line(run(0, u=1e-3)).record
    path.write_text(json.dumps(whole))
    assert read_tables(tmp_path) == {BUDGET: [whole]}
    broken = {**whole, "runs": [{**whole["runs"][0]}]}
    del broken["runs"][0]["fields"]
    for text in ("[]", "{", json.dumps(broken), json.dumps({**whole, "budget": {}})):
        path.write_text(text)
        with pytest.raises(RunError, match="damaged"):
            read_tables(tmp_path)


def test_the_figure():
    rows = [Dots("wave", [1e-3, 1e-5, 1e-4], 1e-9), Dots("heat", [1e-8], 1e-6, same=False),
            Dots("none", [0.0])]  # fmt: skip
    (axis,) = dots_figure(rows, (1e-2,), "a title").axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["heat", "wave", "none"]
    assert axis.get_xscale() == "log"
    assert axis.get_xlabel() == "relative error"
    points = {one: np.asarray(one.get_xydata()).tolist() for one in axis.lines}
    assert [[1e-5, 1], [1e-3, 1]] in points.values()
    assert [[1e-4, 1]] in points.values()
    marks = {one.get_label(): points[one][0] for one in axis.lines if one.get_marker() == "D"}
    assert marks == {"best published": [1e-9, 1], "best published, other setting": [1e-6, 0]}
    low, high = axis.get_xlim()
    assert low < 1e-9
    assert high > 1e-2
    assert [t.get_text() for t in axis.texts] == ["no result"]
