"""Sweeps whose runs train together: each as alone, and none the worse for another."""

import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

import pinnsig
from pinnsig.core.errors import SettingsError
from pinnsig.objective.batch import Batch
from pinnsig.problem import problem_class
from pinnsig.run.directory import RunDirectory
from pinnsig.run.logbook import Logbook
from pinnsig.run.settings import resolve
from pinnsig.sweeps import Batched, InProcess, Pool, SweepTable, SweepWatcher, choose_executor
from pinnsig.sweeps.batch_size import members_that_fit
from tests.conftest import SMALL
from tests.sweeps.test_sweep import Seen, results

GRID = {**SMALL, "scale": "1,1.3", "init": "calibrated,eoc:sigma_b=0", "lr": 1e-3, "seed": "0,1"}


@pytest.fixture
def sizes(monkeypatch) -> list[int]:
    """The members of each batch that was evaluated."""
    found: list[int] = []
    evaluate = Batch.evaluate

    def counted(self, weights):
        found.append(len(self.objectives))
        return evaluate(self, weights)

    monkeypatch.setattr(Batch, "evaluate", counted)
    return found


def weights(table: SweepTable, name: str = "last.safetensors") -> list[dict[str, Any]]:
    return [RunDirectory(table.path / row["run"]).load_weights(name) for row in table]


def off(one: SweepTable, other: SweepTable) -> float:
    """The largest relative difference between the weights of two sweeps."""
    pairs = zip(weights(one), weights(other), strict=True)
    return max(
        float((a[key] - b[key]).norm() / b[key].norm())
        for a, b in pairs
        for key in a
        if a[key].any()
    )


@pytest.mark.parametrize(
    ("dtype", "most"),
    [("float64", 1e-12), pytest.param("float32", 1e-5, marks=pytest.mark.slow)],
)
def test_adam_gives_the_same_weights(tmp_path: Path, sizes, dtype, most):
    flags = {**GRID, "adam": 20, "lbfgs": 0, "dtype": dtype}
    alone = pinnsig.sweep("burgers", out=tmp_path / "alone", batch="off", **flags)
    assert sizes == []
    together = pinnsig.sweep("burgers", out=tmp_path / "batch", batch=3, **flags)
    assert off(together, alone) <= most
    assert together.column("run") == alone.column("run")
    assert together.column("evaluations") == alone.column("evaluations")
    # eight members, three at a time: two full rounds and one of two; each starts alone
    assert set(sizes) == {2, 3}
    assert sizes.count(3) == 2 * 20
    logs = [
        [
            {k: v for k, v in line.items() if k in ("phase", "iteration", "step", "evaluations")}
            for line in RunDirectory(table.path / table[4]["run"]).metrics()
        ]
        for table in (alone, together)
    ]
    assert logs[0] == logs[1]


def test_lbfgs_reaches_the_same_losses(tmp_path: Path, sizes):
    flags = {**GRID, "adam": 5, "lbfgs": 25, "dtype": "float64"}
    alone = pinnsig.sweep("burgers", out=tmp_path / "alone", **flags)
    together = pinnsig.sweep("burgers", out=tmp_path / "batch", batch=8, **flags)
    assert max(sizes) == 8
    assert len(set(sizes)) > 1  # line searches of different lengths end at different times
    for mine, own in zip(together, alone, strict=True):
        assert mine["best_loss"] == pytest.approx(own["best_loss"], rel=1e-4)


@pytest.mark.slow
def test_members_may_be_in_different_phases(tmp_path: Path, sizes):
    """And differ in all that concerns training: limits, weights, weighting, precision, points."""
    phases = [
        ["adam:12"],
        ["adam:4", "lbfgs:4"],
        ["lbfgs:3", "adam:6,points=fresh,every=2"],
        ["adam:4", "adam:6,dtype=float64"],
    ]
    small = {name: value for name, value in SMALL.items() if name not in ("adam", "lbfgs")}
    flags = {**small, "phases": phases, "weight": {"initial": "1,10"}, "weighting_every": 3,
             "weighting": ["none", "gradient-norm", "none", "attention"],
             "zip": ["phases", "weighting"]}  # fmt: skip
    alone = pinnsig.sweep("burgers", out=tmp_path / "alone", **flags)
    together = pinnsig.sweep("burgers", out=tmp_path / "batch", batch=8, **flags)
    assert together.values("status") == ["done"]
    assert max(sizes) == 6  # those that weight their points go alone
    for mine, own in zip(together, alone, strict=True):
        assert mine["iterations"] == own["iterations"]
        assert mine["best_loss"] == pytest.approx(own["best_loss"], rel=1e-3)


