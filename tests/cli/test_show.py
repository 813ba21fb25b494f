"""show: a run, one that has no result, a sweep, and a folder of runs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import pinnsig
from pinnsig.cli.showing import _interval
from pinnsig.run.callbacks import Callback
from pinnsig.run.directory import RunDirectory
from pinnsig.run.state import FINISHED_RUN, INTERRUPTED_RUN, TRAINING_RUN, run_state
from pinnsig.training import Record
from tests.conftest import SMALL, Cli, strict_json

QUICK = {**SMALL, "figures": False}


class Dies(Callback):
    """Ends the process's work on a run as a kill would, after some iterations."""

    def __init__(self, at: int) -> None:
        self.at = at

    def recorded(self, record: Record) -> None:
        if record.step == self.at:
            raise KeyboardInterrupt


def killed(runs: Path, at: int = 4, problem: Any = "inverse-heat", **settings: Any) -> Path:
    with pytest.raises(KeyboardInterrupt):
        pinnsig.solve(problem, runs=runs, callbacks=[Dies(at)], **{**QUICK, **settings})
    (path,) = (p for p in runs.glob("*/*") if not (p / "result.json").exists())
    return path


def test_a_run(cli: Cli, finished: Path):
    shown = cli("show", finished)
    assert shown.code == 0
    for text in ("best_loss", "relative_l2", "residual", "boundary", "adam", "iterations done"):
        assert text in shown.out
    written = strict_json((finished / "result.json").read_text(encoding="utf-8"))
    assert cli("show", finished, "--json").json() == written


def test_what_was_learned_stands_in_a_table(cli: Cli, solve: Cli):
    result = solve("inverse-heat", "--json").json()
    k = result["coefficients"]["k"]
    assert k["start"] == 0.1
    assert k["true"] == 0.2
    assert k["error"] == pytest.approx(abs(k["value"] - 0.2))
    lines = [line.split() for line in cli("show", result["run"]).out.splitlines()]
    head = next(line for line in lines if line[:1] == ["learned"])
    assert head[:7] == ["learned", "value", "start", "true", "error", "estimated", "error"]
    assert head[7:] == ["standard", "error", "95", "%", "interval"]
    row = next(line for line in lines if line[:1] == ["k"])
    assert [float(cell) for cell in row[1:4]] == pytest.approx([k["value"], 0.1, 0.2], rel=1e-5)


def test_the_summary_of_a_solve_has_it_too(solve: Cli):
    out = solve("inverse-heat").out.splitlines()
    assert [line.split()[0] for line in out[-2:]] == ["learned", "k"]


def test_without_a_true_value_none_is_shown(cli: Cli, solve: Cli, heat: Path):
    text = heat.read_text(encoding="utf-8").replace("above=0.0", "above=0.0, learn=True")
    heat.write_text(text, encoding="utf-8")
    result = solve(heat, "--json").json()
    assert result["relative_l2"] is None  # the solution follows what is learned
    shown = cli("show", result["run"]).out
    (head,) = (line for line in shown.splitlines() if line.startswith("learned"))
    assert "true" not in head


def test_a_killed_run_shows_what_is_known(cli: Cli, runs: Path):
    path = killed(runs)
    assert run_state(path).name == INTERRUPTED_RUN
    shown = cli("show", path)
    assert shown.code == 0
    for text in ("inverse-heat", "interrupted", "lbfgs", "loss", "residual", "learned",
                 f"pinnsig resume {path}"):  # fmt: skip
        assert text in shown.out
    found = cli("show", path, "--json").json()
    assert (found["state"], found["step"], found["iteration"]) == (INTERRUPTED_RUN, 4, 1)
    assert found["coefficients"]["k"] > 0
    assert cli("resume", path, "--no-figures").code == 0
    assert run_state(path).name == FINISHED_RUN


def test_one_killed_before_its_first_checkpoint(cli: Cli, runs: Path):
    path = killed(runs)
    for name in path.glob("state*.safetensors"):
        name.unlink()
    (path / "metrics.jsonl").unlink()
    assert "start it anew" in cli("show", path).out


def test_one_that_another_process_trains(cli: Cli, runs: Path):
    path = killed(runs)
    with RunDirectory.open(path).locked():
        assert run_state(path).name == TRAINING_RUN
        shown = cli("show", path).out
        assert "being trained" in shown
        assert "resume" not in shown
        assert "training at iteration 4" in cli("show", runs).out
    assert run_state(path).name == INTERRUPTED_RUN


