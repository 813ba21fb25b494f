"""Phases as data: texts, tables, the command line, configuration files."""

import json
from pathlib import Path
from typing import Any

import pytest

import pinnsig
from pinnsig.core.errors import SettingsError
from pinnsig.run.settings import PRESETS, parse_phase, phase_table, read_config, resolve
from tests.conftest import SMALL, Cli

COUNTS = {name: value for name, value in SMALL.items() if name not in ("adam", "lbfgs")}
FLAGS = [text for name, value in COUNTS.items() for text in (f"--{name}", str(value))]


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("adam:600", {"optimizer": "adam", "iterations": 600}),
        ("adam:6,lr=1e-3", {"optimizer": "adam", "iterations": 6, "lr": 1e-3}),
        (" lbfgs : 5 , history = 20 ", {"optimizer": "lbfgs", "iterations": 5, "history": 20}),
        ("radam:iterations=4", {"optimizer": "radam", "iterations": 4}),
        (
            "adamw:9,weight_decay=0.1,beta1=0.8,schedule=cosine,warmup=3,clip=2",
            {"optimizer": "adamw", "iterations": 9, "weight_decay": 0.1, "beta1": 0.8,
             "schedule": "cosine", "warmup": 3, "clip": 2.0},
        ),
        (
            "lbfgs:9,dtype=float64,points=rad,rad_k=2,evaluations=8,seconds=1.5,loss=1e-9",
            {"optimizer": "lbfgs", "iterations": 9, "dtype": "float64", "points": "rad",
             "rad_k": 2.0, "evaluations": 8, "seconds": 1.5, "loss": 1e-9},
        ),
    ],
)  # fmt: skip
def test_a_text_and_a_table_give_the_same_phase(text: str, table: dict[str, Any]):
    assert parse_phase(text) == parse_phase(table)
    assert phase_table(parse_phase(text)) == table
    assert parse_phase(phase_table(parse_phase(text))) == parse_phase(text)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("adma:3", "optimizer = 'adma' is unknown: did you mean adam"),
        ("adam", "no iterations, as in adam:600"),
        ("adam:x", "iterations = 'x' must be a whole number"),
        ("adam:2.5", "iterations = 2.5 must be a whole number"),
        ("adam:-3", "iterations = -3 must be at least 0"),
        ("adam:3,lr", "'lr' is not KEY=VALUE"),
        ("adam:3,lr=0", "lr = 0 must be greater than 0"),
        ("adam:3,lr=1,lr=2", "lr is given twice"),
        ("adam:3,lrr=1", "did you mean lr"),
        ("adam:3,history=4", "adam: key 'history' is unknown"),
        ("lbfgs:3,history=4.5", "history = 4.5 must be a whole number"),
        ("adam:3,schedule=cosin", "did you mean cosine"),
        ("adam:3,points=zzz", "known are fresh, rad, rar-d"),
        ("adam:3,dtype=float16", "float16"),
        ({"optimizer": "adam"}, "no iterations"),
        ({"iterations": 3}, "no optimizer"),
        ({"optimizer": "adam", "iterations": 3, "lr": "1e-3"}, "must be a number .without quotes"),
        (7, "must be a text like adam:600,lr=1e-3, or a table"),
    ],
)
def test_a_wrong_phase_is_named(wrong: Any, words: str):
    with pytest.raises(SettingsError, match=words):
        parse_phase(wrong)


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        (["lbfgs:3,lr=1e-3"], "lbfgs has no learning rate"),
        (["lbfgs:3,schedule=cosine"], "takes no schedule"),
        (["adam:3,rad_k=2"], "rad_k belongs to points"),
        (["adam:3,points=rad,added=2"], "added belongs to points = rar-d"),
        (["adam:3,points=rad,candidates=39"], "candidates = 39 are fewer than the 40 points"),
        (["adam:3,beta1=1.5"], "beta1 = 1.5"),
        (["lbfgs:3,history=0"], "history = 0"),
        (["lbfgs:3,c1=0.95"], "c1 < c2"),
        (["adam:3,final=2"], "final = 2 must be above 0 and at most 1"),
        ("adam:3", "must be a list"),
    ],
)
def test_what_cannot_be_is_refused_before_there_is_a_run(runs: Path, phases: Any, words: str):
    with pytest.raises(SettingsError, match=words):
        pinnsig.solve("burgers", runs=runs, phases=phases, **COUNTS)
    assert not runs.exists()


