"""Iterations that take some of the points each."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.objective import Objective
from pinnsig.run.building import build, build_objective
from pinnsig.run.loading import load
from pinnsig.run.phases import build_phases
from pinnsig.run.settings import resolve
from pinnsig.training import MiniBatches
from tests.conftest import Cli
from tests.run.test_resume import StopAt, assert_same

SMALL: dict[str, Any] = {
    "depth": 2, "width": 6, "collocation": 60, "initial": 9, "boundary": 8, "dtype": "float64",
    "device": "cpu", "figures": False,
}  # fmt: skip


def loss(problem: str = "heat") -> Objective:
    given = {key: value for key, value in SMALL.items() if key != "figures"}
    return build_objective(build(resolve({**given, "problem": problem})))


def test_an_epoch_takes_every_point_once_and_its_mean_is_the_loss() -> None:
    whole, batches = loss(), MiniBatches(12, seed=1)
    expected = whole.evaluate()
    gradient = whole.flat.gradient.clone()
    some = whole.rebuild(sites=batches.take(whole, 0, 1))
    seen, losses, sums = [], [], torch.zeros_like(gradient)
    for iteration in range(1, 6):
        some.refill(batches.take(whole, 0, iteration))
        seen.append(some.sites["residual"].points)
        losses.append(float(some.evaluate().loss))
        sums += some.flat.gradient
        assert batches.ends_epoch(whole, iteration) == (iteration == 5)
    points = np.concatenate(seen)
    assert points.shape == (60, 2)
    kept = whole.sites["residual"].points
    assert np.array_equal(np.unique(points, axis=0), np.unique(kept, axis=0))
    assert np.mean(losses) == pytest.approx(float(expected.loss), rel=1e-12)
    torch.testing.assert_close(sums / 5, gradient, rtol=1e-11, atol=1e-12)
    assert not np.array_equal(seen[0], batches.take(whole, 0, 6)["residual"].points)
    assert np.array_equal(seen[2], MiniBatches(12, 1).take(whole, 0, 3)["residual"].points)
    assert not np.array_equal(seen[2], MiniBatches(12, 1).take(whole, 1, 3)["residual"].points)


def test_fresh_points_are_no_more_than_the_term_has() -> None:
    given = {key: value for key, value in SMALL.items() if key != "figures"}
    given |= {"collocation": 5, "initial": 16, "boundary": 64}
    parts = build(resolve({**given, "problem": "heat", "phases": ["adam:9,batch=16,points=fresh"]}))
    whole, (phase,) = build_objective(parts), build_phases(parts)
    batches = phase.batches
    assert batches is not None
    taken = [batches.take(whole, 0, iteration) for iteration in (1, 2, 1)]
    assert [len(taken[0][name].points) for name in taken[0]] == [5, 16, 16]
    for name in ("residual", "initial"):  # all new, from the iteration's number alone
        first, second, again = (sites[name].points for sites in taken)
        assert np.array_equal(first, again)
        assert not np.isin(
            first[:, 0], np.append(second[:, 0], whole.sites[name].points[:, 0])
        ).any()
    kept = whole.sites["boundary"].points
    assert all(np.isin(sites["boundary"].points[:, 1], kept[:, 1]).all() for sites in taken)
    ends = [batches.ends_epoch(whole, iteration) for iteration in range(1, 9)]
    assert ends == [False, False, False, True] * 2  # of the largest term


def test_neighbours_stay_together() -> None:
    whole = loss("schrodinger")  # periodic in x: pairs at both ends, at one time
    name = next(block.name for block in whole.blocks if block.stride == 2)
    taken = MiniBatches(4, seed=0).take(whole, 0, 3)
    pairs = taken[name].points.reshape(-1, 2, 2)
    assert len(pairs) == 2
    assert np.array_equal(pairs[:, 0, 1], pairs[:, 1, 1])
    assert not np.array_equal(pairs[:, 0, 0], pairs[:, 1, 0])


def run(path: Path, phase: str, **given: Any) -> dict[str, Any]:
    return pinnsig.solve("heat", path=path, phases=[phase], **{**SMALL, **given}).data


@pytest.mark.parametrize("points", ["", ",points=fresh"], ids=["kept", "fresh"])
def test_goes_on_bit_for_bit(points: str, tmp_path: Path) -> None:
    phase = f"adam:9,batch=16,lr=1e-2{points}"
    run(tmp_path / "whole", phase)
    stopped = run(tmp_path / "cut", phase, callbacks=[StopAt(5)])
    assert stopped["stop"] == "interrupted"
    assert stopped["iterations"] == 5
    pinnsig.resume(tmp_path / "cut", figures=False)
    assert_same(tmp_path / "whole", tmp_path / "cut")


def test_as_large_as_all_it_is_none(tmp_path: Path) -> None:
    found = [run(tmp_path / name, f"adam:4{name}") for name in ("", ",batch=60")]
    assert found[0]["last_loss"] == found[1]["last_loss"]


def test_the_loss_is_that_at_all_points(tmp_path: Path) -> None:
    found = run(tmp_path / "run", "adam:9,batch=16,lr=1e-2,points=fresh")
    whole = loss()
    whole.model.load_state_dict(load(tmp_path / "run").model.state_dict())
    expected = np.dot(whole.given_weights, whole.losses().terms.tolist())
    assert found["best_loss"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("phase", "flags", "words"),
    [
        ("adam:3,batch=0", (), "batch = 0"),
        ("lbfgs:3,batch=8", (), "lbfgs compares losses at the same points"),
        ("adam:3,batch=8,points=rad", (), "takes other points at each iteration"),
        ("adam:3,batch=8,every=2", (), "takes other points at each iteration"),
        ("adam:3,batch=8", ("--weighting", "attention"), "attention weights single points"),
        ("adam:3,batch=8,points=fresh", ("--sampler", "grid"), "grid gives 4 points"),
    ],
)
def test_what_is_refused(phase: str, flags: tuple[str, ...], words: str, cli: Cli) -> None:
    small = ("--depth", 2, "--width", 4, "--collocation", 20)
    assert words in cli("solve", "heat", "--phase", phase, *small, *flags).complaint()
