"""Comparisons: pairs, sign tests and corrections against values worked out by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnsig.core.errors import SettingsError
from pinnsig.sweeps import Spread, SweepTable
from pinnsig.sweeps.comparing import group_spreads, holm, sign_tests


def table(losses: dict[str, list[Any]], scales: tuple[float, ...] = (1.0,)) -> SweepTable:
    """Rows of initialisers, with a loss for each scale and seed."""
    rows = []
    for init, values in losses.items():
        seeds = len(values) // len(scales)
        for i, value in enumerate(values):
            rows.append({
                "run": f"{init}{i}", "status": "done" if value else "failed", "problem": "burgers",
                "init": init, "scale": scales[i // seeds], "seed": i % seeds, "best_loss": value,
            })  # fmt: skip
    return SweepTable(rows, ["problem", "init", "scale", "seed"], Path())


def test_a_winner_is_named_only_when_the_test_does():
    """All of n pairs have p = 2 / 2^n: 0.0625 of five, 0.03125 of six."""
    five, six = (sign_tests(table({"a": [1.0] * n, "b": [2.0] * n}), "init")[0] for n in (5, 6))
    assert (five.wins, five.losses, five.p_value, five.winner) == (5, 0, 0.0625, None)
    assert (six.wins, six.losses, six.p_value, six.winner) == (6, 0, 0.03125, "a")
    (other,) = sign_tests(table({"a": [2.0] * 6, "b": [1.0] * 6}), "init")
    assert other.winner == "b"


def test_pairs_share_scale_and_seed():
    """Each loss of b is just above that of a; unpaired, half of them would be below."""
    a = [10.0**k for k in range(8)]
    found = table({"a": a, "b": [1.1 * value for value in a]}, scales=(0.5, 1.0))
    (test,) = sign_tests(found, "init")
    assert (test.wins, test.losses, test.winner) == (8, 0, "a")
    assert test.p_value == pytest.approx(2 / 2**8)


def test_what_has_no_counterpart_is_counted_apart():
    (test,) = sign_tests(table({"a": [1.0, None, 1.0, 3.0], "b": [2.0, 2.0, 1.0, 2.0]}), "init")
    assert (test.wins, test.losses, test.ties, test.unpaired) == (1, 1, 1, 1)
    assert test.p_value == 1.0
    (none,) = sign_tests(table({"a": [None, None], "b": [2.0, 2.0]}), "init")
    assert (none.p_value, none.winner) == (1.0, None)


def test_holm_by_hand():
    """Sorted 0.01, 0.03, 0.04 times 3, 2, 1 is 0.03, 0.06, 0.04, never falling."""
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_three_initialisers_are_corrected_for():
    tests = sign_tests(table({"a": [1.0] * 6, "b": [2.0] * 6, "c": [3.0] * 6}), "init")
    assert [test.p_value for test in tests] == [0.03125] * 3
    assert [test.adjusted for test in tests] == [0.09375] * 3
    assert [test.winner for test in tests] == [None] * 3


def test_tests_apart_for_each_scale():
    losses = {"a": [1.0] * 6 + [3.0] * 6, "b": [2.0] * 12}
    found = table(losses, scales=(0.5, 1.0))
    (whole,) = sign_tests(found, "init")
    assert whole.winner is None
    low, high = sign_tests(found, "init", per=["scale"])
    assert (low.group, low.wins, high.group, high.losses) == ({"scale": 0.5}, 6, {"scale": 1.0}, 6)


def test_spreads_of_groups():
    found = table({"a": [3.0, 1.0, 2.0, 5.0, None, 4.0], "b": [1.0] * 6}, scales=(0.5, 1.0))
    groups = group_spreads(found, "init")
    a = [g for g in groups if g.value == "a"]
    assert [g.settings for g in a] == [{"scale": 0.5}, {"scale": 1.0}]
    assert [(g.spread.median, g.spread.low, g.spread.high, g.seeds) for g in a] == [
        (2.0, 1.0, 3.0, 3), (4.5, 4.0, 5.0, 2),
    ]  # fmt: skip
    assert np.isnan(Spread.of([None, float("inf")]).median)


@pytest.mark.parametrize(
    ("by", "metric", "words"),
    [
        ("act", "best_loss", "'act' has no several values in this sweep: choose init"),
        ("seed", "best_loss", "'seed' has no several values"),
        ("init", "loss", "metric 'loss' is unknown: did you mean last_loss"),
    ],
)
def test_what_cannot_be_compared_is_refused(by: str, metric: str, words: str):
    with pytest.raises(SettingsError, match=words):
        sign_tests(table({"a": [1.0, 2.0], "b": [1.0, 2.0]}), by, metric)