def test_a_folder_of_runs_is_a_table_with_the_latest_last(cli: Cli, runs: Path, finished: Path):
    stopped = killed(runs, act="softsign2")
    for name in ("20200102-030405-abcdef", "20190102-030405-abcdef"):
        shutil.copytree(finished, runs / "burgers" / name)
    (runs / "burgers" / "20190102-030405-abcdef" / "result.json").write_text("{", encoding="utf-8")
    (runs / "notes").mkdir()
    (runs / "again").symlink_to(runs)
    shown = cli("show", runs)
    assert shown.code == 0
    head, *lines = shown.out.splitlines()
    assert head.split() == ["run", "problem", "act", "init", "loss", "error", "stop", "date"]
    assert [line.split()[0] for line in lines[:3]] == [
        "burgers/20190102-030405-abcdef",
        "burgers/20200102-030405-abcdef",
        str(stopped.relative_to(runs)),
    ]
    assert "damaged" in lines[0]
    assert "2020-01-02 03:04" in lines[1]
    assert "iterations done" in lines[1]
    assert "softsign2" in lines[2]
    assert "interrupted at iteration 4" in lines[2]
    assert lines[-1] == f"latest: pinnsig show {stopped}"
    rows = cli("show", runs, "--json").json()
    assert [row["stop"] for row in rows] == [
        "damaged",
        "iterations done",
        "interrupted at iteration 4",
    ]
    assert cli("show", runs / "burgers").out.splitlines()[1].startswith("20190102-030405-abcdef")


def test_a_sweep_is_a_table_alone_and_a_row_among_runs(cli: Cli, runs: Path):
    given = {name: value for name, value in SMALL.items() if name != "lbfgs"}
    table = pinnsig.sweep("inverse-heat", set={"k": [0.1, 0.3]}, runs=runs, lbfgs=0, **given)
    shown = cli("show", table.path)
    assert shown.code == 0
    head, *lines = shown.out.splitlines()
    assert {"set.k", "learned", "best_loss", "run"} <= set(head.split())
    assert "k=0." in lines[0]
    assert lines[-1] == "2 of 2 runs done"
    assert len(cli("show", table.path, "--json").json()) == 2
    (row,) = cli("show", runs, "--json").json()
    assert row["stop"] == "sweep: 2 of 2 done, best shown"
    assert row["loss"] == min(table.column("best_loss"))


def test_what_is_no_run(cli: Cli, tmp_path: Path):
    assert "no run directory" in cli("show", tmp_path).complaint()
    assert "no run directory" in cli("show", tmp_path / "nowhere").complaint()


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_damaged_result(cli: Cli, finished: Path, tmp_path: Path, content: str):
    copied = Path(shutil.copytree(finished, tmp_path / "copied"))
    (copied / "result.json").write_text(content, encoding="utf-8")
    assert "result.json" in cli("show", copied).complaint()


def test_an_interval_has_the_digits_that_tell_its_ends_apart():
    assert _interval(9.99998, 10.00001) == "9.99998 to 10.00001"
    assert _interval(14.99999999, 15.00000001) == "14.99999999 to 15.00000001"
    assert _interval(-1.0, 1.0) == "-1 to 1"


def test_runs_are_listed_and_sorted(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert "there are no runs in runs" in cli("runs").complaint()
    for name, loss, error in (("a", 1e-3, 0.5), ("b", 1e-5, 0.7), ("c", 1e-4, None)):
        run = tmp_path / "runs" / "heat" / name
        run.mkdir(parents=True)
        (run / "config.json").write_text(json.dumps({"problem": "heat", "act": "tanh"}))
        result = {"best_loss": loss, "relative_l2": error, "estimated_error": 0.1, "stop": "done"}
        (run / "result.json").write_text(json.dumps(result))

    def order(*arguments: str) -> list[str]:
        return [row["run"][-1] for row in cli("runs", "--json", *arguments).json()]

    assert order("--sort", "loss") == ["a", "c", "b"]
    assert order("--sort", "error") == ["b", "a", "c"]
    assert order("--problem", "heat") == ["a", "b", "c"]
    assert cli("runs", "--sort", "loss").out.endswith("lowest loss: pinnsig show runs/heat/b\n")
    assert "there are no runs of wave" in cli("runs", "--problem", "wave").complaint()
    assert "did you mean loss?" in cli("runs", "--sort", "los").complaint()
