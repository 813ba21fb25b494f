import hashlib
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnsig.core.errors import SamplingError
from pinnsig.problem import (
    Box,
    Condition,
    Dirichlet,
    Initial,
    Periodic,
    PointData,
    Problem,
    problem_class,
)
from pinnsig.sampling import Counts, draw_sites, register_sampler, sampler_function, samplers
from tests.sampling.doubles import replace_samplers

RANDOM = ["lhs", "uniform", "sobol", "halton"]
ALL = [*RANDOM, "grid"]


class Plane(Problem):
    domain = Box(x=(-1.0, 1.0), y=(0.0, 3.0), t=(0.0, 2.0))
    more: tuple[Condition, ...] = ()

    def residual(self, u):
        return u.t

    def conditions(self):
        yield Initial(u=0.0)
        yield from self.more


class Decay(Problem):
    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.x + u

    def conditions(self):
        yield Initial(on="x", u=1.0)


def problem_with(*more: Condition) -> Problem:
    problem = Plane()
    problem.more = more
    return problem


def draw(name: str, n: int, dimensions: int, seed: int = 0) -> np.ndarray:
    return sampler_function(name)(n, dimensions, np.random.default_rng(seed))


def digest(problem: Problem, seed: int, sampler: str = "lhs") -> str:
    sites = draw_sites(problem, Counts(50, 20, 20), sampler, seed)
    return hashlib.sha256(b"".join(s.points.tobytes() for s in sites.values())).hexdigest()


# --- unit-cube samplers -----------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 70), dimensions=st.integers(0, 4), name=st.sampled_from(ALL))
def test_points_are_in_the_unit_cube(n, dimensions, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points = draw(name, n, dimensions)
    assert points.dtype == np.float64
    assert points.shape[1] == dimensions
    assert 1 <= len(points) <= n
    assert len(points) == n or name == "grid"
    assert ((points >= 0) & (points <= 1)).all()


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 200), dimensions=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_latin_hypercube_has_one_point_in_each_stratum(n, dimensions, seed):
    strata = np.floor(draw("lhs", n, dimensions, seed) * n)
    assert (np.sort(strata, axis=0) == np.arange(n)[:, None]).all()


@pytest.mark.parametrize("name", RANDOM)
def test_random_samplers_follow_their_generator(name):
    assert (draw(name, 20, 2, seed=3) == draw(name, 20, 2, seed=3)).all()
    assert not (draw(name, 20, 2, seed=3) == draw(name, 20, 2, seed=4)).any()
    generator = np.random.default_rng(0)
    first, second = (sampler_function(name)(20, 2, generator) for _ in range(2))
    assert not (first == second).any()


@pytest.mark.parametrize("name", ["sobol", "halton"])
def test_low_discrepancy(name):
    strata = np.floor(draw(name, 64, 1) * 64)
    filled = len(np.unique(strata))
    assert filled == 64 if name == "sobol" else filled > 50


@settings(deadline=None)
@given(n=st.integers(1, 400), dimensions=st.integers(1, 4))
def test_grid_is_the_largest_that_fits(n, dimensions):
    points = draw("grid", n, dimensions)
    side = len(np.unique(points[:, 0]))
    assert len(points) == side**dimensions <= n < (side + 1) ** dimensions
    assert len(np.unique(points, axis=0)) == len(points)
    np.testing.assert_allclose(np.unique(points), (np.arange(side) + 0.5) / side)


@pytest.mark.parametrize(("n", "dimensions"), [(1000, 3), (10**5, 5), (141**2, 2)])
def test_grid_of_a_perfect_power_is_exact(n, dimensions):
    assert len(draw("grid", n, dimensions)) == n


def test_lookup_and_registration(monkeypatch):
    with pytest.raises(SamplingError, match=r"sampler 'lsh' is unknown: did you mean lhs\?"):
        sampler_function("lsh")
    with pytest.raises(SamplingError, match="known are lhs, uniform, sobol, halton, grid"):
        sampler_function("zzzz")
    replace_samplers(monkeypatch)
    register_sampler("middle", lambda n, dimensions, generator: np.full((n, dimensions), 0.5))
    sites = draw_sites(Decay(), Counts(3, 1, 0), "middle", seed=0)
    assert sites["residual"].points.tolist() == [[0.5]] * 3
    with pytest.raises(SamplingError, match="taken by the sampler .*samplers.lhs"):
        register_sampler("lhs", samplers.uniform)


@pytest.mark.parametrize(
    "points",
    [
        lambda n, d, g: np.full((n, d), 1.5),
        lambda n, d, g: np.full((n, d), np.nan),
        lambda n, d, g: np.full((n + 1, d), 0.5),
        lambda n, d, g: np.full((n, d + 1), 0.5),
        lambda n, d, g: np.full(n, 0.5),
        lambda n, d, g: np.empty((0, d)),
    ],
)
def test_a_sampler_that_breaks_its_promise(points, monkeypatch):
    replace_samplers(monkeypatch, bad=points)
    with pytest.raises(SamplingError, match="sampler 'bad' must return at most 5 points"):
        draw_sites(Decay(), Counts(5, 1, 0), "bad", seed=0)


# --- the points of a problem ------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_every_term_has_its_points(name):
    problem = problem_with(Dirichlet(on="x", u=0.0), Periodic(on="y"))
    sites = draw_sites(problem, Counts(100, 30, 41), name, seed=0)
    assert list(sites) == ["residual", "initial", "boundary_x", "boundary_y"]
    for site in sites.values():
        assert site.points.dtype == np.float64
        assert problem.domain.contains(site.points).all()
        assert all(len(extra) == len(site.points) for extra in site.extra.values())
    assert (sites["initial"].points[:, 2] == 0.0).all()
    assert set(sites["boundary_x"].points[:, 0]) == {-1.0, 1.0}


