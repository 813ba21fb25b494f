"""Conditions between regions, and quantities that are others in each."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.core.errors import PinnsigError, ProblemError
from pinnsig.derivatives import coordinate_jets
from pinnsig.problem import Box, Coefficient, Dirichlet, Disc, Interface, Problem, by_region
from pinnsig.sampling import Counts, draw_sites
from tests.conftest import SMALL


class Slab(Problem):
    """(k u')' = -10 sin 3y with k = 1 below y = 0.4 and 10 above; u and k u' jump as said."""

    domain = Box(y=(0.0, 1.0))
    k1 = Coefficient(1.0, above=0.0)
    k2 = Coefficient(10.0, above=0.0)
    step = Coefficient(0.0)
    push = Coefficient(0.0)

    def k(self, y):
        return by_region(y - 0.4, self.k1, self.k2)

    def ansatz(self, n1, n2, y):
        return by_region(y - 0.4, n1, n2)

    def residual(self, u, y):
        return self.k(y) * u.yy + 10 * torch.sin(3 * y)

    def conditions(self):
        yield Dirichlet("y-", u=0.0)
        yield Dirichlet("y+", u=1.0)
        jump = {"u": self.step, "flux": lambda push: push}
        yield Interface(at={"y": 0.4}, flux=lambda u, y: self.k(y) * u.y, jump=jump)

    def solution(self, y):
        # k u' = (10/3) cos 3y + c, with c + push in the place of c above
        a, k1, k2, push = 10 / 9, self.k1, self.k2, self.push
        s = math.sin(1.2), math.sin(3.0)
        c = (a / k2 * (s[0] - s[1]) + 1 - 0.6 * push / k2 - a / k1 * s[0] - self.step) / (
            0.4 / k1 + 0.6 / k2
        )
        below = a / k1 * torch.sin(3 * y) + c * y / k1
        above = a / k2 * (torch.sin(3 * y) - s[1]) + (c + push) * (y - 1) / k2 + 1
        return torch.where(y < 0.4, below, above)


FIT: dict[str, Any] = {
    "depth": 2, "width": 12, "collocation": 80, "initial": 0, "boundary": 6, "figures": False,
    "dtype": "float64", "phases": ["lm:40"],
}  # fmt: skip


def test_the_closed_form_is_one():
    y = torch.tensor([0.4 - 1e-9, 0.4 + 1e-9], dtype=torch.float64)
    slab = Slab(step=0.3, push=-2.0)
    below, above = slab.solution(y)
    assert float(above - below) == pytest.approx(0.3, abs=1e-7)
    h = 1e-5
    at = torch.tensor([0.4 - 2 * h, 0.4 - h, 0.4 + h, 0.4 + 2 * h], dtype=torch.float64)
    u = slab.solution(at)
    flux = 10 * (u[3] - u[2]) / h - (u[1] - u[0]) / h
    assert float(flux) == pytest.approx(-2.0, abs=1e-2)
    ends = slab.solution(torch.tensor([0.0, 1.0], dtype=torch.float64))
    assert ends.tolist() == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("jumps", [{}, {"step": 0.3, "push": -2.0}])
def test_two_layers(runs, jumps):
    found = pinnsig.solve(Slab, runs=runs, set=jumps, **FIT)
    assert found.relative_l2 < 1e-4
    assert found.suspicious == []
    assert "interface" in found.independent["terms"]


def test_each_point_comes_as_two_in_every_precision():
    sites = draw_sites(Slab(), Counts(3, 0, 3), "lhs", 0)["interface"]
    assert sites.points.tolist() == [[0.4], [0.4]]
    for dtype in (torch.float32, torch.float64):
        points, _ = sites.tensors(("y",), torch.empty(0, dtype=dtype))
        assert (points[:, 0] < 0.4).tolist() == [True, False]
        assert (points - 0.4).abs().max() < 20 * torch.finfo(dtype).eps

    class Wide(Problem):
        domain = Box(x=(-1.0, 1.0), y=(0.0, 3.0), t=(0.0, 1.0))

        def residual(self, u):
            return u.t

        def conditions(self):
            yield Interface(at={"y": 2.0})

    sites = draw_sites(Wide(), Counts(3, 0, 10), "lhs", 0)["interface"]
    assert sites.points.shape == (10, 3)
    assert (sites.points[::2] == sites.points[1::2]).all()
    assert (sites.points[:, 1] == 2.0).all()
    assert sites.extra["normal_y"].tolist() == [1.0] * 10


class Two(Problem):
    """u = y below 1/2 and 2 y + 1 above; v = x."""

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))
    fields = ("u", "v")

    def residual(self, u, v):
        return {"a": u.xx, "b": v.xx}

    def ansatz(self, n, x, y):
        return by_region(y - 0.5, y, 2 * y + 1) + 0.0 * n, x + 0.0 * n


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, 1.5**2),
        ({"continuous": "v"}, 0.0),
        ({"jump": {"u": lambda x: 1.5 + 0 * x}}, 0.0),
        ({"continuous": (), "flux": lambda u, normal_y, normal_x: u.y * normal_y + normal_x}, 1.0),
        ({"continuous": "v", "flux": lambda u, v: {"f": u.y, "g": v.x}, "jump": {"f": 1.0}}, 0.0),
        ({"continuous": ("v",), "flux": lambda u: (u.y, u), "jump": {"flux_2": 1.0}}, 1.25),
    ],
)  # fmt: skip
def test_steps_of_a_known_field(runs, more, expected):
    kind = type("Case", (Two,), {"conditions": lambda self: [Interface(at={"y": 0.5}, **more)]})
    found = pinnsig.solve(kind, runs=runs, figures=False, **SMALL)
    assert found.terms["interface"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (lambda: Interface(at={"y": 0.0}), "y = 0 does not lie inside the domain"),
        (lambda: Interface(at={"z": 0.0}), "'z' is no coordinate: the domain has x, y"),
        (lambda: Interface(at={}), "must be one coordinate, such as at="),
        (lambda: Interface(at={"y": "0.4"}), "a position is a finite number, not '0.4'"),  # type: ignore[dict-item]
        (lambda: Interface(at={"y": 0.5}, continuous="w"), "'w' is no field: the problem has u, v"),
        (lambda: Interface(at={"y": 0.5}, continuous=()), "nothing is continuous"),
        (lambda: Interface(at={"y": 0.5}, flux=2.0), "a flux is a function"),  # type: ignore[arg-type]
        (lambda: Interface(at={"y": 0.5}, jump={"flux": 1.0}), "a jump of 'flux', which is none"),
        (lambda: Interface(at={"y": 0.5}, flux=lambda u: 1.0), "flux must have shape .* not 1.0"),
        (lambda: Interface(at={"y": 0.5}, flux=lambda w: w), "its parameter 'w' is none of"),
        (lambda: Interface(at={"y": 0.5}, flux=lambda u: u.value.cumsum(0)), "depends on other"),
    ],
)  # fmt: skip
def test_refused_in_one_line(runs, condition, words):
    kind = type("Case", (Two,), {"conditions": lambda self: [condition()]})
    with pytest.raises(PinnsigError, match=words) as caught:
        pinnsig.solve(kind, runs=runs, **SMALL)
    assert "\n" not in str(caught.value)
    assert not runs.exists()


