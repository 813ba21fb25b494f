"""`pinnsig export`."""

from pathlib import Path

import numpy as np
import pytest

import pinnsig
from tests.conftest import SMALL, Cli


def test_fields_on_a_grid(cli: Cli, finished: Path, tmp_path: Path):
    out = tmp_path / "u.csv"
    told = cli("export", finished, "--out", out, "--of", "u,u.x", "--grid", "x=0:1:3", "t=0.5")
    assert (told.code, told.out, told.err) == (0, f"{out}\n", "")
    rows = np.loadtxt(out, delimiter=",", skiprows=1)
    expected = pinnsig.load(finished).predict(("u", "u.x"), x=[0, 0.5, 1], t=0.5)
    np.testing.assert_array_equal(rows[:, 2], expected["u"])
    np.testing.assert_array_equal(rows[:, 3], expected["u.x"])


def test_where_exports_go(cli: Cli, tmp_path: Path):
    run = pinnsig.solve("burgers", path=tmp_path / "run", figures=False, **SMALL).path
    assert cli("export", run, "--to", "vti").out == f"{run / 'exports' / 'fields.vti'}\n"
    assert cli("export", run, "--to", "pt2", "--last").out == f"{run / 'exports' / 'model.pt2'}\n"
    assert (run / "exports" / "model.pt2").is_file()


def test_points_outside_are_told(cli: Cli, finished: Path, tmp_path: Path):
    told = cli("export", finished, "--out", tmp_path / "u.vti", "--grid", "t=0:2:3")
    assert told.code == 0
    assert told.err.startswith("notice: 201 of 603 points lie outside the domain: t = 2")
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("", "say --to FORMAT, or --out FILE"),
        ("--to vtk", "did you mean vtu?"),
        ("--out u.png", "does not tell the format"),
        ("--to csv --out u.vti", "ends as another format"),
        ("--to csv --grid y=0:1:3", "'y' is no coordinate"),
        ("--to csv --grid x=0:1:0", "count must be at least 1"),
        ("--to csv --grid x=0:1:3 --points p.csv", "either by --grid"),
        ("--to csv --points nowhere.csv", "cannot read nowhere.csv"),
        ("--to csv --of w", "'w' is no field"),
        ("--to onnx --grid x=0", "a grid or points belong to fields"),
    ],
)
def test_wrong_exports(cli: Cli, finished: Path, arguments: str, part: str):
    assert part in cli("export", finished, *arguments.split()).complaint()
    assert not (finished / "exports").exists()
