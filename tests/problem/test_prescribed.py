from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from pinnsig.core.errors import DerivativeError, ProblemError
from pinnsig.derivatives.jet import Jet
from pinnsig.problem import Box, Dirichlet, Initial, Neumann, Periodic, Robin

PLANE = Box(x=(-1.0, 1.0), t=(0.0, 2.0))
LINE = Box(x=(0.0, 1.0))
SPACE = Box(x=(0.0, 1.0), y=(0.0, 3.0), t=(0.0, 1.0))


Partials = dict[tuple[int, ...], Any]


def draw(n: int, dimensions: int) -> np.ndarray:
    return np.random.default_rng(0).random((n, dimensions))


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def field(names: str, part: Callable[[tuple[int, ...]], torch.Tensor | float]) -> Jet:
    """A jet whose partials are given by their multi-index."""
    return Jet(tuple(names), part, column(0.0, 0.0))


def plain(residual: object) -> list[float]:
    value = residual.value if isinstance(residual, Jet) else residual
    assert isinstance(value, torch.Tensor)
    return value.tolist()


def test_initial_lies_at_the_start_of_time():
    sites = Initial(u=0.0).sites(PLANE, 7, draw)
    assert sites.points.shape == (7, 2)
    assert (sites.points[:, 1] == 0.0).all()
    assert PLANE.contains(sites.points).all()


def test_initial_at_a_single_point():
    sites = Initial(on="x", u=1.0).sites(LINE, 1, draw)
    assert sites.points.tolist() == [[0.0]]
    found = Initial(on="x", u=1.0).residual({"u": column(1.5)}, {"x": column(0.0)}, {})
    assert plain(found["u"]) == [0.5]


def test_initial_without_time():
    with pytest.raises(ProblemError, match=r"no time among the coordinates x: .* on='x'"):
        Initial(u=1.0).sites(LINE, 1, draw)


def test_dirichlet_shares_points_between_faces():
    sites = Dirichlet(on="x", u=0.0).sites(PLANE, 9, draw)
    assert sites.points[:, 0].tolist() == [-1.0] * 5 + [1.0] * 4
    assert sites.extra["normal_x"].tolist() == [-1.0] * 5 + [1.0] * 4
    assert Dirichlet(on="x", u=0.0).sites(LINE, 9, draw).points.tolist() == [[0.0], [1.0]]


def test_values_may_be_functions_and_partials():
    at = {"x": column(1.0, 2.0), "t": column(3.0, 4.0)}
    u = field("xt", lambda alpha: column(10.0, 20.0) if alpha == (0, 1) else 5.0)
    found = Initial(u=lambda t, x: x * t, u_t=1.0).residual({"u": u}, at, {})
    assert plain(found["u"]) == [2.0, -3.0]
    assert plain(found["u_t"]) == [9.0, 19.0]


def test_a_value_of_all_coordinates_gets_no_normals():
    at = {"x": column(1.0, 2.0), "t": column(3.0, 4.0)}
    normals = {"normal_x": column(-1.0, 1.0)}
    total = Dirichlet(on="x", u=lambda **at: sum(at.values()))
    assert plain(total.residual({"u": column(5.0, 5.0)}, at, normals)["u"]) == [1.0, -1.0]
    named = Dirichlet(on="x", u=lambda t, normal_x: t * normal_x)
    assert plain(named.residual({"u": column(5.0, 5.0)}, at, normals)["u"]) == [8.0, 1.0]


def test_a_field_whose_name_holds_an_underscore():
    u_1 = field("xt", lambda alpha: 7.0 if alpha == (2, 0) else 0.0)
    at = {"x": column(1.0, 2.0), "t": column(3.0, 4.0)}
    found = Dirichlet(on="x", u_1_xx=4.0).residual({"u": column(0.0), "u_1": u_1}, at, {})
    assert plain(found["u_1_xx"]) == [3.0, 3.0]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda x: x[:, None], r"Dirichlet x, u: its value must have shape \(2,\), not \(2, 1\)"),
        (lambda x: x[:1], r"must have shape \(2,\), not \(1,\)"),
        (lambda x: x.tolist(), r"must have shape \(2,\), not list"),
        (lambda y: y, r"its parameter 'y' is none of x, t"),
        (torch.sin, r"does not name its parameters: write lambda x"),
        ("0", r"a value is a number or a function, not '0'"),
        ([0.0, 0.0], r"a value is a number or a function"),
        (torch.zeros(2), r"a value is a number or a function"),
        (None, r"a value is a number or a function, not None"),
    ],
)
def test_values_that_are_no_values(value, words):
    at = {"x": column(1.0, 2.0), "t": column(3.0, 4.0)}
    with pytest.raises(ProblemError, match=words):
        Dirichlet(on="x", u=value).residual({"u": column(0.0, 0.0)}, at, {})


def test_a_function_may_return_a_number():
    found = Dirichlet(on="x", u=lambda: 2).residual({"u": column(5.0)}, {"x": column(1.0)}, {})
    assert plain(found["u"]) == [3.0]


@pytest.mark.parametrize("target", ["v", "v_t", "uu"])
def test_unknown_target(target):
    values: dict[str, Any] = {target: 0.0}
    with pytest.raises(DerivativeError, match=rf"'{target}' is no field or partial: fields u, "):
        Dirichlet(on="x", **values).residual({"u": column(0.0)}, {"x": column(0.0)}, {})


