"""What `solve` prints and leaves: the JSON result, progress, notices, the log."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from pinnsig.cli import progress, solving
from pinnsig.training import Record
from tests.conftest import Cli, strict_json

KEYS = {
    "run", "problem", "best_loss", "last_loss", "terms", "relative_l2", "max_error", "seconds",
    "iterations", "evaluations", "stop", "parameters",
}  # fmt: skip


def metrics_of(run: str | Path) -> list[dict[str, Any]]:
    text = (Path(run) / "metrics.jsonl").read_text(encoding="utf-8")
    return [strict_json(line) for line in text.splitlines()]


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
@pytest.mark.parametrize("problem", ["burgers", "black-scholes"])
def test_json_is_one_strict_document_alone_on_stdout(solve: Cli, problem: str, quiet: tuple[str]):
    outcome = solve(problem, "--json", *quiet)
    result = outcome.json()
    assert result.keys() >= KEYS
    assert result["problem"] == problem
    assert result["terms"].keys() == {"residual", "initial", "boundary"}
    assert result["iterations"] == 6
    assert result["evaluations"] >= 7
    assert result["parameters"] == 2 * 8 + 8 + 8 * 8 + 8 + 8 + 1
    assert result["best_loss"] <= result["last_loss"]
    told = [line for line in outcome.err.splitlines() if not line.startswith("notice: suspicious")]
    assert bool(told) != bool(quiet)
    written = (Path(result["run"]) / "result.json").read_text(encoding="utf-8")
    assert strict_json(written) == result


def test_a_summary_for_people(solve: Cli, runs: Path):
    outcome = solve("burgers")
    assert outcome.code == 0
    names = [line.split()[0] for line in outcome.out.splitlines()]
    assert names[0] == "best_loss"
    assert {"relative_l2", "max_error", "stop", "run"} <= set(names)
    assert len({line.index(line.split()[1]) for line in outcome.out.splitlines()}) == 1


def test_progress_tells_preset_reason_phases_and_terms(solve: Cli):
    err = solve("burgers").err
    assert "preset quick (the default: a right answer in about a minute; others: " in err
    assert "adam 3/3  loss " in err
    assert "lbfgs 3/3  loss " in err
    assert "boundary " in err
    assert "as asked" in solve("burgers", "--preset", "quick").err


def test_a_flag_takes_back_what_a_preset_says(solve: Cli):
    assert "inputs on [-1, 1]" in solve("heat", "--preset", "accurate").err
    assert "inputs on [-1, 1]" not in solve("heat", "--preset", "accurate", "--no-normalize").err


def test_progress_is_a_line_every_so_many_iterations(solve: Cli):
    lines = solve("burgers", "--adam", 100, "--lbfgs", 0).err.splitlines()
    assert sum(line.startswith("adam ") for line in lines) == 10


def test_the_bar_fits_80_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.setenv("COLUMNS", "80")
    terms = {"residual": 1.0, "initial": 2.0, "boundary": 3.0}
    with progress.Bar() as bar:
        bar.recorded(Record("start", 0, 0, 0, 0, 6.0, terms, 6.0, None, 1, 0.0))
        bar.recorded(Record("lbfgs", 2, 123, 1000, 723, 6.0, terms, 6.0, None, 1, 1.0))
    shown = capsys.readouterr().err
    assert "123/1000 loss 6.000e+00  best 6.000e+00" in shown
    assert "residual 1.00e+00  initial 2.00e+00  boundary 3.00e+00" in shown


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert isinstance(solving.progress(quiet=False), progress.Bar)


@pytest.mark.parametrize(("rate", "noticed"), [("1e-2", True), ("1e-6", True), ("1e-3", False)])
def test_a_learning_rate_outside_the_band_is_noticed(solve: Cli, rate: str, noticed: bool):
    outcome = solve("burgers", "--lr", rate)
    assert outcome.code == 0
    assert ("notice: learning rate" in outcome.err) == noticed


def test_the_log_has_every_iteration_with_its_terms(solve: Cli):
    run = solve("burgers", "--json").json()["run"]
    records = metrics_of(run)
    steps = [(r["phase"], r["iteration"]) for r in records]
    phases = [(phase, i) for phase in ("adam", "lbfgs") for i in (1, 2, 3)]
    assert steps == [("start", 0), *phases]
    for record in records:
        assert sum(record["terms"].values()) == pytest.approx(record["loss"])
        assert record["best_loss"] <= record["loss"]
    assert records[1]["learning_rate"] == 1e-4
    assert records[-1]["seconds"] >= records[0]["seconds"]


def test_log_every_thins_the_log_but_keeps_the_ends(solve: Cli):
    run = solve("burgers", "--json", "--adam", 10, "--log-every", 4, "--lbfgs", 0).json()["run"]
    assert [r["iteration"] for r in metrics_of(run)] == [0, 4, 8, 10]


def test_a_loss_that_is_not_finite_is_null_and_said(solve: Cli):
    flags = ("--lbfgs", 2, "--adam", 9, "--log-every", 5, "--dtype", "float32")
    outcome = solve("burgers", "--lr", "1e30", *flags)
    assert outcome.code == 0
    assert "notice: adam stopped at iteration" in outcome.err
    (run,) = [line.split()[-1] for line in outcome.out.splitlines() if line.startswith("run ")]
    records = metrics_of(run)
    assert None in [r["loss"] for r in records if r["phase"] == "adam"]
    result = strict_json((Path(run) / "result.json").read_text(encoding="utf-8"))
    assert result["phases"][0]["stop"] == "non-finite loss"
    assert result["best_loss"] <= records[0]["loss"]
    assert all(t.isfinite().all() for t in load_file(Path(run) / "model.safetensors").values())


def test_ctrl_c_finishes_the_step_saves_and_exits_130(solve: Cli, monkeypatch: pytest.MonkeyPatch):
    class Presser(progress.Silent):
        def recorded(self, record: Record) -> None:
            if (record.phase, record.iteration) == ("adam", 2):
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(solving, "progress", lambda quiet: Presser())
    handler = signal.getsignal(signal.SIGINT)
    outcome = solve("burgers", "--json", "--adam", 50)
    assert outcome.code == 130
    assert signal.getsignal(signal.SIGINT) is handler
    result = json.loads(outcome.out)
    assert (result["stop"], result["iterations"]) == ("interrupted", 2)
    assert {path.name for path in Path(result["run"]).iterdir()} == {
        "config.json", "metrics.jsonl", "result.json", "model.safetensors", "last.safetensors",
        "points.safetensors", "state.safetensors", "state.previous.safetensors",
    }  # fmt: skip


def test_figures_are_there_unless_declined(solve: Cli, finished: Path):
    names = {path.name for path in (finished / "figures").iterdir()}
    plain = {"loss.png", "solution.png", "slices.png", "activations.png"}
    assert names == {*plain, "residual.png"}
    assert not (Path(solve("burgers", "--json").json()["run"]) / "figures").exists()


def test_no_part_of_a_file_is_left(finished: Path):
    assert not [path for path in finished.rglob("*") if ".part" in path.name or ".tmp" in path.name]
