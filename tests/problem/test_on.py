"""`On`: any residual on a place."""

import math
from typing import Any, cast

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

import pinnsig
from pinnsig import On
from pinnsig.core.errors import ProblemError
from pinnsig.problem import Box, Choice, Coefficient, Dirichlet, Initial, Neumann, Problem, Robin
from pinnsig.sampling import Counts, draw_sites
from tests.conftest import SMALL

START = {**SMALL, "adam": 0, "lbfgs": 0, "figures": False, "dtype": "float64"}


class Plane(Problem):
    """Two fields on a rectangle, with coefficients of every kind."""

    domain = Box(x=(0.0, 1.0), y=(0.0, 2.0), t=(0.0, 1.0))
    fields = ("u", "v")
    h = Coefficient(0.7, above=0.0)
    side = Choice("hot", "cold")

    def residual(self, u, v):
        return {"heat": u.t - u.xx - u.yy, "other": v.t - v.xx}


def with_conditions(*conditions, base=Plane, **attributes):
    def found(self):
        del self
        return conditions

    return type("Case", (base,), {"conditions": found, **attributes})


def losses(kind, runs, **more):
    return pinnsig.solve(kind, runs=runs, **{**START, **more}).terms


@pytest.mark.parametrize(
    ("short", "said"),
    [
        (Dirichlet("x+", u=lambda y: y), On("x+", lambda u, y: u - y)),
        (Dirichlet(("x-", "y"), u=2.0, v=0.0), On(("x-", "y"), lambda u, v: (u - 2.0, v))),
        (Neumann("x", u=3.0), On("x", lambda u, normal_x: normal_x * u.x - 3.0)),
        (
            Neumann(("x+", "y-"), v=lambda t: t),
            On(("x+", "y-"), lambda v, t, normal_x, normal_y: (
                normal_x * v.x + normal_y * v.y - t)),
        ),
        (
            Robin("y+", a=lambda h: h, b=2.0, u=1.0),
            On("y+", lambda u, h: {"mixed": h * u + 2.0 * u.y - 1.0}),
        ),
        (Initial(u=lambda x: torch.sin(x), v_t=1.0), On("t-", lambda u, v, x: (
            u - torch.sin(x), v.t - 1.0))),
    ],
)  # fmt: skip
def test_the_named_conditions_are_short_forms(runs, short, said):
    a, b = losses(with_conditions(short), runs), losses(with_conditions(said), runs)
    assert list(a) == list(b)
    assert a == pytest.approx(b, rel=1e-12)


def test_groups_counts_and_names():
    kind = with_conditions(
        On("t-", lambda u: u),
        On("x+", lambda u, v: u - v),
        On(("t-", "x-"), lambda v: v),
        On("t", lambda v: v, name="both_ends"),
    )
    terms = kind().terms()
    assert {name: term.group for name, term in terms.items()} == {
        "initial": "initial",
        "boundary_x+": "boundary",
        "boundary_t-_x-": "boundary",
        "both_ends": "boundary",
    }
    sites = draw_sites(kind(), Counts(10, 7, 20), "lhs", seed=0)
    assert [len(sites[name].points) for name in terms] == [7, 4, 8, 8]
    assert (sites["initial"].points[:, 2] == 0).all()
    assert set(sites["boundary_x+"].extra) == {"normal_x", "normal_y", "normal_t"}
    assert (sites["boundary_x+"].extra["normal_x"] == 1).all()
    assert (sites["boundary_x+"].extra["normal_y"] == 0).all()


def test_everything_goes_by_name(runs):
    seen = {}

    def residual(u, v, x, y, t, normal_x, normal_t, h, side, k=3.0):
        seen.update(h=h, side=side, k=k)
        # of shape (N,) all of them, and partials of expressions with coordinates
        return (u * x).x - u - u.x * x + h * (normal_x - 1) + 0 * (v + y + t + normal_t)

    terms = losses(with_conditions(On("x+", residual)), runs, set={"side": "cold"})
    assert terms["boundary"] == pytest.approx(0.0, abs=1e-24)
    assert seen == {"h": 0.7, "side": "cold", "k": 3.0}


@pytest.mark.parametrize("engine", ["jets", "nested"])
def test_coefficients_by_name_are_learned(runs, engine):
    """The rate of a heat loss, from its one place: u' + h u = 0 with u = 2 - x, so that h = 1."""

    class Loss(Problem):
        domain = Box(x=(0.0, 1.0))
        h = Coefficient(0.2, above=0.0, learn=True, true=1.0)

        def residual(self, u):
            return u.xx

        def ansatz(self, n, x):
            return 2.0 - x + 0 * n

        def conditions(self):
            yield On("x+", lambda u, h: u.x + h * u)

    found = pinnsig.solve(
        Loss, runs=runs, figures=False, **{**SMALL, "adam": 0, "lbfgs": 40}, engine=engine,
        dtype="float64",
    )  # fmt: skip
    assert found.coefficients["h"]["value"] == pytest.approx(1.0, abs=1e-6)


class Radiation(Problem):
    """u'' = 0 with u(0) = 1 and u'(1) + u(1)^4 = 0."""

    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.xx

    def conditions(self):
        yield Dirichlet("x-", u=1.0)
        yield On("x+", lambda u: u.x + u**4)


