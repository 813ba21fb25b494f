import math
import sys
from typing import Any

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.core.errors import ProblemError, SamplingError
from pinnsig.problem import Box, Coefficient, Condition, PointData, Problem, Sites
from pinnsig.problem.point_data import measured_values
from tests.conftest import SMALL

PLANE = Box(x=(0.0, 1.0), t=(0.0, 1.0))


def draw(n: int, dimensions: int) -> np.ndarray:
    raise AssertionError("data are not drawn")


def test_points_in_the_order_of_the_domain():
    sites = PointData(t=[0.1, 0.2], u=[1.0, 2.0], x=[0.3, 0.4]).sites(PLANE, 99, draw)
    assert sites.points.tolist() == [[0.3, 0.1], [0.4, 0.2]]
    assert sites.points.dtype == np.float64
    assert {key: values.tolist() for key, values in sites.extra.items()} == {"u": [1.0, 2.0]}


def test_one_point_as_numbers():
    assert PointData(t=0, x=1, u=2).sites(PLANE, 0, draw).points.tolist() == [[1.0, 0.0]]


def test_residual_is_field_less_measured_value():
    data = PointData(x=[0.3, 0.4], t=[0.1, 0.2], u=[1.0, 2.0])
    found = data.residual({"u": torch.tensor([1.5, 1.0])}, {}, {"u": torch.tensor([1.0, 2.0])})
    assert found["u"].tolist() == [0.5, -1.0]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "one common length"),
        ({"x": [0.0, 1.0], "t": [0.0], "u": [1.0]}, "one common length"),
        ({"x": [[0.0]], "t": [[0.0]], "u": [[1.0]]}, "one common length"),
        ({"x": [], "t": [], "u": []}, "there is no point in it"),
        (
            {"x": [0.0], "t": [0.0], "u": [float("nan")]},
            r"1 of 1 rows have missing values \(u in row 0, counted from 0\): mend them",
        ),
        (
            {"x": [0.0, 0.1], "t": [0.0, 0.0], "u": [0.0, float("inf")]},
            r"column u holds values that are not finite, in row 1 \(counted",
        ),
        ({"x": [0.0], "t": [0.0], "u": ["one"]}, "columns hold numbers only"),
        ({"x": [[0.0], [1.0, 2.0]], "t": [0.0], "u": [0.0]}, "columns hold numbers only"),
        ({"x": [0.0], "u": [1.0]}, "lacks the coordinate t"),
        ({"x": [0.0], "t": [1.0]}, "holds no field"),
    ],
)
def test_refused(columns, words):
    with pytest.raises(ProblemError, match=words):
        PointData(**columns).sites(PLANE, 1, draw)


@pytest.mark.parametrize("held", [lambda s: s * torch.ones(2), lambda s: [s, 2 * s]])
def test_measured_values_cannot_be_learned(runs, held):
    class Scaled(Problem):
        domain = Box(x=(0.0, 1.0))
        s = Coefficient(2.0, learn=True)

        def residual(self, u):
            return u.x - u

        def conditions(self):
            yield PointData(x=[0.0, 1.0], u=held(self.s))

    with pytest.raises(ProblemError, match="column u depends on a learned coefficient"):
        pinnsig.solve(Scaled, runs=runs, **SMALL)
    assert not runs.exists()


@pytest.mark.parametrize(
    "column",
    [["1.5"], [1 + 0j], np.array([1j]), [True], ["warm"], [None, "a"], [object()], [[1.0], [2, 3]]],
)
def test_columns_of_anything_but_real_numbers_are_refused_in_one_line(column):
    with pytest.raises(ProblemError, match="PointData") as caught:
        PointData(x=[0.0] * len(column), u=column)
    assert "\n" not in str(caught.value)


MEASURED: dict[str, Any] = {"x": [0.5, 0.5, 0.5], "u": [1.0, 0.9, 0.8]}


@pytest.mark.parametrize(
    ("t", "words"),
    [
        (
            [0.1, 1.5, 0.9],
            r"^PointData: 1 of 3 points lie outside the domain: t = 1\.5, where the domain",
        ),
        ([-3.0, 1.5, 0.9], r"2 of 3 .*: t = -3 to 1\.5, where the domain has 0 to 1; leave them"),
        ([100.0, 500.0, 900.0], r"3 of 3 .*\(a factor of 1000: is it in another unit\?\)"),
        ([6.0, 30.0, 54.0], r"\(a factor of 60: is it in another unit\?\)"),
        ([0.1, 1.0 + 1e-5, 0.2], "1 of 3 points"),
    ],
)
def test_points_outside_the_domain_are_refused(t, words):
    with pytest.raises(ProblemError, match=words) as caught:
        PointData(**MEASURED, t=t).sites(PLANE, 1, draw)
    assert "outside=True" in str(caught.value)
    if "factor" not in words:
        assert "factor" not in str(caught.value)