def test_by_region_has_the_partials_of_the_region():
    points = torch.tensor([[0.1], [0.5], [0.7], [0.95]], dtype=torch.float64)
    y = coordinate_jets(("y",), points)["y"]
    found = by_region(y, 3.0, y * y, y.sin(), at=(0.5, 0.9))
    assert found.value.tolist() == pytest.approx([3.0, 0.25, 0.49, math.sin(0.95)])
    assert found.y.value.tolist() == pytest.approx([0.0, 1.0, 1.4, math.cos(0.95)])
    k = by_region(y - 0.6, 1.0, 1e-9 / 3)
    assert k.value.dtype == torch.float64
    assert k.value.tolist() == [1.0, 1.0, 1e-9 / 3, 1e-9 / 3]
    assert k.y.value.tolist() == [0.0] * 4
    assert by_region(points[:, 0], 1.0, 2.0, at=0.5).tolist() == [1.0, 2.0, 2.0, 2.0]


def test_by_region_refuses_thresholds_that_do_not_fit():
    y = torch.tensor(np.linspace(0, 1, 5))
    with pytest.raises(ProblemError, match="3 values need 2 thresholds, not 1"):
        by_region(y, 1.0, 2.0, 3.0, at=0.5)
    with pytest.raises(ProblemError, match=r"thresholds \[0.5, 0.2\] must ascend"):
        by_region(y, 1.0, 2.0, 3.0, at=(0.5, 0.2))


def test_points_on_a_shape_at_all_times():
    class Inclusion(Problem):
        domain = Box(x=(0.0, 2.0), y=(-1.0, 1.0), t=(0.0, 1.0))

        def residual(self, u):
            return u.t

        def conditions(self):
            yield Interface(on=Disc(center=(0.0, 0.0), radius=0.5))

    sites = draw_sites(Inclusion(), Counts(3, 0, 40), "lhs", 0)["interface"]
    assert len(sites.points) == 40
    x, y, t = sites.points.T
    np.testing.assert_allclose(np.hypot(x, y), 0.5)
    assert (x > 0).all()  # half of the circle lies in the domain
    assert len(np.unique(t)) == 20
    np.testing.assert_allclose(sites.extra["normal_x"], x / 0.5)
    assert (sites.extra["normal_t"] == 0).all()
    for dtype in (torch.float32, torch.float64):
        points, _ = sites.tensors(("x", "y", "t"), torch.empty(0, dtype=dtype))
        inside = points[:, 0] ** 2 + points[:, 1] ** 2 < 0.25
        assert inside.tolist() == [True, False] * 20


def test_an_inclusion(runs):
    """A disc that conducts twice as well in a uniform field: inside the field is uniform, too.

    Source: Jackson, Classical Electrodynamics (1999), section 4.4, in the plane.
    """
    r0, k1 = 0.5, 2.0

    def exact(x, y):
        r2 = x * x + y * y
        outside = x * (1 - (k1 - 1) / (k1 + 1) * r0**2 / r2)
        return torch.where(r2 < r0**2, x * 2 / (k1 + 1), outside)

    class Inclusion(Problem):
        domain = Box(x=(-1.0, 1.0), y=(-1.0, 1.0))

        def ansatz(self, n1, n2, x, y):
            return by_region(x * x + y * y, n1, n2, at=r0**2)

        def residual(self, u):
            return u.xx + u.yy

        def conditions(self):
            def flux(u, x, y, normal_x, normal_y):
                k = by_region(x * x + y * y, k1, 1.0, at=r0**2)
                return k * (u.x * normal_x + u.y * normal_y)

            yield Dirichlet(("x", "y"), u=exact)
            yield Interface(on=Disc(radius=r0), flux=flux)

        def solution(self, x, y):
            return exact(x, y)

    more = {"collocation": 150, "boundary": 100, "phases": ["lm:25"]}
    found = pinnsig.solve(Inclusion, runs=runs, **{**FIT, **more})
    assert found.relative_l2 < 5e-3
