"""plot and predict."""

import csv
import io
import shutil
from pathlib import Path

import numpy as np
import pytest

import pinnsig
from tests.conftest import Cli, Outcome


def table(outcome: Outcome) -> dict[str, list[float]]:
    assert outcome.code == 0, outcome.err
    head, *rows = csv.reader(io.StringIO(outcome.out))
    return {name: [float(row[i]) for row in rows] for i, name in enumerate(head)}


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """A finished run that a test may damage."""
    return Path(shutil.copytree(finished, tmp_path / "copied"))


def test_plot_draws_all_figures_again(cli: Cli, copied: Path):
    shutil.rmtree(copied / "figures")
    log = copied / "metrics.jsonl"
    log.write_bytes(log.read_bytes()[:-20])  # cut off by a crash: drawn as far as it goes
    drawn = cli("plot", copied)
    assert drawn.code == 0
    paths = [Path(line) for line in drawn.out.splitlines()]
    assert {path.name for path in paths} == {
        "loss.png", "solution.png", "slices.png", "activations.png", "residual.png",
    }  # fmt: skip
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


@pytest.mark.parametrize(
    "at", [("--at", "x=0.1", "t=0.5"), ("--at", "x=0.1", "--at", "t=0.5"), ("--at", "t=.5", "x=.1")]
)
def test_predict_at_a_point(cli: Cli, finished: Path, at: tuple[str, ...]):
    found = table(cli("predict", finished, *at))
    assert set(found) == {"x", "t", "u"}
    assert (found["x"], found["t"]) == ([0.1], [0.5])
    assert found["u"] == pinnsig.load(finished).predict(x=0.1, t=0.5)["u"].tolist()


def test_predict_on_a_grid(cli: Cli, finished: Path):
    told = cli("predict", finished, "--at", "t=0.25,0.5", "x=-1:1:3", "--of", "u.x")
    assert told.err == ""
    found = table(told)
    assert list(found) == ["x", "t", "u.x"]
    assert found["x"] == [-1, -1, 0, 0, 1, 1]
    assert found["t"] == [0.25, 0.5] * 3
    x, t = np.meshgrid([-1, 0, 1], [0.25, 0.5], indexing="ij")
    expected = pinnsig.load(finished).predict("u.x", x=x, t=t)["u.x"]
    np.testing.assert_array_equal(found["u.x"], expected.ravel())


@pytest.mark.parametrize("way", ["at", "csv"])
def test_predict_tells_of_points_outside(cli: Cli, finished: Path, tmp_path: Path, way: str):
    points = tmp_path / "points.csv"
    points.write_text("x,t\n7,0.5\n0.5,0.5\n", encoding="utf-8")
    given = ("--csv", points) if way == "csv" else ("--at", "x=7,0.5", "t=0.5")
    told = cli("predict", finished, *given)
    assert told.code == 0
    assert told.err == (
        "notice: 1 of 2 points lie outside the domain: x = 7, where the domain has -1 to 1; "
        "there the network was not trained\n"
    )


def test_predict_partials_at_a_negative_point_in_scientific_notation(cli: Cli, finished: Path):
    point = ("--at", "x=-1e-3", "t=5e-1")
    found = table(cli("predict", finished, *point, "--of", "u, u.x,u.xx"))
    expected = pinnsig.load(finished).predict(("u", "u.x", "u.xx"), x=-1e-3, t=0.5)
    assert found == {"x": [-1e-3], "t": [0.5], **{k: v.tolist() for k, v in expected.items()}}


def test_predict_as_json(cli: Cli, finished: Path):
    found = cli("predict", finished, "--at", "x=0.1", "t=0.5", "--of", "u.xt", "--json").json()
    assert found.keys() == {"x", "t", "u.xt"}
    assert len(found["u.xt"]) == 1


