"""Sweeps in process: nothing twice, nothing lost, failures as rows."""

import csv
import signal
from pathlib import Path
from typing import Any

import pytest

import pinnsig
from pinnsig import Callback
from pinnsig.core.errors import RunError, SettingsError
from pinnsig.problem import problem_class
from pinnsig.run import ending
from pinnsig.run.checkpoints import NEWEST
from pinnsig.run.directory import RunDirectory
from pinnsig.sweeps import SweepDirectory, SweepWatcher, plan
from tests.conftest import SMALL

GRID = {**SMALL, "scale": "0.5,1", "init": "calibrated,eoc:sigma_b=0", "seed": "0,1"}


class Seen(SweepWatcher):
    """What was run."""

    def __init__(self) -> None:
        self.todo: list[str] = []
        self.begun: list[str] = []
        self.rows: list[dict[str, Any]] = []
        self.notices: list[str] = []

    def planned(self, table, todo, workers):
        self.todo = list(todo)

    def started(self, name, where):
        self.begun.append(name)

    def ended(self, row, again):
        self.rows.append(row)

    def noticed(self, text):
        self.notices.append(text)


def results(path: Path) -> dict[str, bytes]:
    return {run.parent.name: run.read_bytes() for run in path.glob("*/result.json")}


def test_a_grid_becomes_a_table(tmp_path: Path):
    seen = Seen()
    table = pinnsig.sweep("burgers", out=tmp_path / "sweep", watcher=seen, **GRID)
    assert len(table) == 8
    assert table.varied == ["scale", "init", "seed"]
    assert seen.begun == seen.todo == table.column("run")
    assert table.values("status") == ["done"]
    one = pinnsig.solve(
        "burgers", runs=tmp_path, figures=False, **{**SMALL, "scale": 0.5, "init": "eoc:sigma_b=0",
                                                    "seed": 1},
    )  # fmt: skip
    (row,) = table.where(scale=0.5, init="eoc:sigma_b=0", seed=1)
    assert row["best_loss"] == one.best_loss
    assert row["relative_l2"] == one.relative_l2
    run = table.path / row["run"]
    assert pinnsig.load(run).predict(x=0.1, t=0.5)
    assert not (run / NEWEST).exists()
    with (table.path / "results.csv").open(encoding="utf-8") as stream:
        read = list(csv.DictReader(stream))
    assert [float(r["best_loss"]) for r in read] == table.column("best_loss")
    assert read[0]["reason"] == ""


def test_the_same_command_repeats_nothing_and_more_is_added(tmp_path: Path):
    flags = {**GRID, "scale": 1.3}
    first = pinnsig.sweep("burgers", runs=tmp_path, **flags)
    before = results(first.path)
    seen = Seen()
    again = pinnsig.sweep("burgers", runs=tmp_path, watcher=seen, **flags)
    assert again.path == first.path
    assert seen.begun == []
    assert again.rows == first.rows
    more = pinnsig.sweep("burgers", out=first.path, watcher=seen, **{**flags, "seed": "1,2"})
    assert len(seen.begun) == 2
    assert len(more) == 6
    assert {name: results(first.path)[name] for name in before} == before
    assert SweepDirectory.open(first.path).table().rows == more.rows


def test_the_table_is_rebuilt_from_the_runs(tmp_path: Path):
    table = pinnsig.sweep("burgers", runs=tmp_path, **{**GRID, "scale": 1.0})
    (table.path / "results.csv").unlink()
    again = SweepDirectory.open(table.path).write_results()
    assert again.rows == table.rows
    assert (table.path / "results.csv").read_text(encoding="utf-8") == again.csv()


def test_each_result_is_read_a_few_times_whatever_the_number_of_runs(tmp_path: Path, monkeypatch):
    flags = {**GRID, "out": tmp_path / "sweep"}
    pinnsig.sweep("burgers", **{**flags, "seed": 0})
    reads: list[Path] = []
    read = RunDirectory.read_json
    monkeypatch.setattr(
        RunDirectory,
        "read_json",
        lambda self, name: reads.append(self.path / name) or read(self, name),
    )
    table = pinnsig.sweep("burgers", **flags)
    counts = {name: reads.count(table.path / name / "result.json") for name in table.column("run")}
    assert len(counts) == 8
    assert max(counts.values()) <= 5
    assert (table.path / "results.csv").read_text(encoding="utf-8") == table.csv()


def test_a_failed_run_is_a_row_and_is_tried_once_more(tmp_path: Path, heat: Path):
    flags = {**SMALL, "set": {"k": [0.1, -1.0, 0.2]}, "out": tmp_path / "sweep"}
    table = pinnsig.sweep(heat, **flags)
    assert table.column("status") == ["done", "failed", "done"]
    (failed,) = table.failed
    assert failed["set.k"] == -1.0
    assert "k = -1" in failed["reason"]
    assert failed["attempts"] == 1
    for attempts in (2, 2):
        seen = Seen()
        table = pinnsig.sweep(heat, watcher=seen, **flags)
        assert table.failed[0]["attempts"] == attempts
    assert seen.begun == []
    table = pinnsig.sweep(heat, retry=2, **flags)
    assert table.failed[0]["attempts"] == 3


