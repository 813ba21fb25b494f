"""What names mean, and which problems are refused because of theirs."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import pinnsig
from pinnsig.core.errors import DerivativeError, PinnsigError, ProblemError
from pinnsig.core.names import (
    ATTRIBUTES,
    FUNCTIONS,
    check_coordinates,
    check_names,
    parse_partial,
    parse_quantity,
    partial_name,
)
from pinnsig.derivatives.jet import Jet
from pinnsig.derivatives.operations import FUNCTIONS as JET_FUNCTIONS
from pinnsig.problem import (
    Box,
    Choice,
    Coefficient,
    Dirichlet,
    Initial,
    Neumann,
    PointData,
    Problem,
)
from tests.conftest import SMALL, Cli

PLANE = Box(x=(0.0, 1.0), t=(0.0, 1.0))


@pytest.mark.parametrize(
    ("text", "fields", "coordinates", "meant"),
    [
        ("u", ("u",), ("x", "t"), ("u", (0, 0))),
        ("u.x", ("u",), ("x", "t"), ("u", (1, 0))),
        ("u_xt", ("u",), ("x", "t"), ("u", (1, 1))),
        ("u_x_t", ("u",), ("x", "t"), ("u", (1, 1))),
        ("u_1", ("u_1", "u_2"), ("x",), ("u_1", (0,))),
        ("u_2.x", ("u_1", "u_2"), ("x",), ("u_2", (1,))),
        ("u_re.tt", ("u_re", "u_im"), ("x", "t"), ("u_re", (0, 2))),
        ("u_im_x", ("u_re", "u_im"), ("x", "t"), ("u_im", (1, 0))),
        ("u.x_1", ("u",), ("x_1", "x_2"), ("u", (1, 0))),
        ("u_x_1", ("u",), ("x_1", "x_2"), ("u", (1, 0))),
        ("u_x_1_x_2", ("u",), ("x_1", "x_2"), ("u", (1, 1))),
        ("u.x_1x_1", ("u",), ("x_1", "x_2"), ("u", (2, 0))),
        ("V.StauS", ("V",), ("S", "tau"), ("V", (2, 1))),
        ("w_r_theta", ("w",), ("r", "theta"), ("w", (1, 1))),
    ],
)
def test_quantities(text, fields, coordinates, meant):
    check_coordinates(coordinates)
    check_names(fields, coordinates, ())
    assert parse_quantity(text, fields, coordinates) == meant


@pytest.mark.parametrize("text", ["", "v", "u.", "u_", ".x", "u.x_", "u..x", "u__x", "u.y", "ux"])
def test_what_is_no_quantity(text):
    with pytest.raises(DerivativeError, match=f"{text!r} is no field or partial: fields u"):
        parse_quantity(text, ("u",), ("x", "t"))


def test_a_fields_own_name_comes_first():
    # refused in a problem; what is read must still be the field
    assert parse_quantity("u_x", ("u", "u_x"), ("x",)) == ("u_x", (0,))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("t", "tt"), "'tt' can be read in two ways"),
        (("x", "xx"), "'xx' can be read in two ways"),
        (("x", "x_x"), "'x_x' can be read in two ways"),
        (("a", "ab", "bc", "c"), "'abc' can be read in two ways"),
        (("value",), r"u\.value would be a partial"),
        (("exp",), r"u\.exp would be a partial"),
        (("l", "o", "g"), r"u\.log would be a partial"),
        (("like", "t"), r"u\.like would be a partial"),
        (("self",), "'self' cannot be used"),
        (("on",), "'on' cannot be used"),
        (("name",), "'name' cannot be used"),
        (("outside",), "'outside' cannot be used"),
        (("lambda",), "'lambda' cannot be used: it is a word of Python"),
        (("_x",), "'_x' cannot be used"),
        (("x y",), "'x y' cannot be used"),
        (("",), "'' cannot be used"),
        (("\u03d1",), "Python reads it as"),
    ],
)
def test_coordinates_that_are_refused(names, words):
    with pytest.raises(ProblemError, match=words):
        Box(**{name: (0.0, 1.0) for name in names})


@pytest.mark.parametrize(
    "names",
    [("x", "t"), ("S", "tau"), ("t", "tau"), ("x_1", "x_2"), ("r", "theta"), ("T", "H"),
     ("angle",), ("mean", "max"), tuple(f"x{i}" for i in range(1, 101)), ("t", "time")],
)  # fmt: skip
def test_coordinates_that_are_taken(names):
    assert Box(**{name: (0.0, 1.0) for name in names}).names == names


def test_partials_of_coordinates_that_are_called_as_tensors_methods_are():
    jet = Jet(("T", "H"), lambda alpha: float(10 * alpha[0] + alpha[1]), torch.zeros(2))
    assert (jet.T.value[0], jet.H.value[0], jet.TH.value[0]) == (10, 1, 11)


def test_no_attribute_of_fields_is_forgotten():
    own = {name for name in dir(Jet) if not name.startswith("_")}
    assert own <= set(ATTRIBUTES)
    assert {name for name in JET_FUNCTIONS if not name.startswith("special_")} <= set(FUNCTIONS)


@pytest.mark.parametrize(
    ("fields", "coordinates", "others", "words"),
    [
        (("u", "u_x"), ("x",), (), r"'u_x' would also be the partial u\.x: rename"),
        (("T", "T_x"), ("x", "t"), (), r"'T_x' would also be the partial T\.x"),
        (("u", "u_xt"), ("x", "t"), (), r"partial u\.xt"),
        (("u",), ("x", "u_x"), (), r"'u_x' would also be the partial u\.x"),
        (("u", "u_a"), ("b", "a_b"), (), "u_a_b could be a partial of u_a or of u"),
        (("u", "u"), ("x",), (), "'u' is the name of two things"),
        (("u", "x"), ("x",), (), "'x' is the name of two things"),
        (("u",), ("x",), ("u",), "'u' is the name of two things"),
        (("u",), ("x",), ("x",), "'x' is the name of two things"),
        (("normal_x",), ("x",), (), "'normal_x' is the name of a normal"),
        (("u",), ("x",), ("normal_x",), "'normal_x' is the name of a normal"),
        (("name",), ("x",), (), "'name' cannot be used"),
        (("if",), ("x",), (), "'if' cannot be used"),
        (("u v",), ("x",), (), "'u v' cannot be used"),
        ((3,), ("x",), (), "field name 3 cannot be used"),
    ],
)
def test_names_that_clash(fields, coordinates, others, words):
    with pytest.raises(ProblemError, match=words):
        check_names(fields, coordinates, others)


LETTERS = st.text("xt_", min_size=1, max_size=4)


@given(st.lists(LETTERS, min_size=1, max_size=3), st.lists(LETTERS, min_size=1, max_size=3),
       st.lists(st.integers(0, 2), min_size=3, max_size=3))  # fmt: skip
def test_names_are_refused_or_mean_one_thing(fields, coordinates, orders):
    fields, coordinates = tuple(f"u{f}" for f in fields), tuple(dict.fromkeys(coordinates))
    alpha = tuple(orders[: len(coordinates)])
    try:
        check_coordinates(coordinates)
        check_names(fields, coordinates, ())
    except ProblemError:
        return
    zero = (0,) * len(coordinates)
    for field in fields:
        assert parse_quantity(field, fields, coordinates) == (field, zero)
        if any(alpha):
            text = partial_name(alpha, coordinates)
            assert parse_partial(text, coordinates) == alpha
            assert parse_quantity(f"{field}.{text}", fields, coordinates) == (field, alpha)
            if sum(alpha) <= 2:
                assert parse_quantity(f"{field}_{text}", fields, coordinates) == (field, alpha)


def made(**attributes: Any) -> type[Problem]:
    def residual(self, u):
        return u.x

    return type("Case", (Problem,), {"domain": PLANE, "residual": residual, **attributes})


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"terms": {}}, "Case: 'terms' is an attribute of every problem: choose another name"),
        ({"values": Coefficient(1.0)}, "'values' is an attribute of every problem"),
        ({"learned": True}, "'learned' is an attribute"),
        ({"bound": 3.0}, "'bound' is an attribute"),
        ({"call": Choice("a", "b")}, "'call' is an attribute"),
        ({"outputs": ("n",)}, "'outputs' is an attribute"),
        ({"settings": {}}, "'settings' is an attribute"),
        ({"solution": 3.0}, "solution must be a method, such as def solution"),
        ({"conditions": []}, r"conditions must be a method, such as def conditions\(self\)"),
        ({"residual": None}, "residual must be a method"),
        ({"features": Coefficient(1.0)}, "features must be a method"),
        ({"hard": "yes"}, "hard must be True or False"),
        ({"fields": ("u", "u_x")}, "'u_x' would also be the partial"),
        ({"fields": {"u"}}, "fields must be a tuple"),
        ({"fields": ()}, "fields must be a tuple"),
        ({"x": Coefficient(1.0)}, "'x' is the name of two things"),
        ({"u": Coefficient(1.0)}, "'u' is the name of two things"),
        ({"domain": None}, "there is no domain"),
    ],
)
def test_classes_that_are_refused(runs, attributes, words):
    kind = made(**attributes)
    with pytest.raises(ProblemError, match=words) as caught:
        kind()
    assert "\n" not in str(caught.value)
    with pytest.raises(ProblemError, match=words):
        pinnsig.solve(kind, runs=runs, **SMALL)
    assert not runs.exists()


def test_a_class_is_checked_whatever_its_init_is():
    def init(self, **settings):
        del settings

    with pytest.raises(ProblemError, match="'terms' is an attribute"):
        made(terms=3, __init__=init)()


class Parted(Problem):
    """The heat equation for two fields, with an underscore in every name."""

    domain = Box(x_1=(0.0, 1.0), t_s=(0.0, 1.0))
    fields = ("u_re", "u_im")

    def residual(self, u_re, u_im, x_1):
        return {"re_part": u_re.t_s - u_re.x_1x_1, "im_part": u_im.t_s - u_im.x_1_x_1 + 0 * x_1}

    def conditions(self):
        yield Initial(on="t_s", u_re=lambda x_1: torch.sin(math.pi * x_1), u_im_t_s=0.0)
        yield Dirichlet("x_1-", u_re=0.0, u_im=0.0)
        yield Neumann("x_1+", u_re=0.0)
        yield PointData(x_1=[0.5], t_s=[0.5], u_re=[0.1], u_im_x_1=[0.0])


def test_names_with_underscores_everywhere(runs, cli: Cli):
    weights = {"re_part": 2.0, "boundary": 3.0, "boundary_x_1+": 4.0}
    result = pinnsig.solve(Parted, runs=runs, weight=weights, figures=True, **SMALL)
    terms = ["re_part", "im_part", "initial", "boundary_x_1-", "boundary_x_1+", "data"]
    assert list(result.terms) == terms
    expected = sum(
        {**weights, "boundary_x_1-": 3.0}.get(k, 1.0) * v for k, v in result.terms.items()
    )
    assert result.best_loss == pytest.approx(expected, rel=1e-12)
    assert (result.path / "figures" / "solution_u_re.png").is_file()
    loaded = pinnsig.load(result.path, problem=Parted)
    h = 1e-5
    up, low = (loaded.predict(x_1=0.3 + s * h, t_s=0.2)["u_im"] for s in (1, -1))
    found = loaded.predict(("u_im.x_1", "u_im_x_1", "u_re_x_1_t_s"), x_1=0.3, t_s=0.2)
    assert found["u_im.x_1"] == found["u_im_x_1"]
    if loaded.settings.dtype == "float64":
        assert found["u_im.x_1"] == pytest.approx((up - low) / (2 * h), rel=1e-5)


def test_an_unknown_weight_is_told_all_names(runs):
    with pytest.raises(PinnsigError, match="known are re_part, im_part, initial, boundary_x_1-, "):
        pinnsig.solve(Parted, runs=runs, weight={"zzz": 2.0}, **SMALL)


def test_a_term_is_not_named_as_another_group(runs):
    class Case(Parted):
        def conditions(self):
            yield Dirichlet("x_1", u_re=0.0, name="initial")

    with pytest.raises(ProblemError, match="group boundary is named 'initial'"):
        Case().terms()

    class Residual(Parted):
        def residual(self, u_re, u_im, x_1):
            return {"initial": u_re.t_s, "im": u_im.t_s}

    with pytest.raises(ProblemError, match="a residual is named 'initial'"):
        pinnsig.solve(Residual, runs=runs, **SMALL)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda u: (u.x, u.t), None),
        (lambda u: [u.x, u.t], None),
        (lambda u: {"a": (u.x, u.t)}, "residual 'a' must be a tensor"),
        (lambda u: ((u.x, u.t),), "must be a tensor of shape"),
        (lambda u: {1: u.x}, "1 cannot be the name of a residual"),
        (lambda u: {"": u.x}, "'' cannot be the name"),
        (lambda u: {"a=b": u.x}, "'a=b' cannot be the name"),
        (lambda u: {}, "residual gives nothing"),
        (lambda u: None, "must be a tensor of shape"),
        (lambda u: "u", "must be a tensor of shape"),
    ],
)
def test_what_a_residual_returns(runs, given, words):
    def residual(self, u):
        return given(u)

    kind = made(residual=residual)
    if words is None:
        found = pinnsig.solve(kind, runs=runs, figures=False, **SMALL)
        assert list(found.terms) == ["residual_1", "residual_2"]
        return
    with pytest.raises(ProblemError, match=words) as caught:
        pinnsig.solve(kind, runs=runs, **SMALL)
    assert "\n" not in str(caught.value)
    assert not runs.exists()
