"""Figures of sweeps: what is drawn where."""

import numpy as np
import pytest
from matplotlib.collections import QuadMesh

from pinnsig.plots import heat_figure, save_figure, spread_figure

PANELS = {
    "tanh": {"calibrated": {2.0: [1e-3, 4e-3, 2e-3], 0.5: [1e-1, None, 3e-1]}, "eoc": {0.5: [1.0]}},
    "erf": {"eoc": {0.5: [float("nan")], 2.0: [2.0]}},
}


def test_medians_are_lines_on_a_log_axis_with_the_range_around():
    figure = spread_figure(PANELS, "best_loss", "scale", "burgers")
    left, right = figure.axes
    assert left.get_yscale() == "log"
    assert left.get_ylabel() == "best loss"
    assert [left.get_title(), right.get_title()] == ["tanh", "erf"]
    assert "scale" in left.get_xlabel()
    line = left.get_lines()[0]
    assert np.asarray(line.get_xdata()).tolist() == [0.5, 2.0]
    assert np.asarray(line.get_ydata()) == pytest.approx([0.2, 2e-3])
    band = left.collections[0].get_paths()[0].vertices
    assert {0.1, 0.3, 1e-3, 4e-3} <= set(np.asarray(band)[:, 1].tolist())
    (eoc,) = right.get_lines()
    assert eoc.get_color() == left.get_lines()[1].get_color()  # the same name in every panel
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["calibrated", "eoc"]
    assert legend.get_title().get_text() == ""
    (legend,) = spread_figure(PANELS, "best_loss", "scale", "burgers", "init").legends
    assert legend.get_title().get_text() == "initialiser"


def test_words_stand_side_by_side_and_wide_numbers_on_a_log_axis(tmp_path):
    figure = spread_figure({"": {"": {"eoc": [1.0], "he": [2.0]}}}, "seconds", "init")
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.get_xticklabels()] == ["eoc", "he"]
    assert axis.get_ylabel() == "wall time [s]"
    save_figure(figure, tmp_path / "words.png")
    wide = spread_figure({"": {"": {1e-4: [1.0], 1e3: [2.0]}}}, "best_loss", "scale")
    assert wide.axes[0].get_xscale() == "log"


def test_nothing_at_all_is_said(tmp_path):
    figure = spread_figure({"tanh": {"eoc": {1.0: [float("nan")]}}}, "best_loss", "scale")
    save_figure(figure, tmp_path / "empty.png")
    assert "no positive values" in [text.get_text() for text in figure.axes[0].texts]


def test_a_map_has_medians_in_its_cells():
    cells = {(1.0, 10): [1e-2, 3e-2], (2.0, 10): [1e-1], (1.0, 20): [None], (2.0, 20): [1.0]}
    figure = heat_figure({"tanh": cells}, "best_loss", "scale", "depth")
    axis = figure.axes[0]
    (mesh,) = (c for c in axis.collections if isinstance(c, QuadMesh))
    values = np.ma.filled(np.ma.asarray(mesh.get_array()), np.nan)
    assert values[0] == pytest.approx([2e-2, 1e-1])
    assert np.isnan(values[1, 0])
    assert values[1, 1] == 1.0
    assert [text.get_text() for text in axis.texts] == ["2.0e-02", "1.0e-01", "1.0e+00"]
    assert [text.get_text() for text in axis.get_yticklabels()] == ["10", "20"]
    assert "median over seeds" in figure.axes[-1].get_ylabel()
