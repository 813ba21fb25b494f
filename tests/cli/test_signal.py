import re

import pytest

from pinnsig.signal import health, normal_inputs
from tests.conftest import Cli


def test_one_initialiser(cli: Cli, tmp_path):
    path = tmp_path / "new" / "figure.png"
    shown = cli("signal", "tanh", "--depth", 20, "--width", 16, "--points", 8, "--figure", path)
    assert (shown.code, shown.err) == (0, "")
    assert "tanh(x), 20 layers of 16, omega = 1, 8 inputs N(0, 1) of size 16" in shown.out
    (row,) = re.findall(r"^calibrated:p=0.49,.*$", shown.out.partition("verdict")[2], re.M)[:1]
    assert len(re.split(r"  +", row)) == 9
    assert "calibrated:p=0.49,epsilon=0,sigma_b=0: " in shown.out
    assert str(path) in shown.out
    assert path.read_bytes().startswith(b"\x89PNG")


def test_json_is_the_librarys_report(cli: Cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = cli(
        "signal", "tanh", "--scale", 2, "--init", "eoc", "--sigma-b", 0.1, "--depth", 9, "--width",
        8, "--inputs", 2, "--points", 6, "--seed", 3, "--no-figure", "--json",
    ).json()  # fmt: skip
    assert list(tmp_path.iterdir()) == []
    assert found["activation"] == "2*tanh(x)"
    assert found["omega"] == 0.5
    assert found["figure"] is None
    (report,) = found["reports"]
    from pinnsig.activations import Tanh
    from pinnsig.initializers import EdgeOfChaos

    expected = health(2 * Tanh(), EdgeOfChaos(0.1), 9, 8, normal_inputs(6, 2, seed=3), seed=3)
    assert report == expected.as_dict()


def test_compare(cli: Cli, tmp_path):
    found = cli(
        "signal", "erf", "--init", "xavier", "--depth", 5, "--width", 8, "--points", 4, "--compare",
        "--dtype", "float32", "--figure", tmp_path / "a.svg", "--json",
    ).json()  # fmt: skip
    names = [report["initializer"].partition(":")[0] for report in found["reports"]]
    assert names == ["xavier", "calibrated", "calibrated", "eoc", "eoc", "he", "orthogonal"]
    assert (tmp_path / "a.svg").is_file()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("tnh", "tanh"),
        ("tanh --depth 0", "depth = 0"),
        ("tanh --width 0", "width = 0"),
        ("tanh --init hee", "he"),
        ("tanh --points 0", "points"),
        ("tanh --device tpu", "tpu"),
        ("tanh --dtype half", "half"),
    ],
)
def test_wrong(cli: Cli, arguments: str, part: str):
    assert part in cli("signal", *arguments.split(), "--no-figure").complaint()
