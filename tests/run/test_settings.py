"""Settings: checks by name, configuration files, presets."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnsig.core.errors import DeviceError, SettingsError
from pinnsig.run.settings import PRESETS, check_settings, read_config, resolve


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"lr": 1}, 1.0),
        ({"lr": np.float32(0.5)}, 0.5),
        ({"lr": Fraction(1, 4)}, 0.25),
        ({"adam": np.int64(3)}, 3),
        ({"p": "auto"}, "auto"),
        ({"p": 0}, 0.0),
        ({"weight": {"initial": 2}}, {"initial": 2.0}),
    ],
)
def test_values_get_the_type_of_their_setting(given: dict[str, Any], value: Any):
    ((name, found),) = check_settings(given).items()
    assert found == value
    assert type(found) is type(value)
    json.dumps({name: found})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lr": "1e-4"}, "lr = '1e-4' must be a number"),
        ({"lr": True}, "lr = True must be a number"),
        ({"lr": 10**400}, "lr = inf must be finite"),
        ({"scale": float("nan")}, "scale = nan must be finite"),
        ({"adam": 2.0}, "adam = 2.0 must be a whole number"),
        ({"adam": True}, "adam = True must be a whole number"),
        ({"act": " "}, "act = ' ' must be a word"),
        ({"act": 3}, "act = 3 must be a word"),
        ({"set": [1]}, "set = .* must be a table"),
        ({"weight": {"initial": "2"}}, "weight of initial"),
        ({"dpeth": 3}, "'dpeth' is unknown: did you mean depth"),
        ({"zzz": 3}, "'zzz' is unknown: known are problem, act"),
    ],
)
def test_a_wrong_value_is_named(given: dict[str, Any], words: str):
    with pytest.raises(SettingsError, match=words):
        check_settings(given)


def test_none_means_not_given():
    assert check_settings({"lr": None, "p": None, "depth": 3}) == {"depth": 3}


def test_toml(tmp_path: Path):
    path = written(tmp_path / "a.toml", 'lr = 1e-4\nact = "erf"\n[set]\nnu = 2e-2\n')
    assert read_config(path) == {"lr": 1e-4, "act": "erf", "set": {"nu": 0.02}}


def test_toml_with_a_byte_order_mark(tmp_path: Path):
    assert read_config(written(tmp_path / "a.toml", "\ufefflr = 1e-4\n")) == {"lr": 1e-4}


def test_json_of_a_run(tmp_path: Path):
    data = {"lr": 1e-4, "p": None, "environment": {"python": "3"}}
    assert read_config(written(tmp_path / "config.json", json.dumps(data))) == {"lr": 1e-4}


def test_a_file_with_a_wrong_value_is_named(tmp_path: Path):
    path = written(tmp_path / "a.toml", 'lr = "1e-4"\n')
    with pytest.raises(SettingsError, match=r"a\.toml: lr = '1e-4' must be a number \(without"):
        read_config(path)


def test_the_preset_of_a_cpu():
    settings = resolve({"problem": "burgers", "device": "cpu"})
    assert settings.preset == "quick"
    for name, value in PRESETS["quick"].items():
        assert getattr(settings, name) == value
    assert (settings.depth, settings.width, settings.dtype) == (6, 20, "float64")


@pytest.mark.parametrize(
    ("problem", "points"),
    [("burgers", (20_000, 1_000, 1_000)), ("black-scholes", (30_000, 4_000, 4_000))],
)
def test_the_paper_preset(problem: str, points: tuple[int, int, int]):
    settings = resolve({"problem": problem, "preset": "paper", "device": "cpu"})
    assert (settings.adam, settings.lbfgs, settings.depth, settings.width) == (600, 1000, 50, 64)
    assert (settings.collocation, settings.initial, settings.boundary) == points


def test_a_setting_beats_the_preset():
    given = {"problem": "burgers", "preset": "paper", "device": "cpu", "adam": 0, "initial": 5}
    settings = resolve(given)
    assert (settings.adam, settings.lbfgs, settings.initial) == (0, 1000, 5)


def test_adam_and_lbfgs_together_say_the_training_in_full():
    polish = PRESETS["quick"]["broyden"]
    for given, broyden in (({"adam": 5}, polish), ({"lbfgs": 5}, polish),
                           ({"adam": 5, "lbfgs": 5}, 0),
                           ({"adam": 5, "lbfgs": 5, "broyden": 7}, 7)):  # fmt: skip
        assert resolve({"problem": "burgers", **given}).broyden == broyden
    full = {"problem": "burgers", "preset": "accurate", "adam": 5, "lbfgs": 5}
    assert resolve(full).lm == 0
    assert resolve({**full, "lm": 7}).lm == 7


def test_an_unsuitable_device_is_refused():
    with pytest.raises(DeviceError, match="mps has no float64"):
        resolve({"problem": "burgers", "device": "mps", "dtype": "float64"})


def test_a_problem_is_needed():
    with pytest.raises(SettingsError, match="no problem is named"):
        resolve({})