def test_points_on_the_border_may_be_rounded():
    assert len(PointData(**MEASURED, t=[0.0, 0.1 * 3 / 0.3, 1 + 1e-9]).sites(PLANE, 1, draw).points)


class Decay(Problem):
    """u' = -k u on (0, 1) with data at times in milliseconds."""

    domain = Box(t=(0.0, 1.0))
    outside = False

    def residual(self, u):
        return u.t + u

    def conditions(self):
        yield PointData(t=[100.0, 500.0], u=[0.9, 0.6], outside=self.outside)


class DecayOutside(Decay):
    outside = True


def test_a_run_with_points_outside(runs):
    with pytest.raises(ProblemError, match="2 of 2 points lie outside"):
        pinnsig.solve(Decay, runs=runs, **SMALL)
    assert not runs.exists()
    heard = []

    class Notices(pinnsig.Callback):
        def started(self, parts, path):
            heard.extend(parts.notices)

    found = pinnsig.solve(DecayOutside, runs=runs, callbacks=[Notices()], **SMALL)
    assert "data" in found.terms
    assert any("data: 2 of 2 points lie outside the domain: t = 100 to 500" in n for n in heard)


def test_outside_is_a_word_of_yes_or_no():
    with pytest.raises(ProblemError, match="outside='yes' must be True or False"):
        PointData(**MEASURED, t=[0.0, 0.0, 0.0], outside="yes")  # type: ignore[arg-type]


def test_own_conditions_outside_the_domain(runs):
    class Somewhere(Condition):
        group = "data"

        def __init__(self, points, extra=None, outside=False):
            super().__init__()
            self.points, self.extra, self.outside = points, extra or {}, outside

        def sites(self, domain, count, draw):
            return Sites(np.array(self.points), self.extra)

        def residual(self, fields, coordinates, extra):
            return {"u": fields["u"] - 1.0}

    def solving(*given, **named):
        class Case(Problem):
            domain = Decay.domain

            def residual(self, u):
                return u.t + u

            def conditions(self):
                yield Somewhere(*given, **named)

        return pinnsig.solve(Case, runs=runs, figures=False, **SMALL)

    for given, words in (
        ([[[0.5], [2.0]]], r"term 'data': 1 of 2 points lie outside the domain: t = 2, where"),
        ([[0.5, 0.6]], r"its points must have shape \(N, 1\), not \(2,\)"),
        ([[[float("nan")]]], "its points must be finite"),
        ([[[0.5]], {"weight": np.ones(3)}], r"its column 'weight' must have shape \(1,\)"),
    ):
        with pytest.raises(SamplingError, match=words):
            solving(*given)
    assert "data" in solving([[2.0]], outside=True).terms


# --- tables, noise, weights and gaps -------------------------------------------------------------


def sites_of(*table: Any, **more: Any) -> Sites:
    return PointData(*table, **more).sites(PLANE, 0, draw)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_csv_file(tmp_path, delimiter):
    rows = [["x", "t", "u", "station"], ["0.25", "0.5", "1e-3", "A"], [" 1", "0", "-2", "B"]]
    path = tmp_path / "data.csv"
    path.write_text("\ufeff" + "\n".join(delimiter.join(row) for row in rows) + "\n", "utf-8")
    found = sites_of(path, columns=("t", "x", "u"))
    assert found.points.tolist() == [[0.25, 0.5], [1.0, 0.0]]
    assert found.extra["u"].tolist() == [1e-3, -2.0]
    with pytest.raises(ProblemError, match=r"column station, row 0 has 'A'"):
        sites_of(str(path))