@pytest.mark.slow
def test_those_with_a_file_and_other_shapes(tmp_path: Path, heat: Path, sizes):
    flags = {**SMALL, "width": "6,8", "seed": "0,1", "set": {"k": [0.1, 0.2]}, "dtype": "float64"}
    alone = pinnsig.sweep(heat, out=tmp_path / "alone", **flags)
    together = pinnsig.sweep(heat, out=tmp_path / "batch", batch=8, **flags)
    assert set(sizes) == {2}
    assert together.column("best_loss") == pytest.approx(alone.column("best_loss"), rel=1e-9)
    kind = problem_class(str(heat))
    again = pinnsig.sweep(kind, out=tmp_path / "class", batch=8, **flags)
    assert again.column("best_loss") == together.column("best_loss")


def test_a_failure_is_its_own(tmp_path: Path, heat: Path):
    """Bad settings, a loss that is not finite, and a fault in the midst of training."""
    text = heat.read_text(encoding="utf-8").replace(
        "return u.t -", "far = u.value.abs() > 1e3\n"
        "        if self.k == 7 and far.any(): raise KeyError(7)\n"
        "        lost = torch.where(far, math.nan, 0.0) if self.k == 5 else 0.0\n"
        "        return lost + u.t -",
    )  # fmt: skip
    heat.write_text(text, encoding="utf-8")
    flags = {**SMALL, "set": {"k": [0.1, -1.0, 5.0, 7.0]}, "seed": "0,1", "lr": "1e-3,1e30",
             "adam": 10, "lbfgs": 0}  # fmt: skip
    alone = pinnsig.sweep(heat, out=tmp_path / "alone", **flags)
    together = pinnsig.sweep(heat, out=tmp_path / "batch", batch=5, **flags)
    assert together.column("status") == alone.column("status")
    reasons = [[str(reason).partition("; its best weights")[0] for reason in t.column("reason")]
               for t in (together, alone)]  # fmt: skip
    assert reasons[0] == reasons[1]
    assert together.values("status") == ["done", "failed"]
    assert together.column("iterations") == alone.column("iterations")
    assert {2, 10} <= set(together.column("iterations"))  # Adam ends where the loss is not finite
    losses = [[row["best_loss"] for row in t.done] for t in (together, alone)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)


def test_ctrl_c_saves_every_run_and_the_same_command_goes_on(tmp_path: Path, monkeypatch):
    flags = {**GRID, "adam": 30, "lbfgs": 0, "dtype": "float64", "batch": 3}
    whole = pinnsig.sweep("burgers", out=tmp_path / "whole", **flags)
    flags["out"] = tmp_path / "sweep"
    heard: list[int] = []

    class Heard(SweepWatcher):
        def interrupting(self, number):
            heard.append(number)

    write = Logbook.recorded

    def press(self, record):
        if record.step == 4 and not heard:
            signal.raise_signal(signal.SIGINT)
        write(self, record)

    with monkeypatch.context() as patch:
        patch.setattr(Logbook, "recorded", press)
        table = pinnsig.sweep("burgers", watcher=Heard(), **flags)
    assert table.interrupted
    assert heard == [signal.SIGINT]
    assert table.column("status") == ["interrupted"] * 3 + ["missing"] * 5
    assert table.values("reason") == [None]
    seen = Seen()
    table = pinnsig.sweep("burgers", watcher=seen, **flags)
    assert not table.interrupted
    assert seen.begun == whole.column("run")
    assert table.values("status") == ["done"]
    assert table.column("iterations") == whole.column("iterations")
    assert off(table, whole) <= 1e-12
    resumed = [RunDirectory(table.path / row["run"]).read_json("result.json") for row in table]
    assert [result["resumed"] for result in resumed] == [1] * 3 + [0] * 5


