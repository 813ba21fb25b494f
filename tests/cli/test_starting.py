"""`pinnsig new`: files that are right problems, and solve."""

import importlib
from pathlib import Path

import pytest

from pinnsig.cli.starting import TEMPLATES, class_name
from pinnsig.problem import problem_class
from pinnsig.testing import ProblemChecks
from tests.conftest import Cli


class TestPDE(ProblemChecks):
    problem = importlib.import_module("pinnsig.cli.templates.pde").Template


class TestODE(ProblemChecks):
    problem = importlib.import_module("pinnsig.cli.templates.ode").Template


class TestSystem(ProblemChecks):
    problem = importlib.import_module("pinnsig.cli.templates.system").Template


class TestShape(ProblemChecks):
    problem = importlib.import_module("pinnsig.cli.templates.shape").Template


class TestInverse(ProblemChecks):
    problem = importlib.import_module("pinnsig.cli.templates.inverse").Template
    condition_tolerance = 5e-3  # the measurements are noisy


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_file_of_each_kind(cli: Cli, tmp_path: Path, kind: str):
    file = tmp_path / "my_own.py"
    shown = cli("new", file, "--kind", kind)
    assert shown.code == 0
    assert f"pinnsig solve {file}" in shown.out
    made = problem_class(str(file))
    assert made.__name__ == "MyOwn"
    assert made().has("solution")
    assert file.read_text(encoding="utf-8").startswith('"""')


def test_solved_as_it_is(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert cli("new", "rod.py").code == 0
    settings = "--depth 2 --width 12 --collocation 200 --adam 30 --lbfgs 150 --no-figures --json"
    assert cli("solve", "rod.py", *settings.split()).json()["relative_l2"] < 1e-2


def test_what_cannot_be(cli: Cli, tmp_path: Path):
    there = tmp_path / "there.py"
    there.write_text("mine")
    assert "is there already" in cli("new", there).complaint()
    assert there.read_text() == "mine"
    assert "must end in .py" in cli("new", tmp_path / "heat.txt").complaint()
    assert "did you mean ode?" in cli("new", tmp_path / "a.py", "--kind", "odes").complaint()
    assert "cannot write" in cli("new", tmp_path / "nowhere" / "a.py").complaint()


@pytest.mark.parametrize(
    ("file", "name"),
    [("heat.py", "Heat"), ("my-heat_2.py", "MyHeat2"), ("2d.py", "My2d"), ("box.py", "MyBox"),
     ("none.py", "MyNone"), ("é.py", "MyProblem")],
)  # fmt: skip
def test_names_of_classes(file: str, name: str):
    assert class_name(Path(file)) == name
