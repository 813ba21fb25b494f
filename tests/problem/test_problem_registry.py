from importlib.metadata import EntryPoint

import pytest

from pinnsig.core.errors import ProblemError
from pinnsig.problem import Problem, problem_class, problem_entries, registry

HEAT = """
from pinnsig.problem import Box, Problem

class {name}(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))

    def residual(self, u):
        return u.t - u.xx
"""


def write(folder, text, name="my pde.py"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_built_in_problems_are_entry_points():
    entries = problem_entries()
    assert {"burgers", "black-scholes"} <= set(entries)
    assert list(entries) == sorted(entries)
    assert entries["burgers"].value == "pinnsig.problems.burgers:Burgers"


def test_unknown_name_with_a_suggestion():
    with pytest.raises(ProblemError, match=r"problem 'burger' is unknown: did you mean burgers\?"):
        problem_class("burger")
    with pytest.raises(
        ProblemError, match=r"'zzzz' is unknown: known are .*burgers.* .or give a file"
    ):
        problem_class("zzzz")


def test_entry_points_that_cannot_be_used(monkeypatch):
    broken = {
        "gone": EntryPoint("gone", "no_such_module:X", registry.GROUP),
        "wrong": EntryPoint("wrong", "math:sqrt", registry.GROUP),
    }
    monkeypatch.setattr(registry, "problem_entries", lambda: broken)
    with pytest.raises(ProblemError, match="'gone' cannot be loaded: ModuleNotFoundError"):
        problem_class("gone")
    with pytest.raises(ProblemError, match="'wrong' is registered but is no Problem class"):
        problem_class("wrong")


def test_file_by_path(tmp_path):
    found = problem_class(write(tmp_path, HEAT.format(name="Heat")))
    assert issubclass(found, Problem)
    assert found.__name__ == "Heat"
    assert found().domain.names == ("x", "t")


def test_file_with_two_problems(tmp_path):
    path = write(tmp_path, HEAT.format(name="Heat") + HEAT.format(name="Cold"))
    assert problem_class(f"{path}:Cold").__name__ == "Cold"
    with pytest.raises(ProblemError, match=r"has Heat, Cold: choose one with .*my pde\.py:NAME"):
        problem_class(path)
    with pytest.raises(ProblemError, match=r"has no problem 'Warm': it has Heat, Cold"):
        problem_class(f"{path}:Warm")


def test_a_colon_in_the_path(tmp_path):
    folder = tmp_path / "a:b"
    folder.mkdir()
    path = write(folder, HEAT.format(name="Heat"))
    assert problem_class(path).__name__ == problem_class(f"{path}:Heat").__name__ == "Heat"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\nclass (", r"my pde\.py, line 2: syntax error"),
        ("x = 1", r"has no problem: write a class that extends Problem"),
        (
            "from pinnsig.problems.burgers import Burgers",
            r"has no problem",
        ),  # imported, not its own
        ("raise RuntimeError('first\\nsecond')", r"cannot be imported: RuntimeError: first$"),
        ("import no_such_module", r"cannot be imported: ModuleNotFoundError"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, text, words):
    with pytest.raises(ProblemError, match=words):
        problem_class(write(tmp_path, text))


def test_file_that_is_not_there(tmp_path):
    for name in (str(tmp_path / "none.py"), str(tmp_path), "none.py:Heat"):
        with pytest.raises(ProblemError, match="there is no file"):
            problem_class(name)