def test_columns_by_other_names_and_what_stands_beside_them(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("pos,t,T,noise,other\n0.5,0,3,2,x\n0.75,0,4,2,y\n", "utf-8")
    found = sites_of(path, columns={"x": "pos", "t": "t", "u": "T"})
    assert found.points[:, 0].tolist() == [0.5, 0.75]
    assert found.extra["u"].tolist() == [3.0, 4.0]
    assert found.extra["noise of u"].tolist() == [2.0, 2.0]
    array = np.array([[0.5, 0.0, 1.0], [0.25, 1.0, 2.0]])
    assert sites_of(array, columns=("x", "t", "u")).points.tolist() == [[0.5, 0.0], [0.25, 1.0]]
    given = {"x": [0.5], "t": [0.25]}
    assert sites_of(given, u=[7.0]).extra["u"].tolist() == [7.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "its first line must name the columns"),
        ("0.5,0.1,2\n", "its first line must name the columns"),
        ("x,t,x\n1,2,3\n", "two columns have one name"),
        ("x,t,u\n1,2\n", "row 0 has 2 values for 3 columns"),
        ("x,t\n0.5,0.1\n", "holds no field"),
        ("x,t,u\n", "there is no point in it"),
        ("x,t,u\n0.5,0.1,2,\n", "row 0 has 4 values"),
        ("x,t,u\n0.5,0.1,1.0.0\n", "column u, row 0 has '1.0.0'"),
    ],
)
def test_files_that_are_no_tables(tmp_path, text, words):
    path = tmp_path / "data.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(ProblemError, match=words) as caught:
        sites_of(path)
    assert "\n" not in str(caught.value)


def test_no_file_no_text_no_parquet(tmp_path, monkeypatch):
    with pytest.raises(ProblemError, match=r"cannot read .*none\.csv: No such file"):
        sites_of(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"x,t,u\n\xff\xfe\n")
    with pytest.raises(ProblemError, match="no text in UTF-8"):
        sites_of(tmp_path / "bytes.csv")
    (tmp_path / "data.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ProblemError, match=r"pip install 'pinnsig\[parquet\]'"):
        sites_of(tmp_path / "data.parquet")


def test_a_parquet_file(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"x": [0.5, 0.25], "t": [1, 0], "u": [3.0, None]}
    parquet.write_table(arrow.table(columns), tmp_path / "data.parquet")
    found = sites_of(tmp_path / "data.parquet", missing="drop")
    assert (found.points.tolist(), found.extra["u"].tolist()) == ([[0.5, 1.0]], [3.0])
    (tmp_path / "other.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ProblemError, match="is no Parquet file"):
        sites_of(tmp_path / "other.parquet")


def test_missing_values_are_named_and_dropped():
    nan = float("nan")
    table = {"x": [0.1, nan, 0.3, 0.4], "t": [0.0] * 4, "u": [1.0, 2.0, nan, 4.0],
             "v": [nan, 2.0, 3.0, 4.0]}  # fmt: skip
    words = r"3 of 4 rows have missing values \(x in row 1; u in row 2; v in row 0, counted from 0"
    with pytest.raises(ProblemError, match=words):
        sites_of(table)
    data = PointData(table, missing="drop")
    assert str(data.notice(PLANE)).endswith("counted from 0): left out")
    sites = data.sites(PLANE, 0, draw)
    assert sites.points[:, 0].tolist() == [0.1, 0.3, 0.4]
    extra = {key: torch.tensor(column) for key, column in sites.extra.items()}
    fields = {"u": torch.tensor([1.5, 9.0, 4.0]), "v": torch.tensor([9.0, 3.0, 6.0])}
    found = data.residual(fields, {}, extra)
    # the mean over three rows is that over the two values which are there
    assert found["u"].square().mean().item() == pytest.approx((0.5**2 + 0.0) / 2)
    assert found["v"].square().mean().item() == pytest.approx((0.0 + 2.0**2) / 2)
    where, values = measured_values(sites, "u") or (None, None)
    assert where is not None
    assert values is not None
    assert (where[:, 0].tolist(), values.tolist()) == ([0.1, 0.4], [1.0, 4.0])
    assert measured_values(sites, "w") is None
    with pytest.raises(ProblemError, match="column u has no value at any point"):
        sites_of({"x": [0.1], "t": [0.0], "u": [nan], "v": [1.0]}, missing="drop")


def test_noise_weighs_values_and_keeps_the_size_of_the_loss():
    data = PointData(x=[0.1, 0.2], t=[0.0, 0.0], u=[1.0, 1.0], noise=[0.1, 0.2])
    sites = data.sites(PLANE, 0, draw)
    scale = 1 / math.sqrt((1 / 0.01 + 1 / 0.04) / 2)
    assert sites.extra["noise of u"].tolist() == [0.1, 0.2]
    np.testing.assert_allclose(sites.extra["factor of u"], [scale / 0.1, scale / 0.2])
    assert np.mean(sites.extra["factor of u"] ** 2) == pytest.approx(1.0)
    extra = {key: torch.tensor(column) for key, column in sites.extra.items()}
    found = data.residual({"u": torch.tensor([1.1, 1.2]).double()}, {}, extra)
    assert found["u"].tolist() == pytest.approx([scale, scale], rel=1e-6)  # one sigma each
    two = sites_of(x=[0.5], t=[0.5], u=[1.0], v=[2.0], noise={"u": 1.0, "v": [2.0]})
    scale = 1 / math.sqrt((1 + 1 / 4) / 2)
    assert two.extra["factor of v"].tolist() == pytest.approx([scale / 2])
    alike = sites_of(x=[0.5], t=[0.5], u=[1.0], noise=3.0)
    assert set(alike.extra) == {"u", "noise of u"}  # nothing to weigh
    named = sites_of({"x": [0.5], "t": [0.5], "u": [1.0], "noise_u": [0.3]})
    assert named.extra["noise of u"].tolist() == [0.3]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"noise": 0.0}, "noise of u must be above 0: 0 in row 0"),
        ({"noise": [1.0, 2.0]}, "noise must be one number or 1"),
        ({"noise": {"v": 1.0}}, "there is noise of v, which is not measured"),
        ({"noise": "sigma"}, "noise='sigma' names no column"),
        ({"weights": [-1.0]}, "weights must not be negative: -1 in row 0"),
        ({"weights": [0.0]}, "all weights are 0"),
        ({"weights": [1.0, 2.0]}, "weights must be one number or 1"),
        ({"missing": "zero"}, "missing='zero' must be 'refuse' or 'drop'"),
    ],
)
def test_weights_and_noise_that_cannot_be(more, words):
    with pytest.raises(ProblemError, match=words):
        sites_of(x=[0.5], t=[0.5], u=[1.0], **more)


