import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnsig.core.errors import FigureError
from pinnsig.paper import find_figure, last_record, pinn_scales, reproduce
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


class AskedError(Exception):
    """Raised in the place of hours of training."""


@pytest.mark.parametrize(
    ("given", "place"), [({"out": Path("mine")}, "mine/sweeps"), ({}, "runs/sweeps")]
)
def test_sweeps_go_where_figures_go(monkeypatch, given, place):
    def sweep(name: str, preset: str, seeds: range, out: Path, **options: Any) -> None:
        assert (name, preset, seeds, options) == ("burgers-scale", "quick", range(2, 5), {})
        assert out == Path(place) / "burgers-scale-quick-seed2"
        raise AskedError

    monkeypatch.setattr(pinn_scales, "run_scale_sweep", sweep)
    with pytest.raises(AskedError):
        reproduce(find_figure("burgers-scale"), "quick", seed=2, **given)
