"""Digests of classes from Python: what they run and hold, and nothing else."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pinnsig.problem import Box, Coefficient, Problem
from pinnsig.problem.fingerprint import fingerprint

FACTOR = 2.0


def helper(x):
    return FACTOR * x


def made(value=1.0, array=(1.0, 2.0), method=lambda self, u: u.xx, width=1.0):
    held = np.array(array)

    class Made(Problem):
        """A class."""

        domain = Box(x=(0.0, width))
        k = Coefficient(value)
        residual = method

        def solution(self, x):
            return helper(x) + held

    return Made


def test_equal_classes_have_one():
    assert fingerprint(made()) == fingerprint(made())
    assert len(fingerprint(made())) == 64


@pytest.mark.parametrize(
    "change",
    [
        {"value": 1.5},
        {"array": (1.0, 2.5)},
        {"method": lambda self, u: 2 * u.xx},
        {"method": lambda self, u, x: u.xx},
        {"width": 2.0},
    ],
)
def test_what_differs_is_told_apart(change):
    assert fingerprint(made(**change)) != fingerprint(made())


def test_what_a_method_refers_to_counts(monkeypatch):
    before = fingerprint(made())
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3.0)
    assert fingerprint(made()) != before
    monkeypatch.undo()
    assert fingerprint(made()) == before
    monkeypatch.setattr(sys.modules[__name__], "helper", lambda x: x)
    assert fingerprint(made()) != before


def test_another_process_finds_the_same():
    code = (
        "from tests.problem.test_fingerprint import made\n"
        "from pinnsig.problem.fingerprint import fingerprint\n"
        "print(fingerprint(made()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "12"},
    )  # fmt: skip
    assert done.stdout.strip() == fingerprint(made())


def test_what_a_path_has_worked_out_does_not_count(tmp_path):
    place = tmp_path / "a"
    kind = made(method=lambda self, u: u.xx if place else u)
    before = fingerprint(kind)
    assert hash(place)  # which it keeps
    assert str(place.parent)
    assert fingerprint(kind) == before
    other = tmp_path / "b"
    assert fingerprint(made(method=lambda self, u: u.xx if other else u)) != before
