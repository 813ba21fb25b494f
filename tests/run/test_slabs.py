"""A run over slabs of time: one problem, cut; one directory, one resume, one result."""

# parts of an nn.Module have no types of their own
# pyright: reportGeneralTypeIssues=false, reportCallIssue=false, reportAttributeAccessIssue=false
# pyright: reportIncompatibleMethodOverride=false

import math
import shutil
import signal

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.core.errors import ProblemError, RunError, SettingsError
from pinnsig.geometry import Disc
from pinnsig.problem import (
    Box,
    Coefficient,
    Dirichlet,
    Initial,
    Joint,
    On,
    PointData,
    Problem,
    Slab,
    restricted,
    slab_ends,
)
from pinnsig.run.callbacks import Callback
from pinnsig.run.directory import RunDirectory
from pinnsig.run.settings import resolve
from pinnsig.run.slab_models import cut, slab_settings

SMALL = {"depth": 2, "width": 8, "adam": 6, "lbfgs": 6, "collocation": 60, "initial": 10,
         "boundary": 10, "figures": False, "checkpoint_every": 1, "seed": 3}  # fmt: skip


class Decay(Problem):
    """u_t = -u on (0, 2), measured at three times."""

    domain = Box(t=(0.0, 2.0))

    def residual(self, u):
        return u.t + u

    def conditions(self):
        yield Initial(u=1.0)
        yield PointData(t=[0.5, 1.0, 1.5], u=[0.6, 0.4, 0.2])

    def solution(self, t):
        return torch.exp(-t)