def test_boundary_counts_are_totals_half_on_each_side():
    sites = draw_sites(problem_with(Dirichlet(on="x", u=0.0)), Counts(200, 40, 1000), "lhs", 0)
    assert [len(site.points) for site in sites.values()] == [200, 40, 1000]
    assert (sites["boundary"].points[:, 0] == -1.0).sum() == 500


@settings(max_examples=30, deadline=None)
@given(total=st.integers(5, 200))
def test_shares_add_up_in_proportion_to_faces(total):
    conditions = [Dirichlet(on=on, u=0.0) for on in ("x", "y-", ("y+", "t+"))]
    sites = draw_sites(problem_with(*conditions), Counts(1, 1, total), "uniform", seed=0)
    found = [len(site.points) for term, site in sites.items() if term.startswith("boundary")]
    assert sum(found) == total
    assert all(abs(n - total * k / 5) <= k for n, k in zip(found, (2, 1, 2), strict=True))


def test_a_group_with_count_zero_is_left_out_but_data_stay():
    data = PointData(x=[0.0], y=[0.0], t=[0.0], u=[1.0])
    problem = problem_with(Dirichlet(on="x", u=0.0), data)
    assert list(draw_sites(problem, Counts(5, 0, 0), "lhs", 0)) == ["residual", "data"]
    assert list(draw_sites(problem, Counts(5, 0, 2), "lhs", 0)) == ["residual", "boundary", "data"]


@pytest.mark.parametrize("name", ALL)
def test_a_condition_at_a_single_point(name):
    sites = draw_sites(Decay(), Counts(1, 1, 0), name, seed=0)
    assert sites["initial"].points.tolist() == [[0.0]]
    assert sites["residual"].points.shape == (1, 1)
    assert draw_sites(Decay(), Counts(5, 100, 0), name, 0)["initial"].points.shape == (1, 1)


def test_terms_do_not_depend_on_each_other():
    few = draw_sites(problem_with(), Counts(50, 20, 20), "lhs", seed=0)
    many = draw_sites(problem_with(Dirichlet(on="x", u=0.0)), Counts(50, 20, 20), "lhs", seed=0)
    for term in few:
        assert (few[term].points == many[term].points).all()
    walls = [Dirichlet(on=on, u=0.0) for on in ("y-", "y+")]
    pair = draw_sites(problem_with(*walls), Counts(50, 20, 40), "uniform", seed=0)
    low, high = pair["boundary_y-"].points, pair["boundary_y+"].points
    assert not np.isin(low[:, 0], high[:, 0]).any()


def test_draw_number_gives_fresh_points():
    first, again, fresh = (
        draw_sites(Plane(), Counts(50, 20, 0), "lhs", seed=0, draw_number=k) for k in (0, 0, 1)
    )
    for term in first:
        assert (first[term].points == again[term].points).all()
        assert not (first[term].points[:, 0] == fresh[term].points[:, 0]).any()


@pytest.mark.parametrize("name", RANDOM)
def test_points_follow_the_seed_alone(name):
    problem = problem_with(Dirichlet(on="x", u=0.0))
    before = digest(problem, 7, name)
    np.random.default_rng(7).random(3)
    np.random.rand(5)  # noqa: NPY002
    torch.rand(5)
    global_state = repr(np.random.get_state())  # noqa: NPY002
    torch_state = torch.get_rng_state()
    assert digest(problem, 7, name) == before
    assert digest(problem, 8, name) != before
    assert repr(np.random.get_state()) == global_state  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_another_process_draws_the_same_points():
    code = (
        "import hashlib\n"
        "from pinnsig.problem import problem_class\n"
        "from pinnsig.sampling import Counts, draw_sites\n"
        "sites = draw_sites(problem_class('burgers')(), Counts(50, 20, 20), 'lhs', 7)\n"
        "data = b''.join(s.points.tobytes() for s in sites.values())\n"
        "print(hashlib.sha256(data).hexdigest())\n"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == digest(problem_class("burgers")(), 7)


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((0, 1, 1), "collocation count 0 cannot be: it must be at least 1"),
        ((10, -1, 1), "initial count -1 cannot be: it must be at least 0"),
        ((10, 1, -5), "boundary count -5 cannot be"),
        ((10, 1.5, 1), "initial count 1.5 is not an integer"),
        ((10, True, 1), "initial count True is not an integer"),
        (("10", 1, 1), "collocation count '10' is not an integer"),
    ],
)
def test_counts_that_cannot_be(counts, words):
    with pytest.raises(SamplingError, match=words):
        Counts(*counts)


def test_fewer_points_than_faces_is_refused_before_drawing(monkeypatch):
    replace_samplers(monkeypatch, never=lambda n, d, g: pytest.fail("drawn"))
    problem = problem_with(Dirichlet(on="x", u=0.0), Dirichlet(on="y-", u=0.0))
    with pytest.raises(SamplingError, match=r"boundary count 2 is too small: .* on 3 faces"):
        draw_sites(problem, Counts(10, 1, 2), "never", seed=0)


@pytest.mark.parametrize("seed", [-1, 0.5, "1", True])
def test_unusable_seeds(seed):
    with pytest.raises(SamplingError, match="seed"):
        draw_sites(Decay(), Counts(1, 1, 1), "lhs", seed)
    with pytest.raises(SamplingError, match="draw number"):
        draw_sites(Decay(), Counts(1, 1, 1), "lhs", 0, seed)


def test_a_group_without_a_count():
    odd = Dirichlet(on="x", u=0.0)
    odd.group = "somewhere"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(SamplingError, match="group 'somewhere' has no count"):
        draw_sites(problem_with(odd), Counts(1, 1, 1), "lhs", 0)
