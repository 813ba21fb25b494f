"""What was learned, over the iterations."""

from typing import Any

import numpy as np
import pytest

from pinnsig.plots import coefficients_figure, save_figure


def record(phase: str, iteration: int, **coefficients: float | None) -> dict[str, Any]:
    return {"phase": phase, "iteration": iteration, "coefficients": coefficients}


HISTORY = [
    record("start", 0, k=0.1, c=2.0),
    *(record("adam", i, k=0.1 + 0.001 * i, c=2.0) for i in range(1, 51)),
    *(record("lbfgs", i, k=0.15 * 1.1**i, c=None) for i in range(1, 41)),
]


def test_a_panel_for_each_with_its_true_value_as_a_line():
    figure = coefficients_figure(HISTORY, {"k": 0.2, "c": None})
    upper, lower = figure.axes
    learned, true = (
        next(line for line in upper.lines if line.get_label() == label)
        for label in ("learned", "true value")
    )
    np.testing.assert_array_equal(np.asarray(learned.get_xdata()), np.arange(91))
    assert np.asarray(learned.get_ydata())[[0, 50]] == pytest.approx([0.1, 0.15])
    assert set(np.asarray(true.get_ydata())) == {0.2}
    assert [line.get_label() for line in lower.lines][:1] == ["learned"]
    assert "true value" not in [line.get_label() for line in lower.lines]
    assert np.isnan(np.asarray(lower.lines[0].get_ydata())[-1])
    assert (upper.get_ylabel(), lower.get_ylabel()) == ("k", "c")
    assert lower.get_xlabel() == "iterations"
    assert (upper.get_yscale(), lower.get_yscale()) == ("log", "linear")  # k: over 2 decades
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["learned", "true value"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "records",
    [[], [record("start", 0, k=None)], [{"phase": "start", "iteration": 0}], HISTORY[:1]],
)
def test_few_or_no_values_are_drawn(records: list[dict[str, Any]], tmp_path):
    save_figure(coefficients_figure(records, {"k": 0.0}), tmp_path / "coefficients.png")
