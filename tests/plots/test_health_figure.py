import numpy as np
import pytest

from pinnsig.activations import Tanh
from pinnsig.initializers import Calibrated, Xavier
from pinnsig.plots import health_figure, save_figure
from pinnsig.signal import health, normal_inputs


def test_a_line_for_each_initialiser():
    x = normal_inputs(8, 16)
    reports = [health(Tanh(), init, 30, 16, x) for init in (Calibrated(), Xavier())]
    figure = health_figure(reports, "tanh")
    _, spread, gradient, chi = figure.axes
    for i, report in enumerate(reports):
        np.testing.assert_array_equal(spread.lines[i].get_ydata(), report.profile.spread)
        np.testing.assert_array_equal(gradient.lines[i].get_ydata(), report.gradients)
        np.testing.assert_array_equal(chi.lines[i].get_ydata(), report.chis)
    assert gradient.get_yscale() == "log"
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [report.initializer for report in reports]


@pytest.mark.filterwarnings("error")
def test_dead_gradients_are_drawn(tmp_path):
    report = health(1e9 * Tanh(), Xavier(), 1, 4, normal_inputs(2, 4))
    save_figure(health_figure([report], ""), tmp_path / "health.png")
