"""The model itself in files of other programs: programs of torch.export, and ONNX."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import pinnsig
from pinnsig import Box, Coefficient, Dirichlet, PointData, Problem
from pinnsig.core.errors import ExportError
from pinnsig.model import Model
from pinnsig.problem import Function
from pinnsig.run.trained import TrainedModel
from tests.conftest import SMALL


class Rod(Problem):
    """-(k u')' = c, with an ansatz of its own, an unknown function and a learned coefficient."""

    domain = Box(x=(0.0, 2.0))
    k = Function("k", of="x", above=0.0)
    c = Coefficient(1.0, learn=True)

    def residual(self, u, k):
        return k * u.xx + k.x * u.x + self.c

    def ansatz(self, n, x):
        return 0.1 + torch.sin(math.pi * x / 2) * n / 0.3 + 0.7**x

    def conditions(self):
        yield Dirichlet(on="x", u=0.1)
        yield PointData(x=[0.5, 1.0, 1.5], u=[0.5, 0.7, 0.5])


class Plain(Problem):
    """u'' = 0."""

    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.xx

    def conditions(self):
        yield Dirichlet(on="x", u=0.0)


class Stubborn(nn.Module):
    """Asks for values on its way."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x) if float(x.detach().abs().max()) < 1e9 else x


@pytest.fixture(scope="module")
def rod(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    runs = tmp_path_factory.mktemp("rod")
    return pinnsig.solve(Rod, runs=runs, figures=False, **SMALL).model


def columns(model: TrainedModel, count: int) -> dict[str, torch.Tensor]:
    """Random points of a box, in the run's precision."""
    generator = torch.Generator().manual_seed(count)
    like = next(model.model.parameters())
    found = {}
    for name in model.model.problem.domain.names:
        low, high = model.model.problem.domain.interval(name)
        unit = torch.rand(count, generator=generator, dtype=torch.float64)
        found[name] = (low + (high - low) * unit).to(like.dtype)
    return found


def test_a_program_of_torch(rod: TrainedModel, tmp_path: Path):
    [path] = rod.export(tmp_path / "rod.pt2", of=("u", "u.x", "k"))
    extra = {"metadata.json": ""}
    program = torch.export.load(path, extra_files=extra).module()
    for count in (1, 50):
        at = columns(rod, count)
        with torch.no_grad():
            found = program(*at.values())
        for name, values in rod.predict(("u", "u.x", "k"), **at).items():
            torch.testing.assert_close(found[name], values, rtol=1e-9, atol=1e-12)
    metadata = json.loads(extra["metadata.json"])
    assert metadata["problem"] == "Rod"
    assert json.loads(metadata["inputs"]) == {"x": [0.0, 2.0]}
    assert json.loads(metadata["outputs"]) == ["u", "u.x", "k"]
    model = rod.model
    assert isinstance(model, Model)
    assert float(metadata["coefficient c"]) == pytest.approx(model.coefficient_values()["c"])


def test_a_program_can_be_differentiated_in_the_points(rod: TrainedModel, tmp_path: Path):
    [path] = rod.export(tmp_path / "rod.pt2", of="u")
    x = columns(rod, 5)["x"].requires_grad_()
    u = torch.export.load(path).module()(x)["u"]
    slope = torch.autograd.grad(u.sum(), x)[0]
    torch.testing.assert_close(slope, rod.predict("u.x", x=x.detach())["u.x"], rtol=1e-8, atol=0)


def run_onnx(path: Path, at: dict[str, torch.Tensor]) -> tuple[dict[str, np.ndarray], Any]:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = session.run(names, {name: values.numpy() for name, values in at.items()})
    return dict(zip(names, found, strict=True)), session.get_modelmeta().custom_metadata_map


def test_onnx_in_double_precision(rod: TrainedModel, tmp_path: Path):
    for package in ("onnx", "onnxscript"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    [path] = rod.export(tmp_path / "rod.onnx")
    for count in (1, 300):
        at = columns(rod, count)
        found, metadata = run_onnx(path, at)
        expected = rod.predict(("u", "k"), **at)
        assert list(found) == ["u", "k"]
        for name, values in found.items():  # numbers such as pi / 2 are not rounded
            assert values.dtype == np.float64
            np.testing.assert_allclose(values, expected[name], rtol=1e-12, atol=1e-13)
    assert metadata["dtype"] == "float64"


def test_onnx_in_single_precision(tmp_path: Path):
    for package in ("onnx", "onnxscript"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    settings = {**SMALL, "dtype": "float32", "act": "arctan"}
    model = pinnsig.solve("burgers", runs=tmp_path, figures=False, **settings).model
    at = columns(model, 20)
    found, metadata = run_onnx(model.export(tmp_path / "burgers.onnx")[0], at)
    np.testing.assert_allclose(found["u"], model.predict("u", **at)["u"], rtol=1e-4, atol=1e-5)
    assert metadata["dtype"] == "float32"


def test_slabs_of_time(tmp_path: Path):
    model = pinnsig.solve("burgers", runs=tmp_path, figures=False, slabs=2, **SMALL).model
    [path] = model.export(tmp_path / "burgers.pt2")
    at = columns(model, 100)
    at["t"][0] = 0.5  # the joint
    with torch.no_grad():
        found = torch.export.load(path).module()(*at.values())
    torch.testing.assert_close(found["u"], model.predict("u", **at)["u"], rtol=1e-9, atol=1e-12)
    [table] = model.export(tmp_path / "burgers.csv", grid={"x": [0.5], "t": [0.1, 0.9]})
    rows = np.loadtxt(table, delimiter=",", skiprows=1)
    np.testing.assert_array_equal(rows[:, 2], model.predict(x=0.5, t=[0.1, 0.9])["u"])


def test_code_that_asks_for_values_is_refused(tmp_path: Path):
    settings = {**SMALL, "network": Stubborn(), "weighting": "none"}
    model = pinnsig.solve(Plain, runs=tmp_path, figures=False, **settings).model
    with pytest.raises(ExportError, match="Plain cannot be exported") as refused:
        model.export(tmp_path / "model.pt2")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "model.pt2").exists()


def test_a_program_that_gives_something_else_is_not_written(
    rod: TrainedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    predict = Model.predict

    def other(self: Model, *given: Any) -> dict[str, torch.Tensor]:
        return {name: values * (1 + 3e-6) for name, values in predict(self, *given).items()}

    monkeypatch.setattr(Model, "predict", other)
    (tmp_path / "rod.pt2").write_bytes(b"old")
    with pytest.raises(ExportError, match="gives another u than the run, by 3.0e-06"):
        rod.export(tmp_path / "rod.pt2")
    assert (tmp_path / "rod.pt2").read_bytes() == b"old"
