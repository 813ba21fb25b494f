"""Maps, curves and slices of a field."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from pinnsig.model.evaluation import Comparison
from pinnsig.plots import save_figure, slices_figure, solution_figure


def comparison(*names: str, reference: bool = True) -> Comparison:
    axes = {name: np.linspace(-1.0, 1.0, 9 + 4 * i) for i, name in enumerate(names)}
    mesh = np.meshgrid(*axes.values(), indexing="ij")
    exact = np.tanh(4 * mesh[0]) * np.prod([np.exp(-0.3 * m) for m in mesh[1:]], axis=0)
    return Comparison("u", axes, exact + 1e-3 * mesh[-1], exact if reference else None)


def panels(figure: Figure) -> list:
    """The axes that are not colour bars."""
    return [axis for axis in figure.axes if axis.get_label() != "<colorbar>"]


def test_maps_put_time_to_the_right_and_share_colours():
    data = comparison("x", "t")
    figure = solution_figure(data, "Burgers")
    predicted, exact, error = panels(figure)
    assert len(figure.axes) == 6
    assert figure.get_suptitle() == "Burgers"
    assert [a.get_title() for a in panels(figure)] == [
        "u: prediction",
        "u: reference",
        "u: absolute error",
    ]
    assert (predicted.get_xlabel(), predicted.get_ylabel()) == ("t", "x")
    assert predicted.collections[0].get_clim() == exact.collections[0].get_clim()
    low, high = predicted.collections[0].get_clim()
    assert low == -high
    assert error.collections[0].get_clim() == (0.0, pytest.approx(data.max_error))


@pytest.mark.parametrize("names", [("x", "t"), ("t", "x"), ("x", "y")])
def test_map_has_each_value_at_its_place(names: tuple[str, str]):
    data = comparison(*names)
    axis = panels(solution_figure(data))[0]
    (mesh,) = axis.collections
    across, up = axis.get_xlabel(), axis.get_ylabel()
    assert (across, up) == (("t", "x") if "t" in names else names)
    drawn = np.asarray(mesh.get_array()).reshape(len(data.axes[up]), len(data.axes[across]))
    np.testing.assert_array_equal(
        drawn, data.prediction.T if across == names[0] else data.prediction
    )


def test_maps_without_reference_show_the_prediction_alone():
    figure = solution_figure(comparison("x", "tau", reference=False))
    (axis,) = panels(figure)
    assert axis.get_title() == "u: prediction"
    assert axis.get_xlabel() == "τ"


def test_values_of_one_sign_get_a_sequential_map():
    data = comparison("x", "t")
    positive = Comparison("u", data.axes, data.prediction**2, data.prediction**2)
    mesh = panels(solution_figure(positive))[0].collections[0]
    assert mesh.get_cmap().name == "viridis"
    assert mesh.get_clim() == (pytest.approx(0.0, abs=1e-5), positive.prediction.max())


def test_three_coordinates_are_cut_at_the_middle_of_the_last():
    data = comparison("x", "y", "t")
    figure = solution_figure(data, "heat")
    assert figure.get_suptitle() == "heat at t = 0"
    axis = panels(figure)[0]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("x", "y")
    drawn = np.asarray(axis.collections[0].get_array()).reshape(13, 9)
    np.testing.assert_array_equal(drawn, data.prediction[:, :, 8].T)


def test_one_coordinate_gives_curves_and_a_log_error():
    figure = solution_figure(comparison("x"))
    curves, error = figure.axes
    assert len(curves.lines) == 2
    assert error.get_yscale() == "log"
    assert (error.get_xlabel(), error.get_ylabel()) == ("x", "absolute error")
    assert len(solution_figure(comparison("x", reference=False)).axes) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("names", [("x",), ("x", "t"), ("x", "y", "t")])
@pytest.mark.parametrize("value", [0.0, np.inf])
def test_degenerate_values_are_drawn(tmp_path, names, value):
    data = comparison(*names)
    bad = Comparison("u", data.axes, np.full_like(data.prediction, value), data.prediction * 0)
    save_figure(solution_figure(bad), tmp_path / "solution.png")
    save_figure(slices_figure(bad), tmp_path / "slices.png")


def test_slices_run_along_space_at_five_times():
    data = comparison("x", "t")
    figure = slices_figure(data)
    assert [a.get_title() for a in figure.axes] == [
        f"t = {t}" for t in ("-1", "-0.5", "0", "0.5", "1")
    ]
    reference, predicted = figure.axes[-1].lines
    assert reference.get_linestyle() == "-"
    assert predicted.get_linestyle() == "--"
    np.testing.assert_array_equal(predicted.get_ydata(), data.prediction[:, -1])
    assert figure.axes[0].get_xlabel() == "x"
    assert figure.axes[0].get_ylabel() == "u"


def test_slices_at_given_times_draw_a_grid_point_once():
    figure = slices_figure(comparison("t", "x"), at=[0.0, 0.01, 1.0])
    assert [a.get_title() for a in figure.axes] == ["t = 0", "t = 1"]
    many = slices_figure(comparison("x", "y", "t"), at=np.linspace(-1, 1, 17).tolist())
    assert len(many.axes) == 17
    assert many.get_suptitle() == "at y = 0"


def test_slices_without_time_cut_the_last_coordinate():
    data = comparison("x", "y")
    figure = slices_figure(data, at=[1.0])
    assert figure.axes[0].get_title() == "y = 1"
    np.testing.assert_array_equal(figure.axes[0].lines[1].get_ydata(), data.prediction[:, -1])
    assert len(slices_figure(comparison("x", reference=False)).axes[0].lines) == 1


def test_maps_of_space_are_to_scale_those_with_time_are_not():
    assert [a.get_aspect() for a in panels(solution_figure(comparison("x", "y")))] == [1.0] * 3
    assert [a.get_aspect() for a in panels(solution_figure(comparison("x", "t")))] == ["auto"] * 3
    long = comparison("x", "y")
    long.axes["y"] = 10 * long.axes["y"]  # a channel would be a line
    assert panels(solution_figure(long))[0].get_aspect() == "auto"


def test_measured_values_lie_at_their_places_in_the_colours_of_the_map():
    data = comparison("x", "t")
    points, values = np.array([[0.5, -0.25], [1.0, 1.0]]), np.array([0.3, -0.7])
    axis = panels(solution_figure(data, measured=(points, values)))[0]
    mesh, _, dots = axis.collections
    np.testing.assert_array_equal(dots.get_offsets(), points[:, ::-1])  # time to the right
    np.testing.assert_array_equal(np.asarray(dots.get_array()), values)
    assert (dots.get_cmap().name, dots.get_clim()) == (mesh.get_cmap().name, mesh.get_clim())


def test_of_more_coordinates_those_near_the_plane_are_drawn():
    data = comparison("x", "y", "t")
    points = np.array([[0.1, 0.2, 0.0], [0.3, 0.4, 0.01], [0.5, 0.6, 1.0], [0.7, 0.8, -1.0]])
    axis = panels(solution_figure(data, measured=(points, np.arange(4.0))))[0]
    np.testing.assert_array_equal(axis.collections[-1].get_offsets(), points[:2, :2])
    nowhere = panels(solution_figure(data, measured=(points[2:], np.arange(2.0))))[0]
    assert len(nowhere.collections) == 1


def test_measured_values_along_one_coordinate_are_dots():
    measured = np.array([[0.0], [0.5]]), np.array([0.1, 0.9])
    top = solution_figure(comparison("x"), measured=measured).axes[0]
    (dots,) = (line for line in top.lines if line.get_label() == "data")
    np.testing.assert_array_equal(dots.get_xydata(), [[0.0, 0.1], [0.5, 0.9]])
