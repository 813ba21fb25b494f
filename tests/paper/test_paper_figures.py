"""Every figure on small settings: data, drawing and verdict; and verdicts on made-up data."""

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from pinnsig.core.errors import FigureError
from pinnsig.paper import FAILS, FIGURES, HOLDS, IN_PART, PRESETS, find_figure, register_figure
from pinnsig.paper.base import verdict
from pinnsig.paper.scalar_maps import FixedGain
from tests.conftest import SMALL as RUN

SMALL: dict[str, dict[str, Any]] = {
    "activation-class": {"points": 41},
    "random-gains": {"steps": 100, "starts": 6, "deltas": (0.0001, 0.5, 1.0, 3.0)},
    "fixed-gain": {"steps": 50, "starts": 6, "excess": 0.3},
    "convergence": {"steps": 50, "start": 0.1, "excesses": (0.2, 0.5)},
    "sigma-star": {"depth": 20, "depths": 10, "sigmas": 12, "samples": 2000},
    "chi-calibrated": {"deepest": 1000, "depths": 6, "measured": (10, 60), "width": 16},
    "surrogate-rate": {"depths": (1, 10), "targets": 4, "networks": 200, "width": 16},
    "target-rate": {"networks": 30, "deepest": 50},
    "entropy": {"depths": (5, 60), "widths": (8, 16), "width": 16, "depth": 60, "seeds": 1},
    "gradient-norms": {"depth": 20, "widths": (8, 16), "seeds": 2},
    "chi-heatmaps": {"depth": 30, "sigmas": 10, "measured": 5, "width": 16},
    "activation-range": {"depths": (5, 60), "scales": (1e-4, 1e3), "width": 16},
    **{f"histograms-depth-{f}": {"depths": (5, 40), "width": 16} for f in
       ("tanh", "0.1tanh", "10tanh")},
    **{f"histograms-width-{f}": {"depth": 20, "widths": (8, 16)} for f in
       ("tanh", "0.1tanh", "10tanh")},
}  # fmt: skip

TINY = {**RUN, "adam": 1, "lbfgs": 1}

ALWAYS = {"activation-class", "fixed-gain", "convergence", "sigma-star"}  # mathematics, not chance


def test_all_figures_are_here():
    assert {name for name, figure in FIGURES.items() if not figure.trains} == set(SMALL)
    for name, figure in FIGURES.items():
        assert figure.name == name
        assert figure.source
        assert figure.claim.endswith(".")
        assert set(figure.presets) == set(PRESETS)
        if not figure.trains:
            assert all(set(s) == set(SMALL[name]) for s in figure.presets.values())


def test_a_figure_that_trains(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure = find_figure("burgers-scale")
    fewer = {"act": ["tanh"], "scale": [0.5, 1.0], "figures": False, **TINY}
    data = figure.compute(3, preset="quick", seeds=2, **fewer)
    assert len(data["best_loss"]) == 2 * 3 * 2  # scales, initialisers, seeds
    assert set(data["seed"]) == {3, 4}
    found = figure.judge(data)
    assert set(found.findings) == {
        f"tanh against {e}" for e in ("eoc:sigma_b=0", "eoc:sigma_b=0.2")
    }
    assert np.isfinite(data["best_loss"]).all()
    counts = np.array(list(found.findings.values()))
    assert (counts[:, 0] <= counts[:, 1]).all()
    assert (counts[:, 1] == 2).all()
    assert isinstance(figure.draw(data), Figure)
    assert list((tmp_path / "runs/sweeps").iterdir())


@pytest.mark.parametrize("name", SMALL)
def test_data_drawing_and_verdict(name):
    figure = find_figure(name)
    data = figure.compute(0, **SMALL[name])
    again = data if name == "target-rate" else figure.compute(0, **SMALL[name])  # seconds
    for key, value in data.items():
        array = np.asarray(value)
        assert array.dtype.kind in "iufU", key  # what a NPZ file holds without pickling
        np.testing.assert_array_equal(array, np.asarray(again[key]))
    found = figure.judge(data)
    assert found.outcome in ({HOLDS} if name in ALWAYS else {HOLDS, IN_PART, FAILS})
    assert found.words
    assert found.findings
    drawn = figure.draw(data)
    assert isinstance(drawn, Figure)
    for axis in drawn.axes:
        if not name.startswith("histograms"):  # those are labelled once for all
            assert axis.get_ylabel()


def test_a_seed_changes_what_is_random():
    figure = find_figure("random-gains")
    a, b = (figure.compute(seed, **SMALL["random-gains"])["paths"] for seed in (0, 1))
    assert not np.array_equal(a, b)


def test_a_false_claim_is_seen():
    figure = FixedGain()
    data = figure.compute(0, **SMALL["fixed-gain"])
    data["paths"][0, -1] *= 1.1
    assert figure.judge(data).outcome == IN_PART
    data["paths"][:, -1] *= -1
    assert figure.judge(data).outcome == FAILS


def test_outcomes():
    assert verdict({"a": True, "b": True}, "so", {}).outcome == HOLDS
    part = verdict({"a": True, "b": False}, "so", {})
    assert (part.outcome, part.words) == (IN_PART, "so; not met: b")
    assert verdict({"a": False}, "so", {}).outcome == FAILS


def test_unknown_and_taken_names():
    with pytest.raises(FigureError, match="did you mean entropy"):
        find_figure("entropie")
    with pytest.raises(FigureError, match="'fixed-gain' is taken by the figure .*FixedGain"):
        register_figure(FixedGain())
