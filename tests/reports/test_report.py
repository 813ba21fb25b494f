"""One HTML file of runs: what it holds, and what it says where something is missing."""

import html
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnsig
from pinnsig.core.errors import ReportError, RunError, TrustError
from pinnsig.problem import Box, Coefficient, Dirichlet, Disc, Initial, PointData, Problem
from pinnsig.reports.page import Page, script_json
from pinnsig.reports.sweep import sweep_report
from pinnsig.sweeps import SweepTable
from tests.conftest import SMALL, Cli
from tests.reports.pages import Report

pytest.importorskip("plotly", reason="plotly is not installed: pip install 'pinnsig[report]'")

EVIL = "</script><script>alert(1)</script> & <b>"


class Plate(Problem):
    """-(u_xx + u_yy) = q </script><script>alert(1)</script> & <b>, with q to be found."""

    domain = Disc((0.0, 0.0), 1.0)
    q = Coefficient(1.0, learn=True, true=4.0)

    def residual(self, u: Any) -> Any:
        return u.xx + u.yy + self.q

    def conditions(self):
        yield Dirichlet(on="boundary", u=0.0)
        points = np.linspace(-0.5, 0.5, 9)
        yield PointData({"x": points, "y": 0 * points}, u=1 - points**2, name="probe <b>")


class Waves(Problem):
    """Two fields on a square over time."""

    domain = Box(x=(0.0, 1.0), y=(0.0, 2.0), t=(0.0, 1.0))
    fields = ("u", "v")

    def residual(self, u: Any, v: Any) -> Any:
        return u.t - v.xx, v.t + u.yy

    def conditions(self):
        yield Initial(u=1.0, v=0.0)

    def solution(self, x: Any, y: Any, t: Any) -> Any:
        return {"u": 1.0 + 0 * x * y * t}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def burgers(finished: Path, folder: Path) -> Path:
    return pinnsig.report(finished, out=folder / "burgers.html")


@pytest.fixture(scope="module")
def plate(folder: Path) -> Path:
    run = pinnsig.solve(Plate, runs=folder, figures=False, **SMALL).path
    return pinnsig.report(run, problem=Plate)


def close(shown: Any, true: Any) -> None:
    """Equal in five digits, gaps where there is nothing."""
    values = np.array(shown, dtype=float)
    np.testing.assert_allclose(values, true, rtol=6e-5, atol=1e-30)


def test_it_needs_nothing_from_elsewhere(burgers: Path):
    found = Report(burgers)
    assert not found.open
    assert found.addresses == ["data:,"]
    assert found.places == list(found.charts)
    assert burgers.read_text(encoding="utf-8").count("plotly.js v") == 1
    for part in ("Viscous Burgers equation", "relative L2 error", "pinnsig solve burgers",
                 "Solution", "Residual", "Training", "The network at its start",
                 "lbfgs", "every setting", "versions"):  # fmt: skip
        assert part in found.text


def test_maps_hold_the_model(burgers: Path, finished: Path):
    found = Report(burgers)
    prediction, reference, error, residual = found.traces("heatmap")
    t, x = prediction["x"], prediction["y"]
    assert (len(t), len(x)) == (41, 101)
    assert (t[0], t[-1], x[0], x[-1]) == (0, 1, -1, 1)
    model = pinnsig.load(finished)
    close(prediction["z"], model.predict(x=np.array(x)[:, None], t=np.array(t)[None, :])["u"])
    assert reference["z"][75][20] == pytest.approx(-0.5927695, rel=1e-5)  # of Cole and Hopf
    off = np.abs(np.array(prediction["z"]) - np.array(reference["z"]))
    np.testing.assert_allclose(error["z"], off, atol=2e-4)
    at = model.predict(("u", "u.t", "u.x", "u.xx"), x=residual["y"][30], t=residual["x"][70])
    r = at["u.t"] + at["u"] * at["u.x"] - 0.01 / np.pi * at["u.xx"]
    assert residual["z"][30][70] == pytest.approx(np.log10(abs(r[0])), abs=1e-3)


def test_the_slider_of_time_moves_curves(burgers: Path, finished: Path):
    found = Report(burgers)
    (chart,) = [c for c in found.charts.values() if "frames" in c]
    reference, prediction = (chart["frames"][i]["y"] for i in "01")
    assert len(reference) == len(prediction) == 41
    x = chart["data"][1]["x"]
    close(prediction[20], pinnsig.load(finished).predict(x=x, t=0.5)["u"])


def test_training_is_drawn_from_the_log(burgers: Path, finished: Path):
    found = Report(burgers)
    (loss,) = [
        c for c in found.charts.values() if "total loss" in [t.get("name") for t in c["data"]]
    ]
    records = list(pinnsig.load(finished).directory.metrics())
    close(loss["data"][-1]["y"], [record["loss"] for record in records])
    assert loss["data"][-1]["x"] == [0, 1, 2, 3, 4, 5, 6]
    assert [note["text"] for note in loss["layout"]["annotations"]] == ["adam", "lbfgs"]
    assert "iterations done" in loss["layout"]["annotations"][-1]["hovertext"]