class Strings(Problem):
    """A wave, whose start has a value and a speed."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 2.0))

    def residual(self, u):
        return u.tt - u.xx

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(math.pi * x), u_t=0.0)
        yield Dirichlet(on="x", u=0.0)


def known(at, targets):
    """cos(pi t) sin(pi x) and its speed, as if a slab before had found them."""
    t, x = at["t"], at["x"]
    values = {
        "u": np.cos(math.pi * t) * np.sin(math.pi * x),
        "u_t": -math.pi * np.sin(math.pi * t) * np.sin(math.pi * x),
    }
    return {name: values[name] for name in targets}


def test_a_slab_starts_from_the_values_and_speeds_of_the_one_before():
    problem = restricted(Strings(), Slab(0.5, 1.25, False, known))
    assert problem.domain.interval("t") == (0.5, 1.25)
    assert Strings.domain.interval("t") == (0.0, 2.0)
    terms = problem.terms()
    assert list(terms) == ["initial", "boundary"]
    joint = terms["initial"]
    assert isinstance(joint, Joint)
    sites = joint.sites(problem.domain, 7, lambda n, d: np.random.default_rng(0).random((n, d)))
    assert sites.points.shape == (7, 2)
    assert (sites.points[:, 1] == 0.5).all()
    np.testing.assert_allclose(sites.extra["u"], 0.0, atol=1e-15)
    np.testing.assert_allclose(sites.extra["u_t"], -math.pi * np.sin(math.pi * sites.points[:, 0]))


def test_data_go_to_the_slab_that_they_lie_in():
    def times(*slab):
        data = restricted(Decay(), Slab(*slab)).terms().get("data")
        return [] if data is None else data.columns["t"].tolist()

    assert times(0.0, 1.0, False) == [0.5, 1.0]
    assert times(1.0, 1.4, False, known) == []
    assert times(1.4, 2.0, True, known) == [1.5]


def test_ends_are_even_or_given():
    problem = Strings()
    assert slab_ends(problem, 4) == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert slab_ends(problem, [0.1, 2.0]) == slab_ends(problem, [0.1]) == [0.0, 0.1, 2.0]
    for given in ([1.0, 0.5], [3.0], [0.0]):
        with pytest.raises(ProblemError, match="in this order within t from 0 to 2"):
            slab_ends(problem, given)


def test_slabs_share_iterations_and_seconds_and_have_all_points():
    given = {"problem": "Strings", "slabs": 4, "adam": 6, "lbfgs": 8, "max_seconds": 100.0,
             "collocation": 50}  # fmt: skip
    settings, _, ends = cut(resolve(given), Strings)
    assert settings.slabs == ends[1:] == [0.5, 1.0, 1.5, 2.0]
    own = slab_settings(settings, 1, 40.0)
    assert (own.adam, own.lbfgs, own.max_seconds, own.collocation, own.slabs) == (2, 2, 20.0, 50, 1)
    assert own.normalize  # on the slab's own box
    phases, *_ = cut(resolve({"problem": "S", "slabs": "1", "phases": ["adam:5,lr=1e-2"]}), Strings)
    assert slab_settings(phases, 0).phase_list()[0].iterations == 5


class AtEnd(Strings):
    def conditions(self):
        yield Initial(u=0.0)
        yield On("t+", lambda u: u)


class Free(Strings):
    def conditions(self):
        yield Dirichlet(on="x", u=0.0)


class Still(Problem):
    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.xx


class Learning(Decay):
    k = Coefficient(1.0, learn=True)

    def residual(self, u):
        return u.t + self.k * u


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (AtEnd, "condition On holds at an end of t: slabs hand on what Initial prescribes"),
        (Free, "has no Initial condition"),
        (Still, "Still has no time to cut into slabs: its coordinates are x"),
        (Learning, "Learning learns k: each slab would find another value"),
    ],
)
def test_what_cannot_be_cut_is_refused_in_words(tmp_path, problem, words):
    with pytest.raises(ProblemError, match=words):
        pinnsig.solve(problem, runs=tmp_path / "runs", slabs=2, **SMALL)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("wrong", [0, "a,b", [], "1,nan", 2.5])
def test_wrong_numbers_of_slabs_are_refused(wrong):
    with pytest.raises(SettingsError, match="slabs"):
        resolve({"problem": "heat", "slabs": wrong})


class Stop(Callback):
    """Asks to end after so many iterations in all."""

    def __init__(self, step=None):
        self.step, self.steps, self.notices, self.ends = step, [], [], 0

    def recorded(self, record):
        self.steps.append(record.step)
        if record.step == self.step:
            signal.raise_signal(signal.SIGINT)

    def noticed(self, text):
        self.notices.append(text)

    def finished(self, result):
        self.ends += 1


def weights(run):
    return [own.load_weights("model.safetensors") for own in RunDirectory(run).slabs()]


def test_a_run_over_slabs_is_one_run_and_resumes_bit_for_bit(tmp_path):
    heard = Stop()
    whole = pinnsig.solve(Decay, runs=tmp_path, slabs=2, callbacks=[heard], **SMALL)
    assert heard.ends == 1
    assert heard.steps == [*range(7), *range(6, 13)]
    assert [n for n in heard.notices if n.startswith("slab 2 of 2: t from 1 to 2")]
    assert whole.iterations == 12
    assert [s["slab"] for s in whole.slabs] == [1, 2]
    assert whole.slabs[0]["joint"] is None
    assert whole.best_loss == pytest.approx(sum(s["best_loss"] for s in whole.slabs) / 2)
    # the error over the whole time, against the closed form
    loaded = pinnsig.load(whole.path, problem=Decay)
    t = np.linspace(0.0, 2.0, 1001)
    u = loaded.predict(t=t)["u"]
    by_hand = np.linalg.norm(u - np.exp(-t)) / np.linalg.norm(np.exp(-t))
    assert whole.relative_l2 == pytest.approx(by_hand, rel=0.05)

    cut_short = Stop(9)
    short = pinnsig.solve(Decay, runs=tmp_path, slabs=2, callbacks=[cut_short], **SMALL)
    assert short.stop == "interrupted"
    assert short.relative_l2 is None
    resumed = pinnsig.resume(short.path, problem=Decay, figures=False)
    assert resumed.relative_l2 == whole.relative_l2
    for one, two in zip(weights(whole.path), weights(short.path), strict=True):
        assert all(torch.equal(one[name], two[name]) for name in one)
    with pytest.raises(RunError, match="nothing left to do: all 2 slabs are trained"):
        pinnsig.resume(short.path, problem=Decay)
    with pytest.raises(SettingsError, match="cannot change in a run over slabs"):
        pinnsig.resume(short.path, problem=Decay, adam=20)


def test_predictions_go_by_time_and_know_partials(tmp_path):
    result = pinnsig.solve(Decay, runs=tmp_path, slabs=[0.5, 2.0], **SMALL)
    loaded = pinnsig.load(result.path, problem=Decay)
    first, second = loaded.model.models
    at = {"t": np.array([[0.1, 0.5], [0.50001, 2.0]])}
    found = loaded.predict(("u", "u.t"), **at)
    assert found["u"].shape == (2, 2)
    for name in ("u", "u.t"):
        one = first.predict({"t": [0.1, 0.5]}, (name,))[name].tolist()
        two = second.predict({"t": [0.50001, 2.0]}, (name,))[name].tolist()
        assert found[name].ravel().tolist() == one + two
    points = torch.tensor(at["t"].reshape(-1, 1))
    torch.testing.assert_close(
        loaded.model(points)[:, 0].detach(), torch.as_tensor(found["u"].ravel())
    )
    records = list(RunDirectory(result.path).metrics())
    assert [r["step"] for r in records] == [*range(7), *range(6, 13)]
    assert {r["slab"] for r in records} == {1, 2}
    with pytest.raises(RunError, match="no run directory"):  # a slab is no run of its own
        pinnsig.load(result.path / "slab-1", problem=Decay)
    shutil.rmtree(result.path / "slab-2")
    with pytest.raises(RunError, match="has 1 of 2 slabs: go on with pinnsig resume"):
        pinnsig.load(result.path, problem=Decay)


def test_hard_conditions_hold_in_every_slab(tmp_path):
    result = pinnsig.solve("heat", runs=tmp_path, slabs=2, hard="yes", **SMALL)
    loaded = pinnsig.load(result.path)
    t = np.linspace(0, 1, 9)
    assert np.abs(loaded.predict(x=0.0, t=t)["u"]).max() < 1e-12
    x = np.linspace(0, 1, 9)
    np.testing.assert_allclose(loaded.predict(x=x, t=0.0)["u"], np.sin(np.pi * x), atol=1e-12)
    assert "initial" in result.terms  # the joint


def test_shapes_times_an_interval_are_cut_too():
    class Plate(Problem):
        domain = Disc(radius=1.0) * Box(t=(0.0, 4.0))

        def residual(self, u):
            return u.t - u.xx - u.yy

        def conditions(self):
            yield Initial(u=0.0)

    problem = Plate()
    assert slab_ends(problem, 2) == [0.0, 2.0, 4.0]
    part = restricted(problem, Slab(2.0, 4.0, True, known)).domain
    assert part.interval("t") == (2.0, 4.0)
    assert part.interval("x") == (-1.0, 1.0)
    assert part.measure == pytest.approx(2 * math.pi)
