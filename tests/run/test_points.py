"""Points and data are drawn once, kept with the run, and read back."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig import Box, Dirichlet, PointData, Problem
from pinnsig.cli.plotting import plot
from pinnsig.core.errors import ProblemError
from pinnsig.problem import Robin
from pinnsig.run.checkpoints import load_checkpoint
from pinnsig.run.directory import RunDirectory
from pinnsig.run.points import Drawn
from tests.conftest import SMALL
from tests.run.test_resume import StopAt
from tests.sampling.doubles import replace_samplers

QUICK = {**SMALL, "figures": False}
COUNTS = {name: value for name, value in QUICK.items() if name not in ("adam", "lbfgs")}
X = np.linspace(0.1, 0.9, 9)


class Noisy(Problem):
    """Measured values with noise of their own each time that they are asked for."""

    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.xx

    def conditions(self):
        yield Dirichlet(on="x", u=0.0)
        yield PointData(x=X, u=np.sin(X) + 0.1 * np.random.randn(9))  # noqa: NPY002


def kept(path: Path) -> Drawn:
    found = Drawn.load(RunDirectory.open(path))
    assert found is not None
    return found


@pytest.mark.parametrize("phase", ["adam:9", "adam:9,every=2", "adam:9,points=rad,every=2"])
def test_measured_values_are_those_of_the_start_however_points_are_renewed(runs: Path, phase: str):
    flags = {**COUNTS, "phases": [phase]}
    np.random.seed(0)  # noqa: NPY002
    straight = pinnsig.solve(Noisy, runs=runs, **flags)
    np.random.seed(0)  # noqa: NPY002
    stopped = pinnsig.solve(Noisy, runs=runs, callbacks=[StopAt(5)], **flags)
    data = kept(stopped.path).sites["data"]
    assert np.array_equal(data.points[:, 0], X)
    assert np.array_equal(data.extra["u"], kept(straight.path).sites["data"].extra["u"])
    np.random.seed(77)  # noqa: NPY002
    resumed = pinnsig.resume(stopped.path, problem=Noisy, figures=False)
    assert (resumed.stop, resumed.terms) == ("iterations done", straight.terms)
    last = [(run.path / "last.safetensors").read_bytes() for run in (straight, resumed)]
    assert last[0] == last[1]
    state, _ = load_checkpoint(RunDirectory.open(resumed.path))
    if "every" in phase:
        measured = state["trainer"]["sites"]["data"]["extra"]["u"]
        assert np.array_equal(measured, data.extra["u"])
    assert resumed.independent["terms"]["data"]["ratio"] == pytest.approx(1.0)


def test_a_resumed_run_calls_no_sampler(runs: Path, monkeypatch: pytest.MonkeyPatch):
    calls = itertools.count()

    def counted(n, dimensions, generator):
        next(calls)
        return generator.random((n, dimensions))

    replace_samplers(monkeypatch, counted=counted)
    stopped = pinnsig.solve("burgers", runs=runs, sampler="counted", callbacks=[StopAt(2)], **QUICK)
    before = next(calls)
    pinnsig.resume(stopped.path, figures=False)
    assert next(calls) == before + 1


def test_data_read_from_a_file_that_changes_afterwards(runs: Path, tmp_path: Path):
    file = tmp_path / "data.txt"

    class Measured(Noisy):
        def conditions(self):
            yield PointData(x=X, u=np.loadtxt(file))

    np.savetxt(file, np.cos(X))
    stopped = pinnsig.solve(Measured, runs=runs, callbacks=[StopAt(2)], **QUICK)
    np.savetxt(file, np.full(9, 50.0))
    resumed = pinnsig.resume(stopped.path, problem=Measured, figures=False)
    assert resumed.terms["data"] < 10.0
    assert np.array_equal(kept(resumed.path).sites["data"].extra["u"], np.cos(X))


@pytest.mark.parametrize(
    "condition",
    [
        lambda: Dirichlet(on="x", u=np.random.rand()),  # noqa: NPY002
        lambda: Robin(on="x", a=np.random.rand(), b=1.0, u=0.0),  # noqa: NPY002
        lambda: Dirichlet(on="x", u=lambda x: x * float(torch.rand(()))),
    ],
)
def test_a_condition_that_draws_its_value_anew_is_refused_by_name(runs: Path, condition):
    class Random(Noisy):
        def conditions(self):
            yield condition()

    with pytest.raises(
        ProblemError, match="condition 'boundary' (has other values|gives another value) each time"
    ):
        pinnsig.solve(Random, runs=runs, **QUICK)
    assert not runs.exists()


def test_a_condition_that_is_another_than_at_the_start_is_refused_and_changes_nothing(runs: Path):
    class Changing(Noisy):
        wall = 1.0

        def conditions(self):
            yield Dirichlet(on="x", u=self.wall)

    stopped = pinnsig.solve(Changing, runs=runs, callbacks=[StopAt(2)], **QUICK)
    before = {path.name: path.read_bytes() for path in stopped.path.iterdir()}
    Changing.wall = 1.5
    with pytest.raises(ProblemError, match="'boundary' has other values than when the run was"):
        pinnsig.resume(stopped.path, problem=Changing, figures=False)
    assert {path.name: path.read_bytes() for path in stopped.path.iterdir()} == before
    Changing.wall = 1.0
    assert pinnsig.resume(stopped.path, problem=Changing, figures=False).stop == "iterations done"


def test_a_run_without_its_points_draws_them_again_and_says_so(runs: Path):
    stopped = pinnsig.solve("burgers", runs=runs, callbacks=[StopAt(2)], **QUICK).path
    (stopped / "points.safetensors").unlink()
    heard: list[str] = []

    class Hear(pinnsig.Callback):
        def started(self, parts, path):
            heard.extend(parts.notices)

    pinnsig.resume(stopped, figures=False, callbacks=[Hear()])
    assert any("its points are drawn again" in notice for notice in heard)


def test_figures_are_drawn_at_the_runs_own_points(
    runs: Path, heat: Path, monkeypatch: pytest.MonkeyPatch
):
    run = pinnsig.solve(heat, runs=runs, sampler="lhs", **QUICK).path

    def never(n, dimensions, generator):
        raise AssertionError("points were drawn again")

    replace_samplers(monkeypatch, lhs=never)
    assert plot.callback is not None
    plot.callback(run=run, x=None, y=None, trust=False)
    assert (run / "figures" / "activations.png").is_file()


def test_every_weight_0_is_refused(runs: Path):
    weights = {"residual": 0.0, "initial": 0.0, "boundary": 0.0}
    with pytest.raises(pinnsig.PinnsigError, match="every term has weight 0"):
        pinnsig.solve("burgers", runs=runs, weight=weights, **QUICK)