def test_a_users_text_is_no_markup(plate: Path):
    text = plate.read_text(encoding="utf-8")
    assert "alert(1)</script>" not in text
    found = Report(plate)
    assert EVIL in found.text
    assert "b" not in found.tags
    names = [trace.get("name") for chart in found.charts.values() for trace in chart["data"]]
    assert "probe &lt;b&gt;" in names  # plotly.js would take it for markup


def test_no_data_ends_a_script():
    text = script_json({"a": [EVIL, "<!--"], "b": float("nan")})
    assert "<" not in text
    assert json.loads(text) == {"a": [EVIL, "<!--"], "b": None}


def test_a_shape_is_blank_outside(plate: Path):
    found = Report(plate)
    prediction, residual = found.traces("heatmap")
    x, y = np.meshgrid(prediction["x"], prediction["y"])
    gaps = np.array(prediction["z"], dtype=float)
    outside = x**2 + y**2 > 1 + 1e-6
    assert np.isnan(gaps[outside]).all()
    assert np.isfinite(gaps[x**2 + y**2 < 1 - 1e-6]).all()
    model = pinnsig.load(plate.parent, problem=Plate)
    assert gaps[50, 60] == pytest.approx(model.predict(x=x[50, 60], y=y[50, 60])["u"][0], rel=6e-5)
    assert np.shape(residual["z"]) == gaps.shape


def test_a_class_of_python_is_repeated_in_python(plate: Path, tmp_path: Path, monkeypatch: Any):
    text = Report(plate).text
    code = text[text.index("import json, pinnsig") : text.index(" Solution ")]
    monkeypatch.chdir(tmp_path)
    lines = re.split(r" (?=settings =|for name|pinnsig.solve)", code)
    quick = "\n".join(lines).replace("(Plate, ", "(Plate, figures=False, ")
    exec(quick, {"Plate": Plate})
    (again,) = (tmp_path / "runs").glob("*/*/result.json")
    before = json.loads((plate.parent / "result.json").read_text("utf-8"))
    assert json.loads(again.read_text("utf-8"))["best_loss"] == before["best_loss"]


def test_commands_repeat_a_run(solve: Cli, cli: Cli, tmp_path: Path):
    before = solve("burgers", "--scale", 1.3, "--set", "nu=0.02", "--json").json()
    page = Report(pinnsig.report(before["run"], out=tmp_path / "a.html"))
    command = page.text[
        page.text.index("pinnsig solve") : page.text.index(" pinnsig solve --config")
    ]
    words = shlex.split(command)[1:]
    again = cli(*words, "--no-figures", "--json", "--runs", tmp_path / "again").json()
    assert again["best_loss"] == before["best_loss"]
    assert "--scale 1.3" in command
    assert "nu=0.02" in command


def test_what_was_learned(plate: Path):
    found = Report(plate)
    assert "coefficient value" in found.text
    traces = [c["data"] for c in found.charts.values() if c["data"][0].get("name") == "learned"]
    assert traces[0][1]["y"] == [4, 4]
    assert traces[0][0]["y"][0] == 1


def test_space_and_time_have_a_slider_for_each_field(folder: Path):
    run = pinnsig.solve(Waves, runs=folder, figures=False, **SMALL).path
    found = Report(pinnsig.report(run, problem=Waves))
    maps = [c for c in found.charts.values() if c["data"][0]["type"] == "heatmap"]
    assert len(maps) == 3 + 1 + 1  # u has a reference, v has none; and the residual
    frames = maps[0]["frames"]["0"]["z"]
    assert np.shape(frames) == (26, 51, 51)
    x, y = (maps[0]["data"][0][axis] for axis in "xy")
    assert (x[-1], y[-1]) == (1, 2)
    predicted = pinnsig.load(run, problem=Waves).predict(x=x[10], y=y[40], t=np.linspace(0, 1, 26))
    close([frame[40][10] for frame in frames], predicted["u"])


def test_several_runs_are_compared(finished: Path, folder: Path, cli: Cli):
    other = pinnsig.solve("burgers", runs=folder, figures=False, **{**SMALL, "seed": 3}).path
    told = cli("report", finished, other, "--out", folder / "two" / "both.html")
    assert told.code == 0
    assert Path(told.out.strip()) == folder / "two" / "both.html"
    found = Report(folder / "two" / "both.html")
    assert "run seed relative L2 error" in found.text
    first, second = found.charts["chart-1"]["data"]
    assert first["name"].endswith(finished.name)
    assert second["name"].endswith(other.name)


