"""Where `solve` takes its settings from, and that each of them arrives."""

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from tests.conftest import Cli

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