def test_nothing_prescribed():
    with pytest.raises(ProblemError, match="Dirichlet prescribes nothing"):
        Dirichlet(on="x")


def test_neumann_uses_the_outward_normal_of_each_face():
    condition = Neumann(on=("x", "y+"), u=0.0)
    sites = condition.sites(SPACE, 3, draw)
    assert list(sites.extra) == ["normal_x", "normal_y"]
    assert sites.points[:, 0].tolist()[:2] == [0.0, 1.0]
    assert sites.points[2, 1] == 3.0
    normals = {key: torch.as_tensor(n) for key, n in sites.extra.items()}
    partials: Partials = {(1, 0, 0): column(1.0, 2.0, 3.0), (0, 1, 0): column(10.0, 20.0, 30.0)}
    u = Jet(SPACE.names, lambda alpha: partials[alpha], column(0.0, 0.0, 0.0))
    found = condition.residual({"u": u}, {}, normals)
    assert plain(found["u"]) == [-1.0, 2.0, 30.0]


def test_normals_fit_points_of_a_sampler_that_gives_fewer():
    def fewer(n: int, dimensions: int) -> np.ndarray:
        return draw(n - 1, dimensions)

    sites = Neumann(on="x", u=0.0).sites(SPACE, 10, fewer)
    assert len(sites.points) == len(sites.extra["normal_x"]) == 8
    assert (sites.extra["normal_x"] == np.where(sites.points[:, 0] == 0.0, -1.0, 1.0)).all()


def test_robin_mixes_value_and_normal_derivative():
    partials: Partials = {(0, 0): 3.0, (1, 0): 5.0}
    u = field("xt", lambda alpha: partials[alpha])
    at = {"x": column(0.0, 1.0), "t": column(1.0, 2.0)}
    condition = Robin(on="x", a=2.0, b=lambda t: t, u=1.0)
    found = condition.residual({"u": u}, at, {"normal_x": column(-1.0, 1.0)})
    assert plain(found["u"]) == [2 * 3 - 5 - 1, 2 * 3 + 2 * 5 - 1]


def test_periodic_points_come_in_pairs():
    sites = Periodic(on="x").sites(PLANE, 7, draw)
    low, high = sites.points[::2], sites.points[1::2]
    assert len(low) == len(high) == 3
    assert (low[:, 0] == -1.0).all()
    assert (high[:, 0] == 1.0).all()
    assert (low[:, 1] == high[:, 1]).all()
    assert Periodic(on="x").sites(LINE, 50, draw).points.tolist() == [[0.0], [1.0]]


def test_periodic_compares_values_and_derivatives():
    partials: Partials = {
        (0, 0): column(1.0, 4.0),
        (1, 0): column(7.0, 5.0),
        (2, 0): column(0.0, 1.0),
    }
    u = field("xt", lambda alpha: partials[alpha])
    at = {"x": column(-1.0, 1.0), "t": column(0.5, 0.5)}
    found = Periodic(on="x", order=3).residual({"u": u}, at, {})
    assert {key: plain(value) for key, value in found.items()} == {
        "u": [-3.0],
        "u_x": [2.0],
        "u_xx": [-1.0],
    }
    assert list(Periodic(on="x").residual({"u": u}, at, {})) == ["u", "u_x"]
    assert list(Periodic("x", order=(2, 1)).residual({"u": u}, at, {})) == ["u_xx", "u_x"]
    for order in ((), (1, -1), (True,), 1.5):
        with pytest.raises(ProblemError, match="several derivatives, such as"):
            Periodic("x", order=order)  # type: ignore[arg-type]


def test_periodic_refuses():
    with pytest.raises(ProblemError, match="must name a whole coordinate"):
        Periodic(on="x-").sites(PLANE, 4, draw)
    with pytest.raises(ProblemError, match="order = 0"):
        Periodic(on="x", order=0)
    with pytest.raises(ProblemError, match=r"fields=\(\) names none"):
        Periodic(on="x", fields=())
    with pytest.raises(ProblemError, match="'v' is no field: the problem has u"):
        Periodic(on="x", fields=("v",)).residual({"u": column(0.0)}, {}, {})


def test_periodic_of_some_fields():
    rising = {"u": field("xt", lambda alpha: column(1.0, 1.0)), "p": field("xt", lambda _: 0.0)}
    for fields in (("u",), "u"):
        assert list(Periodic("x", order=1, fields=fields).residual(rising, {}, {})) == ["u"]


@pytest.mark.parametrize("on", [3, None, (), ("x", 2)])
def test_places_that_are_none(on):
    with pytest.raises(ProblemError, match="names no boundary: write"):
        Dirichlet(on=on, u=0.0).sites(PLANE, 4, draw)


def test_a_face_that_is_named_twice_counts_once():
    assert Dirichlet(on=("x", "x-"), u=0.0).parts(PLANE) == PLANE.parts("x")


def test_initial_holds_on_one_coordinate():
    with pytest.raises(ProblemError, match="must name one coordinate"):
        Initial(on=("t", "x"), u=0.0).sites(PLANE, 4, draw)  # pyright: ignore[reportArgumentType]
