"""Odd names and files: one line and exit code 2, and nothing that a terminal would obey."""

import json
import shutil
from pathlib import Path

import pytest

from pinnsig.core.errors import RunError
from pinnsig.core.paths import plain, user_path
from pinnsig.run.directory import RunDirectory
from tests.conftest import Cli

ODD = ["a\0b", "x" * 5000, "y/" * 3000, "~nosuchuser/x", "\x1b[31mred", "\udc80", "", " "]


def test_paths_of_every_command(cli: Cli, finished: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for odd in ODD:
        commands = [
            ["show", odd],
            ["plot", odd],
            ["resume", odd],
            ["predict", odd, "--at", "x=0", "t=0"],
            ["predict", finished, "--csv", odd],
            ["compare", odd, "--by", "init"],
            ["solve", f"{odd}.py"],
            ["solve", f"{odd}.py:Heat"],
            ["solve", f"{odd}/heat"],
            ["solve", "--config", odd],
            ["sweep", "--config", odd],
            ["sweep", f"{odd}.py"],
        ]
        for command in commands:
            complaint = cli(*command).complaint()
            assert complaint[:-1].isprintable()
            assert len(complaint) < 1000


@pytest.mark.parametrize("odd", ODD[:4])
def test_paths_of_directories(cli: Cli, solve: Cli, odd: str, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cli("solve", "burgers", "--runs", odd, "--adam", 1, "--lbfgs", 0, "--quiet").complaint()
    cli("sweep", "burgers", "--out", odd).complaint()
    cli("sweep", "burgers", "--runs", odd, "--dry-run").complaint()


def deep(opening: str, closing: str, levels: int = 100_000) -> str:
    return opening * levels + "0" + closing * levels


@pytest.mark.parametrize(
    "text",
    [
        deep("[", "]"),
        deep('{"a":', "}"),
        '{"problem": ' + deep("[", "]") + "}",
        '{"problem": ' + deep("[", "]", 500) + "}",
        '{"seed": ' + "9" * 5000 + "}",
        "\0",
        "[]",
    ],
)
def test_files_that_nest_deep_or_are_odd(cli: Cli, finished: Path, tmp_path: Path, text: str):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    (run / "config.json").write_text(text, encoding="utf-8")
    (run / "result.json").write_text(text, encoding="utf-8")
    sweep = tmp_path / "sweep"
    sweep.mkdir()
    (sweep / "sweep.json").write_text(text, encoding="utf-8")
    toml = tmp_path / "deep.toml"
    toml.write_text(f"a = {deep('[', ']')}", encoding="utf-8")
    for command in (
        ["show", run],
        ["plot", run],
        ["resume", run],
        ["predict", run, "--at", "x=0", "t=0"],
        ["solve", "--config", run / "config.json"],
        ["solve", "--config", toml],
        ["sweep", "--config", toml],
        ["sweep", "burgers", "--out", sweep, "--dry-run"],
        ["plot", sweep],
        ["compare", sweep, "--by", "init"],
    ):
        assert len(cli(*command).complaint()) < 1000


@pytest.mark.parametrize(
    "grid",
    [
        {"values": {"problem": ["a\0b"]}, "zip": []},
        {"values": {"problem": [3]}, "zip": []},
        {"values": {"problem": "burgers", "seed": 3}, "zip": []},
        {"values": {"problem": ["burgers"], "zzz": [1]}, "zip": []},
        {"values": {"problem": ["burgers"]}, "zip": ["seed"]},
        {"values": {}, "zip": []},
        {"values": {"problem": ["burgers"]}, "zip": [], "code": {"burgers": 3}},
        {"values": {"problem": ["burgers"], "scale": ["x"]}, "zip": []},
        3,
    ],
)
def test_grids_that_are_none(cli: Cli, tmp_path: Path, grid):
    (tmp_path / "sweep.json").write_text(json.dumps({"grids": [grid]}), encoding="utf-8")
    assert "damaged" in cli("sweep", "burgers", "--out", tmp_path, "--dry-run").complaint()


def test_escapes_are_shown(cli: Cli, finished: Path, tmp_path: Path):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    evil = "\x1b]0;owned\x07\x9b31m\r"
    result |= {"problem": evil, evil: 1.0, "terms": {evil: 1.0}, "suspicious": [evil]}
    (run / "result.json").write_text(json.dumps(result), encoding="utf-8")
    shown = cli("show", run)
    assert shown.code == 0
    assert not {"\x1b", "\x07", "\x9b", "\r"} & set(shown.out + shown.err)
    assert r"\x1b]0;owned\x07\x9b31m\r" in shown.out


def test_plain_text_stays():
    assert plain("Größe λ = 3 — ok") == "Größe λ = 3 — ok"
    assert plain("a\x1b[1mb\n") == r"a\x1b[1mb\n"
    assert user_path("~", RunError) == Path.home()


def test_an_odd_directory_is_no_run(cli: Cli, tmp_path: Path):
    (tmp_path / "config.json").mkdir()
    for command in (["show", tmp_path], ["show", "/dev/null"], ["show", "/proc/self"]):
        assert "no run directory" in cli(*command).complaint()
    with pytest.raises(RunError):
        RunDirectory.open("/dev/null/x")