def test_a_second_ctrl_c_ends_it_at_once_with_the_best_weights(tmp_path: Path, monkeypatch):
    write = Logbook.recorded

    def press(self, record):
        if record.step == 4:
            for _ in range(2):
                signal.raise_signal(signal.SIGINT)
        write(self, record)

    monkeypatch.setattr(Logbook, "recorded", press)
    out = tmp_path / "sweep"
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        pinnsig.sweep("burgers", out=out, batch=3, **GRID)
    assert threading.active_count() == before
    assert len(list(out.glob("*/model.safetensors"))) == 3
    assert not results(out)  # none has ended
    monkeypatch.undo()
    table = pinnsig.sweep("burgers", out=out, batch=3, **GRID)
    assert table.values("status") == ["done"]


@pytest.mark.slow
def test_what_is_done_is_not_repeated(tmp_path: Path):
    flags = {**GRID, "out": tmp_path / "sweep"}
    pinnsig.sweep("burgers", **{**flags, "seed": 0})
    before = results(flags["out"])
    seen = Seen()
    table = pinnsig.sweep("burgers", batch="5", watcher=seen, **flags)
    assert seen.begun == [row["run"] for row in table if row["run"] not in before]
    assert {name: results(table.path)[name] for name in before} == before
    assert len(table.done) == 8


def test_runs_have_their_torch_threads_and_leave_none(tmp_path: Path):
    before = threading.active_count()
    table = pinnsig.sweep("burgers", out=tmp_path / "sweep", batch=2, **{**SMALL, "seed": "0,1"})
    assert threading.active_count() == before
    configs = [RunDirectory(table.path / row["run"]).read_json("config.json") for row in table]
    assert {config["environment"]["threads"] for config in configs} == {torch.get_num_threads()}


def test_how_many_are_asked_for():
    assert isinstance(choose_executor([], 1, "auto"), InProcess)  # no device to fill
    assert isinstance(choose_executor([], 1, "off"), InProcess)
    assert isinstance(choose_executor([], 2, "auto"), Pool)
    for text in (6, "6"):
        chosen = choose_executor([], 1, text)
        assert isinstance(chosen, Batched)
        assert chosen.workers == 6


@pytest.mark.parametrize("batch", [0, -1, 1.5, "many", "", True])
def test_other_numbers_are_refused(tmp_path: Path, batch):
    with pytest.raises(SettingsError, match="must be auto, off, or a number of runs"):
        pinnsig.sweep("burgers", out=tmp_path / "sweep", batch=batch, **SMALL)
    assert not (tmp_path / "sweep").exists()


def test_batches_and_workers_are_refused_together(tmp_path: Path):
    with pytest.raises(SettingsError, match="batch = 3 .* workers = 2"):
        pinnsig.sweep("burgers", out=tmp_path / "sweep", batch=3, workers=2, **SMALL)
    with pytest.raises(SettingsError, match="batch = 3 .* not on another executor"):
        pinnsig.sweep("burgers", out=tmp_path / "sweep", batch=3, executor=Pool(2), **SMALL)


def test_the_rule_of_auto():
    """A device of 132 multiprocessors and 80 GB."""

    def fit(free: float = 80e9, **given: Any) -> int:
        return members_that_fit(resolve({"problem": "burgers", **given}), 132, int(free))

    assert fit(preset="paper") == 1  # 22,000 points fill it
    few = {"preset": "paper", "collocation": 2000, "initial": 200, "boundary": 200}
    assert fit(**few) == 7
    assert fit(preset="paper", collocation=100, initial=10, boundary=10) == 32
    # 58 stacks of 6 x 2,400 x 64 numbers and 120 vectors of 50 x 64 x 64, half of which is free
    assert fit(**few, free=3 * 2 * 4 * (58 * 6 * 2400 * 64 + 120 * 50 * 64**2)) == 3
    assert fit(**few, free=0) == 1
    # the same of 6 x 20 in float64, with half a matrix of its weights
    weights = 6 * 20**2
    numbers = 14 * 6 * 2400 * 20 + 120 * weights + weights**2 // 2
    assert fit(preset="quick", free=3 * 2 * 8 * numbers) == 3
