"""Fields in files of other programs: what is read back is what `predict` gives."""

import base64
import csv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.core.errors import (
    ExportError,
    NoReferenceWarning,
    OutsideDomainWarning,
    PinnsigError,
)
from pinnsig.run.trained import TrainedModel
from tests.conftest import SMALL

TYPES = {"Float64": "<f8", "Int64": "<i8", "UInt8": "u1"}
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def burgers(finished: Path) -> TrainedModel:
    return pinnsig.load(finished)


@pytest.fixture(scope="module")
def plate(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    """Two coordinates of space, and time."""
    runs = tmp_path_factory.mktemp("plate")
    return pinnsig.solve("heat-2d", runs=runs, figures=False, **SMALL).model


@pytest.fixture(scope="module")
def holes(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    """A disc with holes."""
    runs = tmp_path_factory.mktemp("holes")
    return pinnsig.solve("poisson-holes", runs=runs, figures=False, **SMALL).model


def parsed(path: Path) -> tuple[ElementTree.Element, Arrays]:
    """A VTK file's only grid, and all of its arrays by name, without VTK."""
    root = ElementTree.fromstring(path.read_bytes())
    assert root.attrib["header_type"] == "UInt64"
    found: Arrays = {}
    for array in root.iter("DataArray"):
        text = (array.text or "").strip()
        if array.attrib["format"] == "ascii":
            found[array.attrib["Name"]] = np.array(text.split(), float)
            continue
        data = base64.b64decode(text)
        assert int.from_bytes(data[:8], "little") == len(data) - 8
        found[array.attrib["Name"]] = np.frombuffer(data[8:], TYPES[array.attrib["type"]])
    return root[0], found


def by_vtk(path: Path, reader: str) -> Any:
    """What VTK itself makes of a file."""
    module = pytest.importorskip("vtkmodules.vtkIOXML", reason="VTK is not installed")
    read = getattr(module, reader)()
    read.SetFileName(str(path))
    read.Update()
    assert not read.GetErrorCode()
    return read.GetOutput()


def vtk_array(data: Any, name: str) -> np.ndarray:
    support = pytest.importorskip("vtkmodules.util.numpy_support", reason="VTK is not installed")
    return support.vtk_to_numpy(data.GetPointData().GetArray(name))


def test_image_of_space_and_time(burgers: TrainedModel, tmp_path: Path):
    grid = {"x": [-1.0, -0.5, 0.0, 0.5, 1.0], "t": [0.0, 0.5, 1.0]}
    [path] = burgers.export(tmp_path / "deep" / "u.vti", of=("u", "u.x"), grid=grid)
    image, arrays = parsed(path)
    assert image.tag == "ImageData"
    assert image.attrib["WholeExtent"] == "0 4 0 2 0 0"
    assert list(map(float, image.attrib["Origin"].split())) == [-1, 0, 0]
    assert list(map(float, image.attrib["Spacing"].split())) == [0.5, 0.5, 1]
    t, x = np.meshgrid(grid["t"], grid["x"], indexing="ij")  # x changes fastest
    expected = burgers.predict(("u", "u.x"), x=x, t=t)
    for name in ("u", "u.x"):
        np.testing.assert_allclose(arrays[name], expected[name].ravel(), rtol=1e-6)
    exact = burgers.model.problem
    assert arrays["u_reference"].shape == (15,)
    assert arrays["u_reference"][2] == pytest.approx(0.0, abs=1e-12)
    assert type(exact).__name__ == "Burgers"
    data = by_vtk(path, "vtkXMLImageDataReader")
    assert data.GetDimensions() == (5, 3, 1)
    np.testing.assert_array_equal(vtk_array(data, "u.x"), arrays["u.x"])
    assert data.GetFieldData().GetAbstractArray("problem").GetValue(0) == "Burgers"


def test_a_series_over_time(plate: TrainedModel, tmp_path: Path):
    grid = {"x": np.linspace(0, 1, 4), "y": np.linspace(0, 1, 3), "t": [0.25, 1.0]}
    first, *rest = plate.export(tmp_path / "plate.vti", grid=grid)
    assert first.name == "plate.pvd"
    sets = list(ElementTree.fromstring(first.read_bytes()).iter("DataSet"))
    assert [(float(s.attrib["timestep"]), s.attrib["file"]) for s in sets] == [
        (0.25, "plate-0000.vti"),
        (1.0, "plate-0001.vti"),
    ]
    assert [path.name for path in rest] == ["plate-0000.vti", "plate-0001.vti"]
    y, x = np.meshgrid(grid["y"], grid["x"], indexing="ij")
    for one in sets:
        time = float(one.attrib["timestep"])
        image, arrays = parsed(tmp_path / one.attrib["file"])
        assert image.attrib["WholeExtent"] == "0 3 0 2 0 0"
        expected = plate.predict(x=x, y=y, t=time)["u"]
        np.testing.assert_allclose(arrays["u"], expected.ravel(), rtol=1e-6, atol=1e-12)
        assert arrays["TimeValue"] == [time]


def test_points_outside_a_shape_are_masked(holes: TrainedModel, tmp_path: Path):
    [path] = holes.export(tmp_path / "u.vti", grid={"x": [-0.9, 0.0, 0.9], "y": [-0.9, 0.0, 0.9]})
    _, arrays = parsed(path)
    inside = [False, True, False, True, True, True, False, True, False]
    inside[1] = bool(np.hypot(0.1, 0.9 - 0.45) >= 0.3)
    np.testing.assert_array_equal(arrays["vtkValidPointMask"], inside)
    np.testing.assert_array_equal(np.isnan(arrays["u"]), ~np.array(inside))
    np.testing.assert_array_equal(np.isnan(arrays["u_reference"]), ~np.array(inside))


def test_cells_inside_a_shape(holes: TrainedModel, tmp_path: Path):
    axis = np.linspace(-1, 1, 81)
    [path] = holes.export(tmp_path / "u.vtu", grid={"x": axis, "y": axis})
    _, arrays = parsed(path)
    places = arrays["Points"].reshape(-1, 3)
    cells = arrays["connectivity"].reshape(-1, 4)
    assert (arrays["types"] == 8).all()
    corners = places[cells]
    np.testing.assert_allclose(np.ptp(corners, axis=1), [[0.025, 0.025, 0]] * len(cells))
    area = np.pi * (1 - 0.2**2 - 0.25**2 - 0.3**2)
    assert 0.9 * area < len(cells) * 0.025**2 < area
    expected = holes.predict(x=places[:, 0], y=places[:, 1])["u"]
    np.testing.assert_allclose(arrays["u"], expected, rtol=1e-6)
    data = by_vtk(path, "vtkXMLUnstructuredGridReader")
    assert (data.GetNumberOfCells(), data.GetNumberOfPoints()) == (len(cells), len(places))
    assert data.GetCell(0).GetClassName() == "vtkPixel"
    np.testing.assert_array_equal(vtk_array(data, "u"), arrays["u"])


def test_given_points_as_vertices(plate: TrainedModel, tmp_path: Path):
    points = {"t": [0.1, 0.2], "x": [0.5, 0.25], "y": [0.75, 1.0]}
    [path] = plate.export(tmp_path / "u.vtu", of="u.xy", points=points)
    _, arrays = parsed(path)
    assert arrays["Points"].reshape(-1, 3).tolist() == [[0.5, 0.75, 0], [0.25, 1, 0]]
    assert arrays["t"].tolist() == [0.1, 0.2]
    np.testing.assert_allclose(arrays["u.xy"], plate.predict("u.xy", **points)["u.xy"], rtol=1e-6)
    assert by_vtk(path, "vtkXMLUnstructuredGridReader").GetNumberOfCells() == 2


def test_a_single_point(plate: TrainedModel, tmp_path: Path):
    point = {"x": [0.5], "y": [0.25], "t": [1.0]}
    for name, reader in (("vtu", "UnstructuredGrid"), ("vti", "ImageData")):
        [path] = plate.export(tmp_path / f"u.{name}", grid=point)
        _, arrays = parsed(path)
        np.testing.assert_array_equal(arrays["u"], plate.predict("u", **point)["u"])
        assert by_vtk(path, f"vtkXML{reader}Reader").GetNumberOfPoints() == 1


def test_netcdf(plate: TrainedModel, tmp_path: Path):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("h5netcdf", reason="h5netcdf is not installed")
    [path] = plate.export(tmp_path / "u.nc", of=("u", "u_t"), grid={"t": [0.5]})
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert dict(data.sizes) == {"x": 41, "y": 41, "t": 1}
        one = data.sel(x=0.25, y=0.5, t=0.5)
        expected = plate.predict(("u", "u_t"), x=0.25, y=0.5, t=0.5)
        assert float(one.u) == pytest.approx(expected["u"][0], rel=1e-6)
        assert float(one.u_t) == pytest.approx(expected["u_t"][0], rel=1e-6)
        decayed = np.exp(-0.05 * np.pi**2 * 2 * 0.5) * np.sin(np.pi / 4)
        other = np.exp(-0.05 * np.pi**2 * 13 * 0.5) * np.sin(np.pi / 2) * np.sin(1.5 * np.pi) / 2
        assert float(one.u_reference) == pytest.approx(decayed + other, rel=1e-6)
        assert data.attrs["problem"] == "Heat2D"
        assert data.attrs["run"] == plate.directory.path.name
        result = plate.directory.read_json("result.json")
        assert data.attrs["relative_l2"] == result["relative_l2"]


def test_tables(burgers: TrainedModel, tmp_path: Path):
    grid = {"x": [0.25, 0.75], "t": [0.5]}
    [path] = burgers.export(tmp_path / "u.csv", of="u.x", grid=grid)
    head, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    assert head == ["x", "t", "u.x"]
    expected = burgers.predict("u.x", x=grid["x"], t=0.5)["u.x"]
    np.testing.assert_array_equal(
        np.array(rows, float), np.stack([grid["x"], [0.5, 0.5], expected], 1)
    )
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    [path] = burgers.export(tmp_path / "u.parquet", points=tmp_path / "u.csv")
    table = parquet.read_table(path)
    assert table.column_names == ["x", "t", "u", "u_reference"]
    np.testing.assert_array_equal(table["u"], burgers.predict(x=grid["x"], t=0.5)["u"])
    assert b'"problem": "Burgers"' in table.schema.metadata[b"pinnsig"]


def test_tables_leave_out_what_lies_outside_a_shape(holes: TrainedModel, tmp_path: Path):
    [path] = holes.export(tmp_path / "u.csv", grid={"x": [-0.9, 0.0], "y": [-0.9, 0.0]})
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3 + (np.hypot(0.1, 0.45) >= 0.3)


def test_a_grid_beyond_a_box_is_answered_with_a_warning(burgers: TrainedModel, tmp_path: Path):
    grid = {"x": [0.0, 0.5], "t": [0.5, 1.5]}
    with pytest.warns(OutsideDomainWarning, match="2 of 4 points"):
        [path] = burgers.export(tmp_path / "u.vti", grid=grid)
    _, arrays = parsed(path)
    assert np.isfinite(arrays["u"]).all()
    assert np.isnan(arrays["u_reference"]).tolist() == [False, False, True, True]


def test_a_solution_that_fails_is_left_out(
    burgers: TrainedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def solution(self: Any, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return 1 / x + 0 * t

    monkeypatch.setattr(type(burgers.model.problem), "solution", solution)
    with pytest.warns(NoReferenceWarning, match="no reference values: Burgers.solution must be"):
        [path] = burgers.export(tmp_path / "u.csv", grid={"x": [0.0, 1.0], "t": [0.5]})
    assert path.read_text(encoding="utf-8").startswith("x,t,u\n")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("u.vtk", {}, "does not tell the format"),
        ("u.vti", {"to": "vtx"}, "did you mean vt[iu]"),
        ("u.csv", {"to": "vti"}, "ends as another format than vti"),
        ("u.vti", {"grid": {"z": [0.0]}}, "'z' is no coordinate"),
        ("u.vti", {"grid": {"x": []}}, "x has no value"),
        ("u.vti", {"grid": {"x": [0.0, float("nan")]}}, "not finite"),
        ("u.vti", {"grid": {"x": [1.0, 0.0]}}, "must ascend"),
        ("u.vti", {"grid": {"x": [0.0, 0.1, 0.5]}}, "evenly spaced"),
        ("u.vti", {"points": {"x": [0.0], "t": [0.0]}}, "regular grid"),
        ("u.vti", {"of": "v"}, "'v' is no field"),
        ("u.vtu", {"points": {"x": [0.0]}}, "no column t"),
        (
            "u.vtu",
            {"points": {"x": [0.0, np.nan], "t": [0, 0]}},
            "x is not a finite number",
        ),
        ("u.csv", {"points": {"x": [0.0], "t": [0]}, "grid": {"x": [0.0]}}, "both"),
        ("u.pt2", {"grid": {"x": [0.0]}}, "exported as it is"),
        ("", {"to": "csv"}, "is a directory"),
    ],
)
def test_wrong_exports(
    burgers: TrainedModel, tmp_path: Path, name: str, arguments: dict[str, Any], words: str
):
    with pytest.raises(PinnsigError, match=words):
        burgers.export(tmp_path / name, **arguments)
    assert not list(tmp_path.iterdir())


def test_no_point_inside(holes: TrainedModel, tmp_path: Path):
    with pytest.raises(ExportError, match="no point of the grid"):
        holes.export(tmp_path / "u.vti", grid={"x": [0.35], "y": [0.35]})


def test_a_file_is_replaced_and_a_file_in_the_way_is_told(burgers: TrainedModel, tmp_path: Path):
    path = tmp_path / "u.csv"
    path.write_text("old", encoding="utf-8")
    burgers.export(path, grid={"x": [0.0], "t": [0.0]})
    assert path.read_text(encoding="utf-8").startswith("x,t,u")
    assert [p.name for p in tmp_path.iterdir()] == ["u.csv"]
    with pytest.raises(ExportError, match="cannot write"):
        burgers.export(path / "more.csv", grid={"x": [0.0], "t": [0.0]})


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [
        ("xarray", "u.nc", "export"),
        ("pyarrow", "u.parquet", "parquet"),
        ("onnxscript", "u.onnx", "onnx"),
    ],
)
def test_a_missing_package_is_named(
    burgers: TrainedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    name: str,
    extra: str,
):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(ExportError, match=rf"{package}.*pip install 'pinnsig\[{extra}\]'"):
        burgers.export(tmp_path / name)