def test_a_fault_that_was_mended_is_forgotten(tmp_path: Path, heat: Path):
    text = heat.read_text(encoding="utf-8")
    broken = text.replace("u.t -", "1/0 + u.t -")
    heat.write_text(broken, encoding="utf-8")
    flags = {**SMALL, "scale": "1,2", "out": tmp_path / "sweep"}
    table = pinnsig.sweep(heat, **flags)
    assert [row["reason"] for row in table.failed] == table.column("reason")
    assert "division by zero" in table[0]["reason"]
    heat.write_text(text, encoding="utf-8")
    table = pinnsig.sweep(heat, **flags)
    assert table.values("status") == ["done"]
    assert table.values("reason") == [None]


def test_ctrl_c_ends_the_sweep_and_the_run_goes_on_bit_for_bit(tmp_path: Path, monkeypatch):
    whole = pinnsig.sweep("burgers", out=tmp_path / "whole", **{**GRID, "init": "eoc"})

    heard: list[int] = []

    class Stop(SweepWatcher):
        def started(self, name, where):
            if name == whole[2]["run"]:
                monkeypatch.setattr(Callback, "recorded", press)

        def interrupting(self, number):
            heard.append(number)

    def press(self, record):
        if record.step == 4:
            signal.raise_signal(signal.SIGINT)

    flags = {**GRID, "init": "eoc", "out": tmp_path / "sweep"}
    table = pinnsig.sweep("burgers", watcher=Stop(), **flags)
    monkeypatch.undo()
    assert table.interrupted
    assert heard == [signal.SIGINT]
    assert table.column("status") == ["done", "done", "interrupted", "missing"]
    seen = Seen()
    table = pinnsig.sweep("burgers", watcher=seen, **flags)
    assert seen.begun == whole.column("run")[2:]
    assert not table.interrupted
    for name in ("best_loss", "last_loss", "relative_l2", "iterations"):
        assert table.column(name) == whole.column(name)
    results = [RunDirectory(table.path / row["run"]).read_json("result.json") for row in table]
    assert [result["resumed"] for result in results] == [0, 0, 1, 0]
    log = [
        [{**line, "seconds": 0} for line in RunDirectory(t.path / t[2]["run"]).metrics()]
        for t in (whole, table)
    ]
    assert log[0] == log[1]


def test_killed_before_the_first_checkpoint_it_starts_again(tmp_path: Path):
    flags = {**SMALL, "seed": "0,1", "out": tmp_path / "sweep"}
    table = pinnsig.sweep("burgers", **flags)
    run = table.path / table[0]["run"]
    for path in run.iterdir():
        if path.name != "config.json":
            path.unlink()
    again = pinnsig.sweep("burgers", **flags)
    assert again.column("best_loss") == table.column("best_loss")


def test_a_run_over_slabs_goes_on_where_it_was_killed(tmp_path: Path):
    out = tmp_path / "sweep"
    flags = {**SMALL, "slabs": 2, "checkpoint_every": 1}
    (row,) = pinnsig.sweep("heat", out=out, keep_checkpoints=True, **flags)
    run = out / row["run"]
    first = (run / "slab-1" / "metrics.jsonl").read_bytes()
    for folder in (run, run / "slab-2"):
        (folder / "result.json").unlink()
    (member,) = SweepDirectory.open(out).members()
    assert SweepDirectory.open(out).reached(member.name) == row["iterations"]
    (again,) = pinnsig.sweep("heat", out=out, **flags)
    assert again["status"] == "done"
    assert [path.name for path in out.iterdir() if path.is_dir()] == [row["run"]]  # none aside
    assert (run / "slab-1" / "metrics.jsonl").read_bytes() == first
    assert not list(run.rglob("state*.safetensors"))


def test_a_torn_result_is_set_aside(tmp_path: Path):
    flags = {**SMALL, "seed": "0,1", "out": tmp_path / "sweep"}
    table = pinnsig.sweep("burgers", **flags)
    run = table.path / table[0]["run"]
    (run / "result.json").write_text('{"best_lo', encoding="utf-8")
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    seen = Seen()
    again = pinnsig.sweep("burgers", watcher=seen, **flags)
    assert seen.begun == [run.name]
    assert again.column("best_loss") == table.column("best_loss")
    aside = run.with_name(f"{run.name}.aside")
    assert {path.name: path.read_bytes() for path in aside.iterdir()} == before
    (notice,) = [text for text in seen.notices if "set aside" in text]
    assert notice.endswith(aside.name)


