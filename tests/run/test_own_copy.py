"""The run's own copy of its problem: code, neighbours and data, read back wherever the run is."""

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import pinnsig
from pinnsig.core.errors import ChangedCodeError, PinnsigError, ProblemError, RunError
from pinnsig.problem import Box, Dirichlet, Problem, problem_class, source, source_of
from tests.conftest import SMALL, Cli

USING = """
import math
from pathlib import Path

import numpy as np
import torch
import values
from shapes import bumps
from pinnsig.problem import Box, Dirichlet, Initial, Problem

START = float(np.loadtxt(Path(__file__).parent / "start.csv"))


class Rod(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))

    def residual(self, u):
        return u.t - values.K * u.xx

    def conditions(self):
        import late

        factor = float(np.loadtxt(Path(__file__).parent / "data" / "factor.csv"))
        yield Initial(u=lambda x: START * factor * late.ONE * bumps.bump(x))
        yield Dirichlet(on="x", u=0.0)

    def ansatz(self, n, x, t):
        return values.K * n + START
"""


@pytest.fixture
def rod(tmp_path: Path) -> Path:
    """A problem that reads two files and imports three modules, one of them in a function."""
    folder = tmp_path / "project"
    for name, text in {
        "rod.py": USING,
        "values.py": "K = 0.1\n",
        "late.py": "ONE = 1.0\n",
        "shapes/__init__.py": "",
        "shapes/bumps.py": "from . import sines\n\ndef bump(x):\n    return sines.sine(x)\n",
        "shapes/sines.py": "import torch\n\ndef sine(x):\n    return torch.sin(3.14 * x)\n",
        "start.csv": "2.0\n",
        "data/factor.csv": "0.5\n",
        "unrelated.txt": "nobody reads this\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "rod.py"


def solved(path: Path | type[Problem], runs: Path, **more) -> Path:
    return pinnsig.solve(path, runs=runs, figures=False, **{**SMALL, **more}).path


def test_neighbours_and_data_go_with_the_run(rod: Path, runs: Path, cli: Cli):
    run = solved(rod, runs)
    kept = {p.relative_to(run / "source").as_posix() for p in (run / "source").rglob("*.*")}
    assert kept == {
        "rod.py", "values.py", "late.py", "shapes/__init__.py", "shapes/bumps.py",
        "shapes/sines.py", "start.csv", "data/factor.csv",
    }  # fmt: skip
    expected = pinnsig.load(run).predict(x=0.5, t=0.5)["u"]
    shutil.rmtree(rod.parent)
    assert pinnsig.load(run).predict(x=0.5, t=0.5)["u"] == expected
    assert cli("predict", run, "--at", "x=0.5", "t=0.5").code == 0
    assert cli("plot", run).code == 0
    assert cli("resume", run, "--lbfgs", 4, "--no-figures", "--quiet").code == 0
    again = cli("solve", "--config", run / "config.json", "--runs", runs, "--no-figures", "--quiet")
    assert again.code == 0


def test_two_copies_of_a_neighbour_do_not_mix(rod: Path, runs: Path):
    first = solved(rod, runs)
    (rod.parent / "values.py").write_text("K = 7.0\n", encoding="utf-8")
    second = solved(rod, runs)
    one, two = pinnsig.load(first), pinnsig.load(second)
    at = {"x": 0.5, "t": 0.5}
    ansatz = [m.model.problem.call("ansatz", {"n": 1.0, **at}) for m in (one, two, one)]
    assert ansatz == [2.1, 9.0, 2.1]
    assert "values" not in sys.modules


def test_a_file_edited_within_its_second_is_read_anew(tmp_path: Path):
    path = tmp_path / "one.py"
    body = "from pinnsig.problem import *\nclass A(Problem):\n    n = {}\n"
    for number in (1, 2, 3):
        path.write_text(body.format(number), encoding="utf-8")
        assert vars(problem_class(str(path)))["n"] == number
    assert not list(tmp_path.rglob("*.pyc"))


def test_a_package_of_that_name_beside_the_file_is_its_neighbour(tmp_path: Path):
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "__init__.py").write_text("MINE = 3\n", encoding="utf-8")
    path = tmp_path / "one.py"
    text = "import json\nfrom pinnsig.problem import *\nclass A(Problem):\n    n = json.MINE"
    path.write_text(text, encoding="utf-8")
    assert vars(problem_class(str(path)))["n"] == 3
    assert json.loads("[1]") == [1]


def test_a_missing_neighbour_is_named(tmp_path: Path):
    path = tmp_path / "one.py"
    path.write_text("from shapes.none import x\n", encoding="utf-8")
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "__init__.py").touch()
    with pytest.raises(ProblemError, match="No module named 'shapes.none'"):
        problem_class(str(path))


def test_only_allowed_files_are_run(rod: Path):
    allowed = source_of(problem_class(str(rod))).code
    assert problem_class(str(rod), allowed)
    (rod.parent / "values.py").write_text("K = 1 / 0\n", encoding="utf-8")
    with pytest.raises(ChangedCodeError, match="values.py is not what it was"):
        problem_class(str(rod), allowed)