def test_phases_and_their_counts_cannot_both_be_given():
    with pytest.raises(SettingsError, match="adam = 3 and phases cannot both be given"):
        resolve({"problem": "burgers", "phases": ["lbfgs:3"], "adam": 3})


def test_without_phases_there_are_those_of_the_preset():
    settings = resolve({"problem": "burgers", "device": "cpu", "adam": 7})
    assert [(p.optimizer, p.iterations) for p in settings.phase_list()] == [
        ("adam", 7), ("lbfgs", PRESETS["quick"]["lbfgs"]),
        ("ssbroyden", PRESETS["quick"]["broyden"]),
    ]  # fmt: skip


def test_the_accurate_preset_ends_with_levenberg_marquardt_at_points_drawn_anew():
    *_, broyden, last = resolve({"problem": "burgers", "preset": "accurate"}).phase_list()
    assert (broyden.optimizer, last.optimizer, last.points) == ("ssbroyden", "lm", "rad")
    assert last.every is not None
    assert last.every < last.iterations


def test_an_error_limit_needs_a_solution(runs: Path, tmp_path: Path):
    file = tmp_path / "plain.py"
    file.write_text(
        "from pinnsig.problem import Box, Problem\n\n"
        "class Plain(Problem):\n"
        "    domain = Box(x=(0.0, 1.0))\n"
        "    def residual(self, u):\n"
        "        return u.x - 1.0\n",
        encoding="utf-8",
    )
    for given in ({"stop_error": 0.1, **SMALL}, {"phases": ["adam:3,error=0.1"], **COUNTS}):
        with pytest.raises(SettingsError, match="no solution"):
            pinnsig.solve(file, runs=runs, **given)


def test_flags_reach_the_run(cli: Cli, runs: Path):
    flags = ["--phase", "adam:4,lr=1e-3,schedule=exponential", "--phase", "lbfgs:3,dtype=float64"]
    outcome = cli("solve", "burgers", *FLAGS, *flags, "--runs", runs, "--no-figures", "--json")
    result = outcome.json()
    assert [(p["name"], p["iterations"]) for p in result["phases"]] == [("adam", 4), ("lbfgs", 3)]
    config = json.loads((Path(result["run"]) / "config.json").read_text(encoding="utf-8"))
    assert config["phases"][1] == {"optimizer": "lbfgs", "iterations": 3, "dtype": "float64"}
    assert config["adam"] is None
    assert "adam 4, lbfgs 3" in outcome.err
    again = cli(
        "solve",
        "--config",
        f"{result['run']}/config.json",
        "--runs",
        runs,
        "--no-figures",
        "--json",
    ).json()
    assert again["best_loss"] == result["best_loss"]


def test_a_file_reaches_the_run(cli: Cli, runs: Path, tmp_path: Path):
    file = tmp_path / "my.toml"
    head = "".join(f"{name} = {value}\n" for name, value in COUNTS.items())
    file.write_text(
        f'problem = "burgers"\n{head}stop_loss = 1e-9\n'
        '[[phases]]\noptimizer = "adam"\niterations = 4\nlr = 1e-3\n'
        '[[phases]]\noptimizer = "lbfgs"\niterations = 2\nhistory = 7\n',
        encoding="utf-8",
    )
    assert read_config(file)["phases"][1]["history"] == 7
    result = cli("solve", "--config", file, "--runs", runs, "--no-figures", "--json").json()
    assert result["iterations"] == 6


def test_a_wrong_phase_on_the_command_line_is_one_line(cli: Cli, runs: Path):
    outcome = cli("solve", "burgers", *FLAGS, "--phase", "adma:3", "--runs", runs)
    assert "did you mean adam" in outcome.complaint()


def test_errors_are_logged_where_asked_and_end_a_run(cli: Cli, runs: Path):
    flags = ["--phase", "adam:20", "--error-every", "5"]
    result = cli(
        "solve", "burgers", *FLAGS, *flags, "--runs", runs, "--no-figures", "--json"
    ).json()
    log = (Path(result["run"]) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    errors = [json.loads(line)["relative_l2"] for line in log]
    assert [i for i, error in enumerate(errors) if error is not None] == [0, 5, 10, 15, 20]
    flags = ["--phase", "adam:20,error=1e9", "--phase", "lbfgs:2"]
    more = ["--error-every", "4", "--runs", runs, "--no-figures", "--json"]
    result = cli("solve", "burgers", *FLAGS, *flags, *more).json()
    assert [(p["stop"], p["iterations"]) for p in result["phases"]] == [
        ("error reached", 4), ("iterations done", 2),
    ]  # fmt: skip
