"""Where `solve` takes its settings from, and that each of them arrives."""

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

import pinnsig
from pinnsig.run.directory import RunDirectory
from tests.conftest import SMALL, Cli

FLAGS: list[tuple[str, Any, Any]] = [
    ("--act", "erf", "erf"),
    ("--scale", "1.3", 1.3),
    ("--p", "0.3", 0.3),
    ("--p", "auto", "auto"),
    ("--sigma-b", "0.1", 0.1),
    ("--depth", "3", 3),
    ("--width", "9", 9),
    ("--adam", "2", 2),
    ("--lbfgs", "1", 1),
    ("--lr", "2e-4", 2e-4),
    ("--collocation", "30", 30),
    ("--initial", "7", 7),
    ("--boundary", "6", 6),
    ("--sampler", "sobol", "sobol"),
    ("--set", "nu=0.02", {"nu": 0.02}),
    ("--weight", "initial=10", {"initial": 10.0}),
    ("--scaling", '{"terms": {"initial": 3}}', {"outputs": {}, "terms": {"initial": 3.0}}),
    ("--seed", "5", 5),
    ("--dtype", "float64", "float64"),
    ("--device", "cpu", "cpu"),
    ("--engine", "nested", "nested"),
    ("--preset", "paper", "paper"),
    ("--log-every", "2", 2),
]


