"""The loss history."""

from typing import Any

import numpy as np
import pytest
from matplotlib.text import Annotation

from pinnsig.plots import loss_figure, save_figure


def record(phase: str, iteration: int, loss: float | None) -> dict[str, Any]:
    part = None if loss is None else loss / 2
    return {"phase": phase, "iteration": iteration, "loss": loss, "terms": {"f": part, "ic": part}}


HISTORY = [
    record("start", 0, 1.0),
    *(record("adam", i, 1.0 / i) for i in range(1, 51)),
    *(record("adam", i, 0.01 / i) for i in range(1, 21)),
    *(record("lbfgs", i, 1e-4 / i) for i in range(1, 11)),
]


def test_iterations_count_on_over_phases():
    (axis,) = loss_figure(HISTORY).axes
    total = next(line for line in axis.lines if line.get_label() == "total loss")
    np.testing.assert_array_equal(np.asarray(total.get_xdata()), np.arange(81))
    assert axis.get_yscale() == "log"
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("iterations", "loss")


def test_phases_are_labelled_where_they_begin():
    (axis,) = loss_figure(HISTORY).axes
    labels = [(text.get_text(), text.xy[0]) for text in axis.texts if isinstance(text, Annotation)]
    assert labels == [("adam", 0), ("adam", 50), ("lbfgs", 70)]
    rules = [
        float(np.asarray(line.get_xdata())[0])
        for line in axis.lines
        if line.get_linestyle() == "--"
    ]
    assert rules == [50, 70]


def test_legend_names_total_and_terms():
    (legend,) = loss_figure(HISTORY).legends
    assert [text.get_text() for text in legend.get_texts()] == ["total loss", "f", "ic"]


def test_none_leaves_a_gap_and_a_lone_value_a_dot():
    losses = [1.0, None, 0.5, None, 0.2, 0.1]
    (axis,) = loss_figure([record("adam", i, loss) for i, loss in enumerate(losses, 1)]).axes
    line, dots = axis.lines[:2]
    np.testing.assert_array_equal(
        np.asarray(line.get_ydata()), [1.0, np.nan, 0.5, np.nan, 0.2, 0.1]
    )
    np.testing.assert_array_equal(np.asarray(dots.get_xdata()), [1, 3])


def test_a_term_may_be_missing_from_some_records():
    late = record("lbfgs", 1, 0.1) | {"terms": {"data": 0.1}}
    (axis,) = loss_figure([record("start", 0, 1.0), late]).axes
    assert {"f", "ic", "data"} <= {line.get_label() for line in axis.lines}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "records",
    [
        [],
        [record("start", 0, 1.0)],
        [record("start", 0, None)],
        [record("adam", i, 0.0) for i in range(4)],
        [record("adam", i, float("inf")) for i in range(4)],
    ],
)
def test_degenerate_histories_are_drawn(tmp_path, records):
    figure = loss_figure(records)
    assert figure.axes[0].get_yscale() == "log"
    save_figure(figure, tmp_path / "loss.png")
