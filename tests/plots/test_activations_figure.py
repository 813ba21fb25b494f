"""Activations by layer."""

import numpy as np
import pytest

from pinnsig.plots import activations_figure, save_figure


def test_shares_and_percentiles_by_layer():
    rng = np.random.default_rng(0)
    layers = [scale * rng.uniform(-1, 1, (50, 40)) for scale in np.linspace(1.3, 0.1, 200)]
    figure = activations_figure(layers, 1.3, "tanh")
    axis = figure.axes[0]
    shares = np.ma.asarray(axis.collections[0].get_array()).filled(0.0).reshape(-1, 200)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)
    assert axis.get_ylim() == (-1.3, 1.3)
    assert figure.get_suptitle() == "tanh"
    assert axis.get_xlabel().startswith("hidden layer")
    assert axis.get_ylabel().startswith("activation")
    for line, percent in zip(axis.lines, (50, 5, 95), strict=True):
        expected = [np.percentile(layer, percent) for layer in layers]
        np.testing.assert_allclose(np.asarray(line.get_ydata(), float), expected)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("layers", "bound"),
    [
        ([], 1.0),
        ([np.zeros(3)], 1.0),
        ([np.array([]), np.array([np.nan, 0.5])], 1.0),
        ([np.full(8, 1.0 + 1e-7)], 1.0),
        ([np.array([-3.0, 2.0])], np.inf),
    ],
)
def test_degenerate_layers_are_drawn(tmp_path, layers, bound):
    figure = activations_figure(layers, bound, "")
    save_figure(figure, tmp_path / "activations.png")
    assert figure.axes[0].get_ylim()[1] == (bound if np.isfinite(bound) else 3.0)