def config_of(run: str | Path) -> dict[str, Any]:
    return json.loads((Path(run) / "config.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("flag", "text", "value"), FLAGS)
def test_every_flag_reaches_the_config(solve: Cli, flag: str, text: str, value: Any):
    run = solve("burgers", "--json", flag, text).json()["run"]
    assert config_of(run)[flag.strip("-").replace("-", "_")] == value


@pytest.mark.parametrize(
    "spec", ["calibrated", "eoc", "eoc:sigma_b=0", "xavier", "he", "orthogonal"]
)
def test_the_config_holds_the_initialiser_with_all_its_numbers(solve: Cli, spec: str):
    config = config_of(solve("burgers", "--json", "--init", spec).json()["run"])
    assert config["init"].startswith(spec.partition(":")[0] + ":")
    assert "sigma_b=" in config["init"]


def test_the_config_resolves_defaults_and_names_the_environment(solve: Cli):
    config = config_of(solve("burgers", "--json", "--scale", "2").json()["run"])
    assert config["lr"] == pytest.approx(1e-4 * 0.5)
    assert config["device"] == "cpu"
    assert config["preset"] == "quick"
    assert config["set"]["nu"] == pytest.approx(0.0031830988618)
    assert config["environment"]["versions"]["torch"]


def test_flags_go_before_the_file_and_both_before_the_preset(solve: Cli, tmp_path: Path):
    file = tmp_path / "my.toml"
    text = (
        'preset = "paper"\nseed = 3\nadam = 1\nlbfgs = 0\nscale = 1.5\nlr = 1e-4\nengine = "jets"\n'
    )
    file.write_text(text + "[weight]\ninitial = 2\nboundary = 3\n", encoding="utf-8")
    flags = ("--config", file, "--scale", "1.3", "--weight", "boundary=5", "--adam", "2")
    config = config_of(solve("burgers", "--json", *flags).json()["run"])
    assert (config["scale"], config["adam"]) == (1.3, 2)
    assert (config["seed"], config["lr"], config["preset"]) == (3, 1e-4, "paper")
    assert config["weight"] == {"initial": 2.0, "boundary": 5.0}


def test_a_file_goes_before_the_preset(cli: Cli, runs: Path, tmp_path: Path):
    file = tmp_path / "my.toml"
    text = 'problem = "burgers"\npreset = "paper"\ndepth = 2\nwidth = 4\nadam = 1\nlbfgs = 0\n'
    file.write_text(text + "collocation = 20\ninitial = 4\nboundary = 4\n", encoding="utf-8")
    result = cli("solve", "--config", file, "--runs", runs, "--no-figures", "--json").json()
    assert result["iterations"] == 1
    assert config_of(result["run"])["collocation"] == 20


def test_a_runs_own_config_gives_the_same_bits_again(solve: Cli, cli: Cli, runs: Path):
    flags = ("--act", "gd", "--set", "nu=0.02", "--seed", "4", "--init", "eoc", "--sigma-b", "0.1")
    first = solve("burgers", "--json", *flags).json()
    config = f"{first['run']}/config.json"
    again = cli("solve", "--config", config, "--runs", runs, "--no-figures", "--json").json()
    assert again["run"] != first["run"]
    for name in ("model", "last"):
        one, two = (Path(r["run"], f"{name}.safetensors").read_bytes() for r in (first, again))
        assert one == two
    assert again["best_loss"] == first["best_loss"]


def test_another_seed_gives_other_weights_and_losses(solve: Cli):
    still = ("--adam", 0, "--lbfgs", 0)
    one, two = (solve("burgers", "--json", *still, "--seed", seed).json() for seed in (0, 1))
    a, b = (load_file(Path(r["run"], "model.safetensors")) for r in (one, two))
    assert all(not bool((a[name] == b[name]).all()) for name in a if name.endswith("weight"))
    results = [solve("burgers", "--json", "--seed", s, "--init", "eoc").json() for s in (0, 0, 1)]
    assert results[0]["terms"] == results[1]["terms"] != results[2]["terms"]


def test_another_initialiser_overrides_the_one_of_a_config(solve: Cli):
    run = solve("burgers", "--json").json()["run"]
    result = solve("--config", f"{run}/config.json", "--init", "he", "--json").json()
    assert result["initializer"] == "he:sigma_b=0"


def test_flags_take_the_place_of_what_contradicts_them_in_a_file(solve: Cli, cli: Cli, runs: Path):
    config = Path(solve("burgers", "--json", "--p=0.3").json()["run"]) / "config.json"

    def from_file(*flags: str) -> tuple[dict[str, Any], list[str]]:
        done = cli(
            "solve", "--config", config, *flags, "--no-figures", "--json", "--runs", runs, "--quiet"
        )
        told = [line for line in done.err.splitlines() if "takes the place of" in line]
        return done.json(), told

    result, told = from_file("--phase", "adam:2", "--phase", "lbfgs:1")
    assert [phase["name"] for phase in result["phases"]] == ["adam", "lbfgs"]
    assert told == [
        f"notice: --phase takes the place of adam = 3, lbfgs = 3, broyden = 0, lm = 0 in {config}"
    ]
    phased = Path(result["run"]) / "config.json"
    done = cli("solve", "--config", phased, "--adam=1", "--lbfgs=1", "--no-figures", "--json",
               "--runs", runs)  # fmt: skip
    assert done.json()["iterations"] == 2
    assert f"notice: --adam takes the place of 2 phases in {phased}" in done.err.splitlines()
    result, told = from_file("--init", "xavier")
    assert result["initializer"].startswith("xavier")
    assert told == [f"notice: --init takes the place of p = 0.3 in {config}"]
    result, told = from_file("--p", "0.2")
    assert "p=0.2" in result["initializer"]
    assert told == []
    assert from_file()[1] == []


def test_settings_that_contradict_each_other_on_the_command_line_are_refused(solve: Cli):
    assert "cannot both be given" in solve("burgers", "--phase", "adam:3").complaint()


def test_a_grid_with_too_few_candidates_is_refused_before_training(cli: Cli, runs: Path):
    small = [f"--{name}={value}" for name, value in SMALL.items() if name not in ("adam", "lbfgs")]
    phase = "adam:5,points=rar-d,added=50,candidates=50"
    complaint = cli(
        "solve", "burgers", *small, "--sampler=grid", "--phase", phase, "--runs", runs
    ).complaint()
    assert "sampler grid gives 49 points where 50 candidates are asked for" in complaint
    assert not runs.exists()


def test_an_expression_with_a_minus_is_no_option(cli: Cli):
    complaint = cli("init", "-tanh(x)").complaint()
    assert "'-tanh(x)' is not a positive combination of activations" in complaint
    assert "No such option" in cli("init", "tanh(x)", "--dpth", 3).complaint()


@pytest.mark.parametrize("every", [1, 2, 7, 10, 100])
@pytest.mark.parametrize("stopped", [True, False])
def test_the_last_iteration_of_a_phase_is_logged_whatever_stops_it(
    runs: Path, every: int, stopped: bool
):
    flags = {**SMALL, "adam": 9, "lbfgs": 9, "log_every": every, "figures": False}
    reached: dict[str, Any] = {"stop_loss": 1e9} if stopped else {}
    run = pinnsig.solve("burgers", runs=runs, **flags, **reached).path
    records = list(RunDirectory.open(run).metrics())
    steps = [record["step"] for record in records]
    assert steps[0] == 0
    assert steps[-1] == (1 if stopped else 18)
    assert steps == sorted(set(steps))
    if not stopped:
        assert {9, 18} <= set(steps)