@pytest.mark.parametrize("hard", [False, True])
def test_radiation(runs, hard):
    slope = brentq(lambda c: c - (1 - c) ** 4, 0, 1, xtol=1e-14)  # u = 1 - c x
    assert slope == pytest.approx(0.2755080409, abs=1e-9)

    def solution(self, x):
        del self
        return 1 - slope * x

    def hard_ansatz(self, n, x):
        del self
        return 1 - slope * x + x * (1 - x) ** 2 * n

    made = {"solution": solution} | ({"hard_ansatz": hard_ansatz} if hard else {})
    kind = type("Case", (Radiation,), made)
    phases = ["adam:20", "ssbroyden:120"]
    found = pinnsig.solve(
        kind, runs=runs, figures=False, depth=2, width=8, collocation=30, boundary=2, initial=0,
        phases=phases, dtype="float64", hard="yes" if hard else "no",
    )  # fmt: skip
    assert found.relative_l2 < 1e-5
    assert list(found.terms) == (
        ["residual"] if hard else ["residual", "boundary_x-", "boundary_x+"]
    )
    if not hard:
        assert set(found.independent["terms"]) == set(found.terms)


def test_a_hard_ansatz_that_misses_a_residual_is_refused(runs):
    def hard_ansatz(self, n, x):
        del self
        return 1 + x * n

    kind = type("Case", (Radiation,), {"hard_ansatz": hard_ansatz})
    with pytest.raises(ProblemError, match="misses the condition"):
        pinnsig.solve(kind, runs=runs, **START, hard="yes")


def test_a_condition_between_fields_and_weights_of_its_group(runs):
    kind = with_conditions(On("x", lambda u, v: u - v), On("y", lambda u, v: {"jump": u.y + v.y}))
    plain = pinnsig.solve(kind, runs=runs, **START)
    heavy = pinnsig.solve(kind, runs=runs, **START, weight={"boundary": 10.0})
    assert heavy.terms == pytest.approx(plain.terms)
    rest = sum(plain.terms[name] for name in ("heat", "other"))
    faces = sum(plain.terms[name] for name in ("boundary_x", "boundary_y"))
    assert heavy.best_loss == pytest.approx(rest + 10 * faces)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (lambda: On("x+", cast(Any, 3.0)), "On x.: a residual is a function, such as lambda u"),
        (lambda: On("z", lambda u: u), "on='z' names no coordinate"),
        (lambda: On("x+", lambda w: w), "its parameter 'w' is none of u, v, x, y, t, normal_x, "),
        (lambda: On("x+", lambda *a: a), r"\*a names nothing"),
        (lambda: On("x+", torch.sin), "does not name its parameters"),
        (lambda: On("x+", lambda u: u.value[:1]), r"must have shape"),
        (lambda: On("x+", lambda u: 0.0), "must be a tensor"),
        (lambda: On("x+", lambda u: {3: u}), "3 cannot be the name"),
        (lambda: On("x+", lambda u: {}), "gives nothing"),
        (lambda: On("x+", lambda u: u.z), "no partial 'z'"),
        (lambda: On("x+", lambda u: u, name=""), "name='' cannot be"),
        (lambda: On("x+", lambda u: u, name="a=b"), "name='a=b' cannot be"),
    ],
)
def test_refused_in_one_line(runs, condition, words):
    class Case(Plane):
        def conditions(self):
            yield condition()

    with pytest.raises(pinnsig.PinnsigError, match=words) as caught:
        pinnsig.solve(Case, runs=runs, **START)
    assert "\n" not in str(caught.value)
    assert not runs.exists()


def test_a_bound_condition_leaves_the_other_as_it_is():
    condition = On("t-", lambda u: u)
    bound = condition.bound(Plane.domain, {"h": 1.0})
    assert (bound.group, dict(bound.settings)) == ("initial", {"h": 1.0})
    assert (condition.group, dict(condition.settings)) == ("boundary", {})


def test_traction_of_an_elastic_square(runs):
    """Stress times normal on all sides, against numbers worked out by hand."""

    class Square(Problem):
        domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))
        fields = ("ux", "uy")

        def residual(self, ux, uy):
            return {"x": ux.xx, "y": uy.yy}

        def ansatz(self, a, b, x, y):
            return {"uy": x * y + 0 * b, "ux": x * x + 0 * a}

        def conditions(self):
            def traction(ux, uy, normal_x, normal_y):
                trace = ux.x + uy.y
                shear = (ux.y + uy.x) / 2
                return (
                    normal_x * (trace + 2 * ux.x) + 2 * normal_y * shear,
                    2 * normal_x * shear + normal_y * (trace + 2 * uy.y),
                )

            for on in ("x-", "x+", "y-", "y+"):
                yield On(on, traction)

    found = losses(Square, runs, sampler="grid", boundary=4 * 400)
    # ux = x^2, uy = x y: ux.x = 2 x, uy.y = x, shear = y / 2
    s = (np.arange(400) + 0.5) / 400
    expected = {
        "boundary_x-": np.mean(0 * s) + np.mean(s**2),
        "boundary_x+": 7.0**2 + np.mean(s**2),
        "boundary_y-": np.mean(0 * s) + np.mean((5 * s) ** 2),
        "boundary_y+": 1.0 + np.mean((5 * s) ** 2),
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-9)
    assert math.isclose(expected["boundary_x+"], 49 + 1 / 3, rel_tol=1e-5)
