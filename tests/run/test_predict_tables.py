"""`predict` of tensors, tables and many points; a result's model."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import pinnsig
from pinnsig import Box, Dirichlet, Problem
from pinnsig.core.errors import PinnsigError
from pinnsig.derivatives.taylor import JetsEngine
from tests.conftest import SMALL, Cli


class Line(Problem):
    """u'' = 0, whose class lives here alone."""

    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.xx

    def conditions(self):
        yield Dirichlet(on="x", u=1.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tensors_give_tensors_of_their_type(finished: Path, dtype: torch.dtype):
    model = pinnsig.load(finished)
    x = torch.tensor([[0.125, 0.25]], dtype=dtype, requires_grad=True)
    found = model.predict(("u", "u.x"), x=x, t=torch.tensor(0.5))
    exact = model.predict(("u", "u.x"), x=[[0.125, 0.25]], t=0.5)
    for name, values in found.items():
        assert (values.dtype, values.shape) == (dtype, (1, 2))
        assert not values.requires_grad
        np.testing.assert_array_equal(values.numpy(), torch.tensor(exact[name]).to(dtype))


def test_a_frame_gives_a_frame(finished: Path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    model = pinnsig.load(finished)
    frame = pandas.DataFrame(
        {"name": ["a", "b"], "t": [0.5, 1.0], "u": [0.0, 0.0], "x": [0.1, 0.2]}, index=[7, 3]
    )
    found = model.predict(frame, of=("u", "u.x"))
    assert list(found.columns) == ["u", "u.x"]
    assert list(found.index) == [7, 3]
    expected = model.predict(("u", "u.x"), x=[0.1, 0.2], t=[0.5, 1.0])
    np.testing.assert_array_equal(found["u.x"], expected["u.x"])
    assert list(frame.join(found[["u.x"]]).columns) == ["name", "t", "u", "x", "u.x"]


def test_a_file_gives_its_points_too(finished: Path, tmp_path: Path):
    path = tmp_path / "points.csv"
    path.write_text("t;x;n\n0.5;0.1;one\n1;0.2;two\n", encoding="utf-8")
    model = pinnsig.load(finished)
    for given in (path, str(path)):
        found = model.predict(given)
        assert list(found) == ["x", "t", "u"]
        np.testing.assert_array_equal(found["u"], model.predict(x=[0.1, 0.2], t=[0.5, 1])["u"])


def test_wrong_tables(finished: Path, tmp_path: Path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    model = pinnsig.load(finished)
    for frame, words in [
        (pandas.DataFrame({"x": [0.1]}), "no column t: it has x"),
        (pandas.DataFrame({"x": [0.1, None], "t": [0, 0]}), "x is not a finite number in 1 of 2"),
        (pandas.DataFrame({"x": ["a"], "t": [0]}), "columns hold numbers only"),
        (pandas.DataFrame({"x": [], "t": []}), "holds no points"),
    ]:
        with pytest.raises(PinnsigError, match=words):
            model.predict(frame)
    with pytest.raises(PinnsigError, match="both in a table and by name"):
        model.predict(pandas.DataFrame({"x": [0.1], "t": [0]}), x=0.1)  # type: ignore[call-overload]
    with pytest.raises(PinnsigError, match="given twice"):
        model.predict("u", of="u", x=0.1, t=0.5)  # type: ignore[call-overload]


def test_many_points_go_through_the_network_in_chunks(
    finished: Path, monkeypatch: pytest.MonkeyPatch
):
    asked = []
    partials = JetsEngine.partials

    def noting(self, network, features, points, plan):
        asked.append(len(points) * len(plan) * SMALL["width"])
        return partials(self, network, features, points, plan)

    monkeypatch.setattr(JetsEngine, "partials", noting)
    model, x = pinnsig.load(finished), np.linspace(-1, 1, 1_000_000)
    found = model.predict("u.xx", x=x, t=0.5)["u.xx"]
    assert len(asked) > 1
    assert max(asked) <= 2**23
    assert sum(asked) == len(x) * 3 * SMALL["width"]
    some = [0, 400_000, 999_999]
    np.testing.assert_allclose(found[some], model.predict("u.xx", x=x[some], t=0.5)["u.xx"])


def test_predict_from_a_file_to_a_file(cli: Cli, finished: Path, tmp_path: Path):
    points, out = tmp_path / "points.csv", tmp_path / "found.csv"
    points.write_text("x,t\n0.1,0.5\n", encoding="utf-8")
    told = cli("predict", finished, "--points", points, "--of", "u,u.x", "--out", out)
    assert told.out == f"{out}\n"
    printed = cli("predict", finished, "--points", points, "--of", "u,u.x")
    assert out.read_text(encoding="utf-8") == printed.out
    assert printed.out.startswith("x,t,u,u.x\n0.1,0.5,")
    wrong = cli("predict", finished, "--points", points, "--out", tmp_path / "found.txt")
    assert "must end with .csv" in wrong.complaint()
    both = cli("predict", finished, "--points", points, "--out", out, "--json")
    assert "give one of them" in both.complaint()
    nowhere = cli("predict", finished, "--points", points, "--out", points / "found.csv")
    assert "cannot write" in nowhere.complaint()


def test_a_result_has_its_model(tmp_path: Path):
    network = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
    result = pinnsig.solve(Line, runs=tmp_path, figures=False, adam=2, lbfgs=0, network=network)
    assert result.model is result.model
    again = pinnsig.load(result.path, problem=Line, network=network)
    x = [0.1, 0.9]
    np.testing.assert_array_equal(result.model.predict(x=x)["u"], again.predict(x=x)["u"])