def test_predict_with_the_last_weights(cli: Cli, copied: Path):
    shutil.copy(copied / "last.safetensors", copied / "kept")
    best = cli("predict", copied, "--at", "x=0.1", "t=0.5").out
    assert cli("predict", copied, "--at", "x=0.1", "t=0.5", "--last").code == 0
    (copied / "model.safetensors").unlink()
    assert cli("predict", copied, "--at", "x=0.1", "t=0.5", "--last").out.splitlines()[0] == "x,t,u"
    assert best.startswith("x,t,u\n")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_predict_a_file_with_header_and_other_columns(
    cli: Cli, finished: Path, tmp_path: Path, mark: str
):
    points = tmp_path / "points.csv"
    points.write_text(mark + "name, t ,x\nleft,0.5,-1e-1\n\nright,0.25,0.1\n", encoding="utf-8")
    found = table(cli("predict", finished, "--csv", points))
    assert (found["x"], found["t"]) == ([-0.1, 0.1], [0.5, 0.25])
    expected = pinnsig.load(finished).predict(x=[-0.1, 0.1], t=[0.5, 0.25])["u"]
    np.testing.assert_array_equal(found["u"], expected)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("", "--at x=0.1 t=0.5 or by --points"),
        ("--at x=1", "coordinate t"),
        ("--at x=1 t=1 y=1", "x, t are needed"),
        ("--at x=1 x=2 t=1", "x is given twice"),
        ("--at x=one t=1", "'x=one'"),
        ("--at x=nan t=1", "'x=nan'"),
        ("--at x=1,t=1", "'x=1,t=1'"),
        ("--at x=0:1 t=1", "'x=0:1'"),
        ("--at x=0:1:0 t=1", "count must be at least 1"),
        ("--at x=0:1:2.5 t=1", "'2.5' is no whole number"),
        ("--at x=0,,1 t=1", "empty value between its commas"),
        ("--at x=0:1:4000 t=0:1:4000", "that is 16,000,000 points: at most 10,000,000"),
        ("--at x=1 t=1 --of v", "'v'"),
        ("--at x=1 t=1 --of u.y", "'u.y'"),
        ("--at x=1 t=1 --of u.xxxxx", "order 5"),
        ("--at x=1 t=1 --csv points.csv", "either"),
        ("--csv nowhere.csv", "cannot read nowhere.csv"),
    ],
)
def test_predict_wrong(cli: Cli, finished: Path, arguments: str, part: str):
    assert part in cli("predict", finished, *arguments.split()).complaint()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "its first line must name the columns"),
        ("x,t\n", "holds no points"),
        ("x,y\n1,2\n", "no column t"),
        ("x,t\n1,2\n1,two\n", "column t, row 1 has 'two'"),
        ("x,t\n1\n", "row 0 has 1 values for 2 columns"),
        ("x,t\n1,inf\n", "t is not a finite number in 1 of 1 rows, first in row 0"),
    ],
)
def test_predict_a_wrong_file(cli: Cli, finished: Path, tmp_path: Path, text: str, part: str):
    points = tmp_path / "points.csv"
    points.write_text(text, encoding="utf-8")
    assert part in cli("predict", finished, "--csv", points).complaint()


@pytest.mark.parametrize("command", ["plot", "predict"])
def test_what_is_no_run(cli: Cli, tmp_path: Path, command: str):
    point = ("--at", "x=0", "t=0") if command == "predict" else ()
    assert "no run directory" in cli(command, tmp_path, *point).complaint()
    assert "no run directory" in cli(command, tmp_path / "nowhere", *point).complaint()


@pytest.mark.parametrize("command", ["plot", "predict"])
@pytest.mark.parametrize("content", [None, b"", b"\x10", "cut", b"\xff" * 64])
def test_damaged_weights(cli: Cli, copied: Path, command: str, content: bytes | str | None):
    path = copied / "model.safetensors"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content if isinstance(content, bytes) else path.read_bytes()[:-8])
    point = ("--at", "x=0", "t=0") if command == "predict" else ()
    line = cli(command, copied, *point).complaint()
    assert "model.safetensors" in line
    assert ("did not finish" if content is None else "damaged") in line


def test_weights_of_another_network(cli: Cli, copied: Path):
    config = copied / "config.json"
    text = config.read_text(encoding="utf-8").replace('"width": 8', '"width": 9')
    config.write_text(text, encoding="utf-8")
    assert "do not fit" in cli("predict", copied, "--at", "x=0", "t=0").complaint()


@pytest.mark.parametrize("content", [None, "", "{", "[]"])
def test_damaged_json(cli: Cli, copied: Path, content: str | None):
    if content is None:
        (copied / "config.json").unlink()
    else:
        (copied / "config.json").write_text(content, encoding="utf-8")
    assert "config.json" in cli("plot", copied).complaint()


def test_a_run_without_its_log(cli: Cli, copied: Path):
    (copied / "metrics.jsonl").unlink()
    assert "metrics.jsonl" in cli("plot", copied).complaint()