def test_a_field_that_is_called_noise_is_not_mistaken(runs):
    class Case(Problem):
        domain = Box(t=(0.0, 1.0))
        fields = ("u", "noise")

        def residual(self, u, noise):
            return {"a": u.t, "b": noise.t}

        def conditions(self):
            yield PointData(t=[0.5], u=[1.0], noise=[2.0])

    with pytest.raises(ProblemError, match="noise means a field here"):
        pinnsig.solve(Case, runs=runs, **SMALL)


def test_weights_of_points_weigh_the_loss(runs):
    """u = 2 t exactly, measured as 1 and 3 at t = 0.25 and 0.5, so that r = -0.5 and -2."""

    class Case(Decay):
        def residual(self, u):
            return u.t - 2.0

        def ansatz(self, n, t):
            return 2.0 * t + 0.0 * n

        def conditions(self):
            yield PointData(t=[0.25, 0.5], u=[1.0, 3.0], weights=[4.0, 0.5])

    found = pinnsig.solve(Case, runs=runs, figures=False, **SMALL)
    assert found.terms["data"] == pytest.approx((4 * 0.25 + 0.5 * 4.0) / 2, rel=1e-5)


FROM_FILE = """
from pathlib import Path
from pinnsig.problem import Box, PointData, Problem

class Measured(Problem):
    domain = Box(t=(0.0, 1.0))
    def residual(self, u):
        return u.t + u
    def conditions(self):
        yield PointData(Path(__file__).parent / "data.csv", missing="drop")
"""


def test_a_file_of_data_is_kept_with_the_run(tmp_path, runs):
    (tmp_path / "own.py").write_text(FROM_FILE, "utf-8")
    t = np.linspace(0, 1, 9)
    lines = [f"{a},{math.exp(-a)}" for a in t] + ["0.3,"]
    (tmp_path / "data.csv").write_text("t,u\n" + "\n".join(lines) + "\n", "utf-8")
    options: dict[str, Any] = {"depth": 2, "width": 8, "collocation": 30, "dtype": "float64"}
    found = pinnsig.solve(
        tmp_path / "own.py", runs=runs, figures=False, phases=["lm:25"], **options
    )
    (tmp_path / "data.csv").unlink()
    predicted = pinnsig.load(found.path).predict(t=t)["u"]
    assert np.linalg.norm(predicted - np.exp(-t)) < 1e-4 * np.linalg.norm(np.exp(-t))
    assert found.independent["terms"]["data"]["ratio"] == pytest.approx(1.0)


def test_some_rows_keep_what_weighs_them():
    table = {"x": [0.1, 0.2, 0.3], "t": [0.0] * 3, "u": [1.0, 2.0, 3.0], "noise": [1.0, 2.0, 4.0]}
    data = PointData(table, weights=[5.0, 6.0, 7.0]).at_rows(np.array([False, True, True]))
    extra = data.sites(PLANE, 0, draw).extra
    assert extra["noise of u"].tolist() == [2.0, 4.0]
    assert extra["weights of points"].tolist() == [6.0, 7.0]
    one = PointData(table, noise=3.0, weights=2.0).at_rows(np.array([True, False, False]))
    assert one.sites(PLANE, 0, draw).extra["weights of points"].tolist() == [2.0]
