"""Files from strangers are data: their code is run after the user said so, and never before."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

import pinnsig
from pinnsig.cli import trusting
from pinnsig.core.errors import RunError, TrustError
from pinnsig.problem import problem_class
from pinnsig.problem.source import Source
from tests.conftest import SMALL, Cli

BOMB = "\nimport pathlib; pathlib.Path({!r}).touch()\n"


@pytest.fixture
def bomb(heat: Path, tmp_path: Path) -> Path:
    """What a stranger's code would leave behind."""
    path = tmp_path / "exploded"
    text = heat.read_text(encoding="utf-8") + BOMB.format(str(path))
    heat.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def strangers(heat: Path, bomb: Path, tmp_path: Path, monkeypatch) -> Path:
    """A run that another user made."""
    with pytest.MonkeyPatch.context() as other:
        other.setenv("XDG_DATA_HOME", str(tmp_path / "stranger"))
        other.setattr("pinnsig.core.trust._here", set())
        run = pinnsig.solve(heat, runs=tmp_path / "got", figures=False, **SMALL).path
    monkeypatch.setattr("pinnsig.core.trust._here", set())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    bomb.unlink()
    return run


def commands(run: Path) -> list[list]:
    return [
        ["predict", run, "--at", "x=0.1", "t=0.1"],
        ["plot", run],
        ["resume", run, "--lbfgs", "5", "--no-figures"],
        ["solve", "--config", run / "config.json", "--runs", run.parent / "new"],
    ]


def test_a_strangers_run_is_not_run(strangers: Path, bomb: Path, cli: Cli):
    for command in commands(strangers):
        complaint = cli(*command).complaint()
        assert "source/heat.py" in complaint
        assert "sha256" in complaint
        assert "--trust" in complaint
    for call in (pinnsig.load, pinnsig.resume):
        with pytest.raises(TrustError, match="trust=True"):
            call(strangers)
    assert cli("show", strangers).code == 0
    assert not bomb.exists()


def test_trust_is_remembered_for_these_files_only(strangers: Path, bomb: Path, cli: Cli):
    assert pinnsig.load(strangers, trust=True).predict(x=0.1, t=0.1)
    assert bomb.exists()
    for command in commands(strangers):
        assert cli(*command).code == 0
    (strangers / "source" / "torch.py").touch()  # what an import might find
    assert "and 1 more" in cli("plot", strangers).complaint()


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_on_a_terminal_it_is_asked(strangers: Path, bomb: Path, cli: Cli, monkeypatch, answer: str):
    asked = []

    def confirm(text: str, **options) -> bool:
        asked.append(text)
        return answer == "y"

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(trusting.click, "confirm", confirm)
    trust = trusting.trusting(False)
    if answer == "y":
        assert pinnsig.load(strangers, trust=trust)
        assert pinnsig.load(strangers, trust=trust)
    else:
        with pytest.raises(TrustError):
            pinnsig.load(strangers, trust=trust)
    (question,) = asked
    assert "source/heat.py" in question
    assert bomb.exists() == (answer == "y")


def test_runs_of_built_in_problems_are_trusted(finished: Path, monkeypatch, tmp_path: Path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "new"))
    monkeypatch.setattr("pinnsig.core.trust._here", set())
    assert pinnsig.load(finished).predict(x=0.1, t=0.1)


def test_a_copied_run_of_ones_own_is_still_trusted(heat: Path, runs: Path, tmp_path: Path):
    run = pinnsig.solve(heat, runs=runs, figures=False, **SMALL).path
    shutil.move(run, tmp_path / "moved")
    assert pinnsig.load(tmp_path / "moved").predict(x=0.1, t=0.1)
    code = tmp_path / "moved" / "source" / "heat.py"
    code.write_text(code.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(TrustError):
        pinnsig.load(tmp_path / "moved")


@pytest.mark.parametrize("mode", [0o777, 0o722])
def test_notes_that_others_could_write_are_not_believed(
    strangers: Path, tmp_path: Path, monkeypatch, mode: int
):
    pinnsig.load(strangers, trust=True)
    monkeypatch.setattr("pinnsig.core.trust._here", set())
    folder = tmp_path / "own" / "pinnsig" / "trusted"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert pinnsig.load(strangers)
    folder.chmod(mode)
    with pytest.raises(TrustError):
        pinnsig.load(strangers)


def test_without_a_place_for_notes_it_works(heat: Path, solve: Cli, tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
        patched.setattr("pinnsig.core.trust._here", set())
        done = solve(heat)
        assert done.code == 0
        assert "loading it later asks for --trust" in done.err
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "home", _no_home)
        patched.delenv("XDG_DATA_HOME")
        patched.setattr("pinnsig.core.trust._here", set())
        assert "no home directory" in solve(heat).err


def _no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_an_old_runs_file_is_asked_about_too(strangers: Path, bomb: Path, cli: Cli):
    config = json.loads((strangers / "config.json").read_text(encoding="utf-8"))
    del config["source"]
    (strangers / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (strangers / "source" / "heat.py").rename(strangers / "problem.py")
    shutil.rmtree(strangers / "source")
    for command in commands(strangers):
        assert "problem.py" in cli(*command).complaint()
    assert not bomb.exists()
    assert cli("predict", strangers, "--at", "x=0", "t=0", "--trust").code == 0
    assert bomb.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../../heat.py"},
        {"file": "/etc/heat.py"},
        {"file": "heat.py\0"},
        {"code": {"../heat.py": "0"}},
        {"data": {"/etc/passwd": "0"}},
        {"file": 3},
        {"code": [1]},
        {"kind": None},
        {"origin": "registered"},
    ],
)
def test_config_json_cannot_lead_outside(strangers: Path, bomb: Path, cli: Cli, change: dict):
    config = json.loads((strangers / "config.json").read_text(encoding="utf-8"))
    config["source"] |= change
    (strangers / "config.json").write_text(json.dumps(config), encoding="utf-8")
    cli("predict", strangers, "--at", "x=0.1", "t=0.1", "--trust").complaint()
    assert not bomb.exists()