@pytest.mark.parametrize("what", ["a file beside", "a file instead", "a link", "a folder"])
def test_a_file_of_the_user_is_never_deleted(tmp_path: Path, what: str):
    flags = {**SMALL, "seed": 0, "out": tmp_path / "sweep"}
    (row,) = plan("burgers", **flags).table()
    pinnsig.sweep("burgers", **{**flags, "seed": 1})
    run, thesis = flags["out"] / row["run"], tmp_path / "thesis.tex"
    thesis.write_text("mine", encoding="utf-8")
    if what == "a file beside":
        run.mkdir()
        (run / "config.json").write_text("{}", encoding="utf-8")
        thesis.rename(run / "thesis.tex")
    elif what == "a file instead":
        thesis.rename(run)
    elif what == "a link":
        run.symlink_to(tmp_path / "nowhere")
    else:
        run.mkdir()
        thesis.rename(run / "problem.py")  # named as ours, in what is no run
    seen = Seen()
    for number in (1, 2):  # the second time, there is nothing to be done
        table = pinnsig.sweep("burgers", watcher=seen, **flags)
        assert table.values("status") == ["done"], number
    aside = run.with_name(f"{run.name}.aside")
    found = {
        "a file beside": aside / "thesis.tex", "a file instead": aside, "a folder":
        aside / "problem.py",
    }.get(what)  # fmt: skip
    assert found.read_text(encoding="utf-8") == "mine" if found else aside.is_symlink()
    assert len([text for text in seen.notices if "set aside" in text]) == 1


def test_what_another_process_trains_is_left_to_it_and_no_failure(tmp_path: Path):
    flags = {**SMALL, "seed": "0,1", "out": tmp_path / "sweep"}
    rows = plan("burgers", **flags).table()
    held = flags["out"] / rows[0]["run"]
    pinnsig.sweep("burgers", **{**flags, "seed": 1})
    held.mkdir()
    for _ in range(3):  # more often than a failure is tried again
        seen = Seen()
        with RunDirectory(held).locked():
            table = pinnsig.sweep("burgers", watcher=seen, **flags)
        (row,) = table.where(seed=0)
        assert row["status"] == "missing"
        assert row["attempts"] is None
        assert row["reason"].endswith("is being trained by another process: it is left to that one")
        assert seen.begun == [held.name] * 2
    table = pinnsig.sweep("burgers", **flags)
    assert table.values("status") == ["done"]
    assert table.values("reason") == [None]


@pytest.mark.parametrize("batch", ["off", 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_run_is_judged_ends_the_sweep(tmp_path: Path, monkeypatch, batch, number):
    heard: list[int] = []

    class Heard(Seen):
        def interrupting(self, number):
            heard.append(number)

    def press(*arguments: Any) -> Any:
        if not heard:
            signal.raise_signal(number)
        return judge(*arguments)

    judge = ending.judge
    monkeypatch.setattr(ending, "judge", press)
    flags = {**SMALL, "seed": "0,1,2,3", "out": tmp_path / "sweep", "batch": batch}
    table = pinnsig.sweep("burgers", watcher=Heard(), **flags)
    assert heard == [number]
    assert table.interrupted
    assert table[0]["status"] == "done"
    assert table.column("status")[2:] == ["missing", "missing"]


def test_what_runs_say_is_passed_on_once(tmp_path: Path):
    seen = Seen()
    pinnsig.sweep("burgers", watcher=seen, out=tmp_path / "sweep", **{**SMALL, "lr": 7.0,
                  "seed": "0,1"})  # fmt: skip
    (notice,) = [text for text in seen.notices if "learning rate" in text]
    assert notice.startswith("learning rate 7 is outside the band")


def test_a_class_can_be_swept(tmp_path: Path, heat: Path):
    kind = problem_class(str(heat))
    table = pinnsig.sweep(kind, runs=tmp_path, **SMALL, scale=[1.0, 2.0])
    assert table.values("status") == ["done"]
    assert table.path.name.startswith("heat-")  # that of its file


def test_other_directories_are_left_alone(tmp_path: Path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match="holds files already"):
        pinnsig.sweep("burgers", out=tmp_path, **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_two_processes_cannot_run_one_sweep(tmp_path: Path):
    table = pinnsig.sweep("burgers", runs=tmp_path, **SMALL)
    with RunDirectory(table.path).locked(), pytest.raises(RunError, match="another process"):
        pinnsig.sweep("burgers", out=table.path, **SMALL)


def test_a_typo_costs_nothing(tmp_path: Path):
    with pytest.raises(SettingsError, match="did you mean scale"):
        pinnsig.sweep("burgers", runs=tmp_path, sclae=[1, 2])
    with pytest.raises(SettingsError, match="workers = 0"):
        pinnsig.sweep("burgers", runs=tmp_path, workers=0, **SMALL)
    assert not list(tmp_path.iterdir())


def test_the_preset_stays_that_of_the_first_machine(tmp_path: Path):
    flags = {**SMALL, "out": tmp_path / "sweep"}
    first = pinnsig.sweep("burgers", preset="paper", **flags)
    seen = Seen()
    again = pinnsig.sweep("burgers", watcher=seen, **flags)
    assert seen.begun == []
    assert again.rows == first.rows