def test_large_data_are_linked_to(rod: Path, runs: Path, monkeypatch):
    monkeypatch.setattr(source, "LARGEST", 0)
    run = solved(rod, runs)
    assert (run / "source" / "start.csv").readlink() == rod.parent / "start.csv"
    assert pinnsig.load(run).predict(x=0.5, t=0.5)
    (rod.parent / "start.csv").write_text("3.0\n", encoding="utf-8")
    with pytest.raises(RunError, match=r"start.csv, which this run reads, is changed"):
        pinnsig.load(run)
    (rod.parent / "start.csv").unlink()
    with pytest.raises(RunError, match=r"start.csv, which this run reads, is gone"):
        pinnsig.load(run)


def test_files_elsewhere_are_recorded_and_checked(heat: Path, runs: Path, tmp_path: Path, cli: Cli):
    data = tmp_path / "elsewhere" / "k.csv"
    data.parent.mkdir()
    data.write_text("0.1\n", encoding="utf-8")
    text = heat.read_text(encoding="utf-8") + f"\nimport numpy\nK = numpy.loadtxt({str(data)!r})\n"
    heat.parent.joinpath("own").mkdir()
    heat = heat.parent / "own" / "heat.py"
    heat.write_text(text, encoding="utf-8")
    run = solved(heat, runs)
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    assert list(config["source"]["elsewhere"]) == [str(data)]
    assert pinnsig.load(run).notices == ()
    data.write_text("0.2\n", encoding="utf-8")
    assert f"{data} has changed" in pinnsig.load(run).notices[0]
    assert "notice: " in cli("predict", run, "--at", "x=0", "t=0").err
    data.unlink()
    with pytest.raises(RunError, match="k.csv"):
        pinnsig.load(run)


def test_the_working_directory_is_named(heat: Path, runs: Path, monkeypatch, solve: Cli):
    (heat.parent / "k.csv").write_text("0.1\n", encoding="utf-8")
    text = heat.read_text(encoding="utf-8") + "\nimport numpy\nK = numpy.loadtxt('k.csv')\n"
    heat.write_text(text, encoding="utf-8")
    monkeypatch.chdir(heat.parent)
    assert "notice: k.csv is read from the working directory" in solve(heat).err


def test_resume_says_that_the_original_changed(heat: Path, runs: Path, cli: Cli):
    run = solved(heat, runs)
    heat.write_text("raise RuntimeError\n", encoding="utf-8")
    resumed = cli("resume", run, "--lbfgs", 5, "--no-figures", "--quiet")
    assert resumed.code == 0
    assert "notice: heat.py changed since this run was made" in resumed.err


# --- classes from Python ------------------------------------------------------------------------


class burgers(Problem):  # noqa: N801 (named like a built-in problem)
    """u = 7 wherever it is asked."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))

    def residual(self, u):
        return u.xx

    def conditions(self):
        yield Dirichlet(on="x", u=7.0)

    def ansatz(self, n, x, t):
        return 0.0 * n + 7.0


def test_a_class_named_like_a_built_in_problem(runs: Path):
    run = solved(burgers, runs)
    for given in (None, burgers):
        assert pinnsig.load(run, problem=given).predict(x=0.5, t=0.5)["u"] == pytest.approx(7.0)
    assert not pinnsig.load(run, problem=burgers).notices


def test_another_class_than_the_runs_is_noticed(runs: Path):
    run = solved(burgers, runs)

    class Other(burgers):
        def ansatz(self, n, x, t):
            return 0.0 * n + 8.0

    (notice,) = pinnsig.load(run, problem=Other).notices
    assert "Other that is given is not the one" in notice


def test_a_class_within_a_function_has_to_be_given(runs: Path):
    class Local(burgers):
        pass

    run = solved(Local, runs)
    with pytest.raises(ProblemError, match=r"load\(run, problem=Local\)"):
        pinnsig.load(run)
    assert pinnsig.load(run, problem=Local).predict(x=0.5, t=0.5)


def test_a_class_of_a_file_is_that_files(heat: Path, runs: Path):
    run = solved(problem_class(str(heat)), runs)
    heat.unlink()
    assert pinnsig.load(run).predict(x=0.5, t=0.5)["u"].shape == (1,)


SCRIPT = """
import pinnsig
from pinnsig.problem import Box, Problem

class Flat(Problem):
    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.xx

"""


@pytest.mark.parametrize("guarded", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_script_is_kept_where_its_work_is_guarded(tmp_path: Path, guarded: bool):
    work = f"run = pinnsig.solve(Flat, runs='runs', figures=False, **{SMALL})\nprint(run.path)\n"
    if guarded:
        work = 'if __name__ == "__main__":\n' + textwrap.indent(work, "    ")
    (tmp_path / "script.py").write_text(SCRIPT + work, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    run = tmp_path / done.stdout.strip()
    if guarded:
        assert pinnsig.load(run).predict(x=0.5)["u"].dtype == np.float64
    else:
        with pytest.raises(PinnsigError, match="could not keep its code"):
            pinnsig.load(run)