@pytest.mark.parametrize("name", ["metrics.jsonl", "source", "figures", "figures/loss.png"])
def test_links_out_of_a_run_are_refused(strangers: Path, tmp_path: Path, name: str, cli: Cli):
    target = tmp_path / "target"
    path = strangers / name
    path.parent.mkdir(exist_ok=True)
    if path.is_dir():
        path.rename(target)
    else:
        target.write_text("mine", encoding="utf-8")
        path.unlink(missing_ok=True)
    path.symlink_to(target)
    for command in commands(strangers)[:3]:
        assert "leads out of the run directory" in cli(*command, "--trust").complaint()
    assert target.is_dir() or target.read_text(encoding="utf-8") == "mine"


def test_a_link_among_the_source_is_refused(strangers: Path, tmp_path: Path):
    (strangers / "source" / "more.py").symlink_to(tmp_path / "heat.py")
    with pytest.raises(RunError, match="leads out"):
        pinnsig.load(strangers, trust=True)


def test_records_that_are_none():
    for record in ({}, {"origin": "file"}, {"origin": "file", "kind": "A", "code": 1}):
        with pytest.raises(RunError, match="damaged"):
            Source.read(record, Path("config.json"))


# --- sweeps -------------------------------------------------------------------------------------


def test_a_strangers_sweep_is_not_run(
    heat: Path, bomb: Path, tmp_path: Path, cli: Cli, monkeypatch
):
    flags = [text for name, value in SMALL.items() for text in (f"--{name}", value)]
    out = tmp_path / "got"
    with pytest.MonkeyPatch.context() as other:
        other.setenv("XDG_DATA_HOME", str(tmp_path / "stranger"))
        other.setattr("pinnsig.core.trust._here", set())
        table = pinnsig.sweep(heat, out=out, seed=[0, 1], keep_checkpoints=True, **SMALL)
    for row in table:  # interrupted runs, which would be gone on with
        (out / row["run"] / "result.json").unlink()
    monkeypatch.setattr("pinnsig.core.trust._here", set())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    bomb.unlink()
    mine = ["sweep", "poisson", *flags, "--out", out, "--quiet"]
    planned = cli(*mine, "--dry-run")
    assert "3 runs in" in planned.out
    assert "1 to be run" in planned.out
    assert "you have not run this code here" in planned.err
    assert cli(*mine).code == 1  # members are missing
    assert cli("plot", out).code == 0
    assert not bomb.exists()
    assert cli(*mine, "--trust").code == 0
    assert bomb.exists()


def test_a_members_own_copy_is_asked_about(heat: Path, bomb: Path, tmp_path: Path, cli: Cli):
    flags = [text for name, value in SMALL.items() for text in (f"--{name}", value)]
    out = tmp_path / "got"
    table = pinnsig.sweep(heat, out=out, keep_checkpoints=True, **SMALL)
    run = out / table[0]["run"]
    (run / "result.json").unlink()
    with (run / "source" / "heat.py").open("a", encoding="utf-8") as stream:
        stream.write(BOMB.format(str(tmp_path / "second")))
    assert "source/heat.py" in cli("sweep", heat, *flags, "--out", out, "--quiet").complaint()
    assert not (tmp_path / "second").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners of POSIX")
def test_who_owns_the_notes(strangers: Path, monkeypatch):
    pinnsig.load(strangers, trust=True)
    monkeypatch.setattr("pinnsig.core.trust._here", set())
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(TrustError):
        pinnsig.load(strangers)


def test_problem_class_of_a_name_runs_it(heat: Path, bomb: Path):
    """A file that the user names is the user's word."""
    assert problem_class(str(heat))
    assert bomb.exists()
