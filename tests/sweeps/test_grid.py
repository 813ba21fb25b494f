"""Grids: what texts and lists stand for, products and pairs, names of members."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnsig.core.errors import ActivationError, InitializerError, ProblemError, SettingsError
from pinnsig.sweeps import Grid, make_grid, plan
from pinnsig.sweeps.estimate import measured_seconds
from pinnsig.sweeps.grid import Member
from pinnsig.sweeps.values import values_of
from tests.conftest import SMALL

SCALES = [0.1, 0.3, 0.5]


@pytest.mark.parametrize(
    ("name", "given", "values"),
    [
        ("scale", "0.1,0.3,0.5", SCALES),
        ("scale", [0.1, "0.3,0.5"], SCALES),
        ("scale", np.array(SCALES), SCALES),
        ("scale", 1, [1]),
        ("scale", "0.1:2:9", [0.1, 0.3375, 0.575, 0.8125, 1.05, 1.2875, 1.525, 1.7625, 2.0]),
        ("scale", "0.1:0.3:3", [0.1, 0.2, 0.3]),
        ("scale", "log:0.01:100:5", [0.01, 0.1, 1.0, 10.0, 100.0]),
        ("scale", "0.5, 1:2:2", [0.5, 1.0, 2.0]),
        ("lr", "1e-4,1e-3", [1e-4, 1e-3]),
        ("depth", "10:50:5", [10, 20, 30, 40, 50]),
        ("seed", range(3), [0, 1, 2]),
        ("p", "auto,0.4", ["auto", 0.4]),
        ("act", "tanh,softsign2", ["tanh", "softsign2"]),
        ("act", "tanh(10x)+erf(x)", ["tanh(10x)+erf(x)"]),
        ("init", "eoc:sigma_b=0,eoc:sigma_b=0.2", ["eoc:sigma_b=0", "eoc:sigma_b=0.2"]),
        ("init", "calibrated,eoc:sigma_b=0", ["calibrated", "eoc:sigma_b=0"]),
        (
            "init",
            "calibrated:p=0.4, epsilon=0.1,xavier,calibrated:p=0.1",
            ["calibrated:p=0.4,epsilon=0.1", "xavier", "calibrated:p=0.1"],
        ),
        ("deterministic", "true,false", [True, False]),
        ("phases", ["adam:5,lr=0.1"], [["adam:5,lr=0.1"]]),
        (
            "phases",
            ["adam:5,lr=0.1,adam:9", "lbfgs:3"],
            [["adam:5,lr=0.1", "lbfgs:3"], ["adam:9", "lbfgs:3"]],
        ),
        ("phases", [["adam:5"], ["lbfgs:3"]], [["adam:5"], ["lbfgs:3"]]),
        ("set.nu", "0.01,0.02", [0.01, 0.02]),
        ("set.kind", "call,put", ["call", "put"]),
        ("weight.initial", "log:1:100:3", [1.0, 10.0, 100.0]),
    ],
)
def test_values(name: str, given: Any, values: list[Any]):
    found = values_of(name, given)
    assert found == values
    assert [type(one) for one in found] == [type(one) for one in values]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scale": "0.1,"}, r"scale = '0.1,' has an empty value"),
        ({"scale": "0.1:2"}, r"scale = '0.1:2' is no number, and no range such as 0.1:2:9"),
        ({"scale": "0.1:2:0"}, "count must be at least 1"),
        ({"scale": "0.1:2:2.5"}, "scale = '2.5' is no whole number"),
        ({"scale": "log:0:1:3"}, "both ends of a log range must be above 0"),
        ({"scale": "-1,1"}, "scale = -1 must be greater than 0"),
        ({"scale": []}, "scale has no value"),
        ({"depth": "1:2:3"}, "holds 1.5, which is no whole number"),
        ({"depth": "5.5"}, "depth = '5.5' is no whole number"),
        ({"set": {"nu": "1:x:3"}}, r"set.nu = 'x' is no number"),
        ({"weight": {"initial": "much"}}, "weight.initial = 'much' is no number"),
        ({"set": 3}, "set = 3 must be a table"),
        ({"phases": ["adm:5,adam:6"]}, "did you mean adam"),
        ({"sclae": "1,2"}, "did you mean scale"),
        ({"problem": None}, "no problem is named"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], words: str):
    with pytest.raises(SettingsError, match=words):
        make_grid({"problem": "burgers", **given})


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"problem": "burgers,burger"}, ProblemError),
        ({"act": "tanh,tahn"}, ActivationError),
        ({"init": "eoc,eco"}, InitializerError),
    ],
)
def test_names_are_checked_before_anything_runs(given: dict[str, Any], kind: type[Exception]):
    with pytest.raises(kind):
        plan(**{"problem": "burgers", **given})


@given(st.floats(0.01, 1.0), st.floats(1.5, 100.0), st.integers(2, 20))
def test_a_log_range_has_equal_ratios_and_both_ends(low: float, high: float, count: int):
    found = np.array(values_of("scale", f"log:{low!r}:{high!r}:{count}"))
    assert len(found) == count
    assert found[[0, -1]] == pytest.approx([low, high], rel=1e-11)
    assert found[1:] / found[:-1] == pytest.approx((high / low) ** (1 / (count - 1)), rel=1e-10)


def test_the_product_of_all_values():
    grid = make_grid({"problem": "burgers", "seed": "0,1", "scale": SCALES, "depth": 4})
    pairs = [(m["scale"], m["seed"]) for m in grid.members()]
    assert pairs == [(a, s) for a in SCALES for s in (0, 1)]
    assert grid.axes == ["scale", "seed"]
    assert all(m.settings["depth"] == 4 for m in grid.members())


def test_zip_pairs():
    both = {"problem": "burgers", "scale": "1,2", "lr": "0.1,0.2"}
    found = make_grid(both, zip=True).members()
    assert [(m["scale"], m["lr"]) for m in found] == [(1.0, 0.1), (2.0, 0.2)]
    found = make_grid({**both, "seed": "0,1"}, zip=["scale", "lr"]).members()
    assert [(m["scale"], m["lr"], m["seed"]) for m in found] == [
        (1.0, 0.1, 0), (1.0, 0.1, 1), (2.0, 0.2, 0), (2.0, 0.2, 1),
    ]  # fmt: skip


def test_zip_needs_as_many_of_each():
    with pytest.raises(SettingsError, match="as many of each: scale has 2, lr has 3"):
        make_grid({"problem": "burgers", "scale": "1,2", "lr": "1,2,3"}, zip=True)
    with pytest.raises(SettingsError, match="'depth' has no several values"):
        make_grid({"problem": "burgers", "scale": "1,2", "depth": 3}, zip=["depth"])


def test_entries_of_tables_are_settings_of_their_own():
    grid = make_grid({"problem": "burgers", "set": {"nu": "0.1,0.2"}, "weight": {"initial": 2}})
    assert grid.axes == ["set.nu"]
    assert [m.settings["set"] for m in grid.members()] == [{"nu": 0.1}, {"nu": 0.2}]
    assert all(m.settings["weight"] == {"initial": 2.0} for m in grid.members())
    assert grid.members()[1]["set.nu"] == 0.2


def test_a_name_is_a_function_of_the_settings_alone():
    first = make_grid({"problem": "burgers", "scale": "1,1.3", "depth": 50, "init": "eoc"})
    other = make_grid({"init": "eoc", "scale": 1.3, "problem": "burgers", "seed": [0, 1]})
    assert first.members()[1].name == other.members()[0].name  # 50 and 0 are the defaults
    names = {m.name for m in [*first.members(), *other.members()]}
    assert len(names) == 3
    assert all(name.startswith("burgers-tanh-1") for name in names)


SWEPT = {
    "act": ("tanh,softsign2", ["tanh", "softsign2"]),
    "scale": ("0.5,1.3", ["0.5", "1.3"]),
    "init": ("eoc:sigma_b=0,xavier", ["eoc_sigma_b=0", "xavier"]),
    "seed": ("0,1", ["seed0", "seed1"]),
    "problem": ("heat,burgers", ["heat", "burgers"]),
    "depth": ("3,6", ["depth=3", "depth=6"]),
    "width": ("8,16", ["width=8", "width=16"]),
    "p": ("0.3,auto", ["p=0.3", "p=auto"]),
    "hard": ("yes,auto", ["hard=yes", "hard=auto"]),
    "normalize": ("true,false", ["normalize=True", ""]),
    "preset": ("paper,quick", ["preset=paper", "preset=quick"]),
    "sampler": ("sobol,lhs", ["sampler=sobol", ""]),
    "dtype": ("float64,float32", ["dtype=float64", ""]),
    "lr": ("1e-3,1e-4", ["lr=0.001", "lr=0.0001"]),
    "phases": ([["adam:5,lr=0.1"], ["lbfgs:3"]], ["phases=adam", "phases=lbfgs"]),
    "set": ({"nu": "0.01,-0.02"}, ["nu=0.01", "nu=-0.02"]),
    "weight": ({"initial": "2,10"}, ["initial=2", "initial=10"]),
}


@pytest.mark.parametrize("name", SWEPT)
def test_names_show_what_is_swept(name: str):
    """Also beside other settings, and from both ends of a sweep."""
    given, shown = SWEPT[name]
    members = make_grid({"problem": "burgers", **SMALL, name: given}).members()
    assert len(members) == 2
    for member, text in zip(members, shown, strict=True):
        assert f"-{text}" in f"-{member.name}"
        assert not set(member.name) & set('/\\:*?"<>| ()+,')


def test_names_tell_files_and_classes_apart():
    given = {"problem": ["/a/b/heat.py", "/a/b/heat.py:Hot", "/c/heat.py"]}
    names = [member.name for member in make_grid(given).members()]
    assert [name.split("-")[0] for name in names] == ["heat", "heat.Hot", "heat"]
    assert len(set(names)) == 3


def test_values_that_differ_where_no_name_reaches_still_have_names_of_their_own():
    acts = [f"{'tanh(x)+' * 30}{number}*erf(x)" for number in (1, 2)]
    names = [member.name for member in make_grid({"problem": "burgers", "act": acts}).members()]
    assert len(set(names)) == 2


def test_names_are_file_names():
    act = "tanh(10x)+erf(1000x)/3 + gd(x)" * 20
    init = "calibrated:p=0.4,epsilon=0.1"
    (member,) = make_grid({"problem": "burgers", "act": act, "init": init}).members()
    assert len(member.name) < 180
    assert not set(member.name) & set('/\\:*?"<>| ()+,')


def test_a_grid_comes_back_from_json(tmp_path: Path):
    grid = make_grid(
        {"problem": "burgers", "scale": "1,2", "lr": "1,2", "p": "auto", "set": {"nu": 1},
         "phases": ["adam:5", "lbfgs:3"]},
        zip=["scale", "lr"],
    )  # fmt: skip
    data = json.loads(json.dumps(grid.as_dict()))
    again = Grid(data["values"], tuple(data["zip"]))
    assert again == grid
    assert [m.name for m in again.members()] == [m.name for m in grid.members()]


def test_a_limit_on_time_holds_for_the_estimate_too():
    member = Member({"problem": "burgers", **SMALL, "adam": 10**9, "max_seconds": 7.5})
    assert measured_seconds(member) == 7.5
    assert measured_seconds(Member({**member.settings, "max_seconds": None})) > 7.5
