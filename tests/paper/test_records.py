import json
from typing import ClassVar

import numpy as np
import pytest

from pinnsig.core.errors import FigureError
from pinnsig.paper import find_figure, last_record, reproduce
from pinnsig.paper.pinn_scales import PinnScale
from tests.conftest import strict_json


def test_what_is_left_on_disk(tmp_path):
    record = reproduce(find_figure("fixed-gain"), "quick", seed=4, out=tmp_path)
    folder = tmp_path / "fixed-gain"
    assert {path.name for path in folder.iterdir()} == {"quick.json", "quick.npz", "quick.png"}
    assert (folder / "quick.png").read_bytes().startswith(b"\x89PNG")
    with np.load(folder / "quick.npz") as data:
        assert data["paths"].shape == (4, 51, 60)
        assert record["findings"]["xi"] == pytest.approx(data["xi"], rel=1e-5)
    text = (folder / "quick.json").read_text()
    assert strict_json(text) == record
    assert len(text) < 4000
    assert record["outcome"] == "holds"
    assert (record["seed"], record["preset"]) == (4, "quick")
    assert record["settings"]["starts"] == 60


def test_the_newest_record_counts(tmp_path):
    assert last_record("convergence", tmp_path) is None
    figure = find_figure("convergence")
    for preset in ("paper", "quick"):
        reproduce(figure, preset, out=tmp_path)
    older = tmp_path / "convergence" / "quick.json"
    record = json.loads(older.read_text())
    older.write_text(json.dumps(record | {"finished": "2000-01-01T00:00:00+00:00"}))
    last = last_record("convergence", tmp_path)
    assert last is not None
    assert last["preset"] == "paper"


def test_bad_files_and_presets(tmp_path):
    with pytest.raises(FigureError, match="no preset 'huge'"):
        reproduce(find_figure("convergence"), "huge", out=tmp_path)
    (tmp_path / "convergence").mkdir()
    (tmp_path / "convergence" / "quick.json").write_text("[]")
    with pytest.raises(FigureError, match="damaged"):
        last_record("convergence", tmp_path)


class SmallScale(PinnScale):
    presets: ClassVar = {
        "quick": {
            "preset": "quick", "seeds": 1, "act": ["tanh"], "scale": [1.0], "depth": 2, "width": 4,
            "adam": 1, "lbfgs": 1, "collocation": 20, "initial": 5, "boundary": 5,
        }
    }  # fmt: skip


def test_sweeps_go_where_figures_go(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    figure = SmallScale("burgers-scale")
    for given, place in (
        ({"out": tmp_path / "mine"}, "mine/sweeps"), ({}, "runs/sweeps")
    ):  # fmt: skip
        record = reproduce(figure, "quick", seed=2, **given)
        (sweep,) = (tmp_path / place).iterdir()
        assert sweep.name == "burgers-scale-quick-seed2"
        assert len(list(sweep.glob("*/result.json"))) == 3
        assert record["settings"] == dict(figure.presets["quick"])
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "runs"}