def test_a_sweep(folder: Path):
    table = pinnsig.sweep(
        "burgers", scale=[1.0, 1.5], out=folder / "sweep", **{**SMALL, "adam": 1, "lbfgs": 0}
    )
    written = pinnsig.report(table.path)
    assert written == table.path / "report.html"
    found = Report(written)
    assert "2 of 2 runs done" in found.text
    best = min(table, key=lambda row: row["best_loss"])
    assert f"pinnsig report {table.path / best['run']}" in found.text
    close(found.charts["chart-1"]["data"][0]["y"], table.column("best_loss"))


def test_a_sweeps_lines_are_medians_and_its_areas_ranges():
    rows = [
        {"run": f"{init}-{scale}-{seed}", "status": "done", "init": init, "scale": scale,
         "seed": seed, "best_loss": loss * (1 + scale) * (1 + seed**2), "relative_l2": None,
         **dict.fromkeys(("seconds", "iterations", "stop", "learned", "suspicious", "reason"))}
        for init, loss in (("eoc", 1e-3), ("he <b>", 1e-4)) for scale in (1, 10, 100)
        for seed in (0, 1, 2)
    ]  # fmt: skip
    page = Page()
    text = sweep_report(page, SweepTable(rows, ["init", "scale", "seed"], Path("sweep")))
    assert "pinnsig report 'sweep/he &lt;b&gt;-1-0'" in html.unescape(text).replace(
        "<b>", "&lt;b&gt;"
    )
    (chart,) = page.charts.values()
    assert chart["layout"]["xaxis"]["type"] == "log"
    low, high, middle, *_ = chart["data"]
    assert middle["name"] == "eoc"
    assert low["y"] == [0.002, 0.011, 0.101]
    assert middle["y"] == [0.004, 0.022, 0.202]
    assert high["y"] == [0.01, 0.055, 0.505]
    assert chart["data"][5]["name"] == "he &lt;b&gt;"


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copied"))


def test_an_unfinished_run_shows_what_there_is(copied: Path):
    for name in ("result.json", "model.safetensors"):
        (copied / name).unlink()
    told: list[str] = []
    found = Report(pinnsig.report(copied, tell=told.append))
    assert "has no model.safetensors: the run did not finish" in told[0]
    assert "no solution can be shown" in found.text
    assert "pinnsig resume" in found.text
    assert "Training" in found.text
    assert not found.traces("heatmap")


def test_points_that_are_damaged(copied: Path):
    (copied / "points.safetensors").write_bytes(b"torn")
    found = Report(pinnsig.report(copied))
    assert len(found.traces("heatmap")) == 3
    assert "points.safetensors is damaged" in found.text


def test_numbers_that_are_none(copied: Path):
    log = copied / "metrics.jsonl"
    log.write_text(log.read_text("utf-8").replace('"loss": ', '"loss": NaN, "was": ', 1), "utf-8")
    found = Report(pinnsig.report(copied))
    (loss,) = [
        c for c in found.charts.values() if "total loss" in [t.get("name") for t in c["data"]]
    ]
    assert loss["data"][-1]["y"][0] is None


def test_a_part_that_fails_is_a_line(copied: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("by <nothing>")

    monkeypatch.setattr("pinnsig.reports.run.residual_map", fail)
    found = Report(pinnsig.report(copied))
    assert "cannot be shown: ZeroDivisionError: by <nothing>" in found.text
    assert "Training" in found.text


def test_without_plotly_nothing_is_read(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    said = cli("report", tmp_path / "missing").complaint()
    assert said.endswith("plotly is not installed: pip install 'pinnsig[report]'\n")


def test_what_cannot_be_reported_of(cli: Cli, finished: Path, tmp_path: Path):
    assert "is no run directory" in cli("report", tmp_path).complaint()
    assert "--out FILE" in cli("report", finished, finished).complaint()
    (tmp_path / "file").write_text("")
    assert (
        "cannot write" in cli("report", finished, "--out", tmp_path / "file" / "a.html").complaint()
    )
    with pytest.raises(ReportError, match="say where to"):
        pinnsig.report(finished, finished)
    with pytest.raises(ReportError, match="name a run"):
        pinnsig.report()
    images = tmp_path / "images"
    images.mkdir()
    (images / "config.json").write_text('{"dataset": "mnist"}')
    with pytest.raises(RunError, match="a run of classify, which has no fields"):
        pinnsig.report(images)


def test_code_of_strangers_is_not_run(heat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = pinnsig.solve(str(heat), runs=tmp_path, figures=False, **SMALL).path
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another user"))
    monkeypatch.setattr("pinnsig.core.trust._here", set())
    with pytest.raises(TrustError):
        pinnsig.report(run)
    assert not (run / "report.html").exists()
    assert "Heat equation u_t = k u_xx." in Report(pinnsig.report(run, trust=True)).text
