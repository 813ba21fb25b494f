"""New points: fresh ones, and those where the residual is large."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import pinnsig
from pinnsig.problem import Box, Coefficient, Dirichlet, Problem
from pinnsig.run.checkpoints import load_checkpoint
from pinnsig.run.directory import RunDirectory
from pinnsig.training.points import choose
from tests.conftest import SMALL
from tests.training.test_trainer import objective

FLAGS = {**{k: v for k, v in SMALL.items() if k not in ("adam", "lbfgs")}, "figures": False}


@given(st.integers(1, 40), st.floats(0, 4), st.floats(0, 3), st.integers(0, 10_000))
def test_the_chosen_are_different_and_as_many_as_asked(count, k, c, seed):
    generator = np.random.default_rng(seed)
    sizes = generator.exponential(size=50)
    found = choose(sizes, count, k, c, np.random.default_rng(seed))
    assert len(set(found)) == count
    assert set(found) <= set(range(50))
    assert np.array_equal(found, choose(sizes, count, k, c, np.random.default_rng(seed)))


def test_the_density_is_that_of_the_paper():
    sizes = np.array([0.0, 1.0, 2.0, 5.0])
    expected = sizes**2 / np.mean(sizes**2) + 0.5
    expected /= expected.sum()
    draws = [int(choose(sizes, 1, 2.0, 0.5, np.random.default_rng(s))[0]) for s in range(4000)]
    found = np.bincount(draws, minlength=4) / 4000
    np.testing.assert_allclose(found, expected, atol=4 * np.sqrt(0.25 / 4000))


def test_residuals_of_zero_still_give_points():
    assert len(choose(np.zeros(9), 4, 1.0, 0.0, np.random.default_rng(0))) == 4
    one = np.eye(9)[3]
    assert 3 in choose(one, 4, 2.0, 0.0, np.random.default_rng(0))


@given(st.integers(1, 40), st.integers(0, 10_000))
def test_points_where_the_residual_is_not_finite_are_not_taken(count, seed):
    generator = np.random.default_rng(seed)
    finite = generator.exponential(size=40)
    sizes = np.insert(finite, [0, 7, 33], [np.nan, np.inf, np.nan])
    found = choose(sizes, count, 1.0, 1.0, np.random.default_rng(seed))
    assert np.isfinite(sizes[found]).all()
    same = choose(finite, count, 1.0, 1.0, np.random.default_rng(seed))
    assert np.array_equal(sizes[found], finite[same])


class Holed(Problem):
    """Its residual is not finite on a part of the domain that a few points may miss."""

    domain = Box(x=(0.0, 1.0))
    hole = Coefficient(0.1)

    def residual(self, u, x):
        return u.x - torch.sqrt(x - self.hole)

    def conditions(self):
        yield Dirichlet(on="x-", u=1.0)


@pytest.mark.parametrize("candidates", [None, 2])
def test_a_run_whose_candidates_are_not_all_finite_goes_on(runs, candidates):
    chosen = "" if candidates is None else f",candidates={candidates}"
    flags = {**FLAGS, "collocation": 2, "sampler": "uniform", "seed": 2, "set": {"hole": 0.4}}
    phases = [f"ssbroyden:6,points=rad,every=2{chosen}"]
    result = pinnsig.solve(Holed, runs=runs, phases=phases, **flags)
    assert result.iterations == 6
    assert any("not finite at a point outside of training" in d for d in result.suspicious)


def test_residual_sizes_are_those_of_the_loss():
    made = objective(width=8)
    sizes = made.residual_sizes(made.blocks[0].points)
    assert sizes.shape == (65,)
    mean_square = float(sizes.square().mean())
    assert mean_square == pytest.approx(float(made.losses().terms[0]), rel=1e-12)


def sites_of(run, phases, **more) -> Any:
    """The collocation points at the end of a run, from its checkpoint; None: the first ones."""
    result = pinnsig.solve("burgers", runs=run, phases=phases, **{**FLAGS, **more})
    state, _ = load_checkpoint(RunDirectory.open(result.path))
    found = state["trainer"].get("sites")
    return None if found is None else found["residual"]["points"]


def test_points_stay_unless_new_ones_are_asked_for(runs):
    assert sites_of(runs, ["adam:6", "lbfgs:3"]) is None


def test_fresh_points_are_fresh_and_a_function_of_the_seed(runs):
    one = sites_of(runs, ["adam:6,every=2"])
    assert one.shape == (40, 2)
    assert torch.equal(one, sites_of(runs, ["adam:6,every=2"]))
    assert not torch.equal(one, sites_of(runs, ["adam:4,every=2"]))
    assert not torch.equal(one, sites_of(runs, ["adam:6,every=2"], seed=1))


def test_rad_replaces_and_rar_d_adds(runs):
    assert sites_of(runs, ["adam:2", "lbfgs:2,points=rad"]).shape == (40, 2)
    assert sites_of(runs, ["adam:9,points=rar-d,added=5,every=3"]).shape == (55, 2)


def test_rad_puts_points_where_the_residual_is_large(runs):
    """Burgers' residual is largest near the shock at x = 0, once the network knows of it."""
    flags = {"collocation": 300, "initial": 50, "boundary": 50, "width": 16, "depth": 3}
    flags |= {"init": "xavier", "set": {"nu": 0.01 / np.pi}}
    phases = ["adam:300,lr=5e-3", "lbfgs:1,points=rad,rad_k=2,rad_c=0"]
    points = sites_of(runs, phases, **flags)
    uniform = sites_of(runs, ["adam:300,lr=5e-3", "lbfgs:1,points=fresh"], **flags)
    assert points[:, 0].abs().median() < 0.8 * uniform[:, 0].abs().median()


@pytest.mark.parametrize("phase", ["adam:6,every=2", "ssbroyden:6,every=2", "lm:6,every=2"])
def test_new_points_at_which_the_loss_is_not_finite_are_not_taken(runs, phase):
    heard: list[str] = []

    class Hear(pinnsig.Callback):
        def noticed(self, text):
            heard.append(text)

    flags = {**FLAGS, "collocation": 2, "sampler": "uniform", "seed": 2, "set": {"hole": 0.6}}
    result = pinnsig.solve(Holed, runs=runs, phases=[phase], callbacks=[Hear()], **flags)
    assert result.stop == "iterations done"
    assert math.isfinite(result.best_loss)
    assert any("not finite at some of the new points: the points stay" in text for text in heard)
