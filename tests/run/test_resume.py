"""Resuming: the weights are those of a run that was never interrupted, bit for bit."""

import itertools
import json
import multiprocessing
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import pinnsig
from pinnsig import Callback
from pinnsig.core.errors import RunError, SettingsError
from pinnsig.run.directory import RunDirectory
from pinnsig.training import TIME_LIMIT
from tests.conftest import SMALL

PHASES = [
    "adam:12,lr=1e-3,schedule=cosine,warmup=3,every=5",
    "radam:4,points=rar-d,added=7",
    "lbfgs:9,history=4",
    "lbfgs:6,dtype=float64,points=rad",
    "ssbroyden:7,points=rad,every=3",
    "lm:5,points=rad,every=2",
]
ITERATIONS = 43
COUNTS = {name: value for name, value in SMALL.items() if name not in ("adam", "lbfgs")}
FLAGS = {**COUNTS, "phases": PHASES, "checkpoint_every": 2, "figures": False}


def weights_of(run: Path) -> dict[str, dict[str, torch.Tensor]]:
    return {name: load_file(run / f"{name}.safetensors") for name in ("model", "last")}


def assert_same(one: Path, two: Path) -> None:
    """Equal weights, logs and results but for times and paths."""
    for name, tensors in weights_of(one).items():
        other = weights_of(two)[name]
        assert all(torch.equal(tensor, other[key]) for key, tensor in tensors.items()), name
    logs = []
    for run in (one, two):
        records = list(RunDirectory.open(run).metrics())
        logs.append([{**record, "seconds": None, "total": None} for record in records])
    assert logs[0] == logs[1]
    results = []
    for run in (one, two):
        result = json.loads((run / "result.json").read_text(encoding="utf-8"))
        for phase in result["phases"]:
            phase.pop("seconds")
        results.append({k: v for k, v in result.items() if k not in ("run", "seconds", "resumed")})
    assert results[0] == results[1]


class StopAt(Callback):
    """Sends a signal after so many iterations in all."""

    def __init__(self, step: int, number: int = signal.SIGINT) -> None:
        self.step, self.number = step, number

    def recorded(self, record) -> None:
        if record.step == self.step:
            os.kill(os.getpid(), self.number)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all phases that nothing interrupts."""
    return pinnsig.solve("burgers", runs=tmp_path_factory.mktemp("straight"), **FLAGS).path


@pytest.mark.parametrize("step", [1, 6, 14, 19, 26, 34, 38, 42])
def test_interrupted_anywhere_it_goes_on_bit_for_bit(runs: Path, straight: Path, step: int):
    stopped = pinnsig.solve("burgers", runs=runs, callbacks=[StopAt(step)], **FLAGS)
    assert stopped.stop == "interrupted"
    assert stopped.iterations == step
    resumed = pinnsig.resume(stopped.path, figures=False)
    assert resumed.resumed == 1
    assert_same(straight, resumed.path)


@pytest.mark.parametrize("weighting", ["gradient-norm", "ntk-trace", "attention"])
def test_loss_weights_go_on_too(runs: Path, weighting: str):
    flags = {**FLAGS, "weighting": weighting, "weighting_every": 3}
    straight = pinnsig.solve("burgers", runs=runs, **flags)
    stopped = pinnsig.solve("burgers", runs=runs, callbacks=[StopAt(8)], **flags)
    assert_same(straight.path, pinnsig.resume(stopped.path, figures=False).path)


def test_a_preconditioner_goes_on_too(runs: Path):
    flags = {**COUNTS, "phases": ["gncg:4,rank=20,refresh=3,products=15"], "figures": False}
    straight = pinnsig.solve("burgers", runs=runs, **flags)
    stopped = pinnsig.solve("burgers", runs=runs, callbacks=[StopAt(2)], **flags)
    assert_same(straight.path, pinnsig.resume(stopped.path, figures=False).path)


@pytest.mark.parametrize("phase", ["adam:6,every=2", "muon:6,points=rad,every=2", "adam:6"])
def test_a_time_limit_right_after_new_points_or_weights_draws_them_once(runs: Path, phase: str):
    now = [0.0]

    class Late(Callback):
        """Lets the time run out while iteration 5 is prepared."""

        def recorded(self, record):
            now[0] = 5.0 if record.iteration == 4 else now[0]

    flags = {
        **COUNTS, "phases": [phase], "weighting": "gradient-norm", "weighting_every": 2,
        "figures": False,
    }  # fmt: skip
    straight = pinnsig.solve("burgers", runs=runs, **flags)
    limited = pinnsig.solve(
        "burgers", runs=runs, max_seconds=5.0, callbacks=[Late()], clock=lambda: now[0], **flags
    )
    assert (limited.stop, limited.iterations) == (TIME_LIMIT, 4)
    resumed = pinnsig.resume(limited.path, max_seconds=50.0, figures=False, clock=lambda: now[0])
    assert weights_of(straight.path).keys() == weights_of(resumed.path).keys()
    for name, tensors in weights_of(straight.path).items():
        other = weights_of(resumed.path)[name]
        assert all(torch.equal(tensor, other[key]) for key, tensor in tensors.items()), name


def test_learned_coefficients_go_on_too(runs: Path, heat: Path):
    text = heat.read_text(encoding="utf-8").replace("above=0.0", "above=0.0, learn=True")
    heat.write_text(text, encoding="utf-8")
    straight = pinnsig.solve(heat, runs=runs, **FLAGS)
    stopped = pinnsig.solve(heat, runs=runs, callbacks=[StopAt(20)], **FLAGS)
    assert_same(straight.path, pinnsig.resume(stopped.path, figures=False).path)


def train(root: Path) -> None:
    """The run of all phases, in a process of its own."""
    torch.set_num_threads(1)
    pinnsig.solve("burgers", runs=root, **FLAGS)


@pytest.mark.skipif(
    "forkserver" not in multiprocessing.get_all_start_methods(), reason="needs fork to be quick"
)
@pytest.mark.parametrize("moments", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_killed_at_random_moments_nothing_is_lost(runs: Path, straight: Path, moments: int):
    generator = np.random.default_rng(0)
    # not from this process, whose threads a fork would lose
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pinnsig"])
    resumed = 0
    for trial in range(moments):
        root = runs / str(trial)
        child = context.Process(target=train, args=(root,))
        child.start()
        moment = generator.integers(1, ITERATIONS)
        while child.is_alive() and iterations_logged(root) < moment:
            time.sleep(1e-3)
        child.kill()  # unless it has ended
        child.join()
        (run,) = root.glob("*/*")
        try:
            pinnsig.resume(run, figures=False)
            resumed += 1
        except RunError as error:  # it was done when the signal came
            assert "nothing left to do" in str(error)  # noqa: PT017
        assert_same(straight, run)
        assert not list(run.glob(".*"))
    assert resumed


def iterations_logged(root: Path) -> int:
    """How many lines the log of the run below a directory has, once it has a checkpoint."""
    for run in root.glob("*/*"):
        log = run / "metrics.jsonl"
        if (run / "state.safetensors").exists() and log.exists():
            return log.read_text(encoding="utf-8").count("\n")
    return 0


def test_an_interruption_at_the_very_end_is_none(runs: Path, straight: Path):
    done = pinnsig.solve("burgers", runs=runs, callbacks=[StopAt(ITERATIONS)], **FLAGS)
    assert done.stop == "iterations done"
    assert_same(straight, done.path)


def test_sigterm_is_heard_like_ctrl_c(runs: Path, straight: Path):
    stopped = pinnsig.solve("burgers", runs=runs, callbacks=[StopAt(7, signal.SIGTERM)], **FLAGS)
    assert stopped.stop == "interrupted"
    assert_same(straight, pinnsig.resume(stopped.path, figures=False).path)


def test_a_run_that_was_moved_elsewhere_goes_on(runs: Path, heat: Path, tmp_path: Path):
    straight = pinnsig.solve(heat, runs=runs, **FLAGS)
    stopped = pinnsig.solve(heat, runs=runs, callbacks=[StopAt(8)], **FLAGS)
    moved = tmp_path / "elsewhere"
    shutil.move(stopped.path, moved)
    heat.unlink()
    assert pinnsig.resume(moved, figures=False).path == moved
    assert_same(straight.path, moved)


def test_a_finished_run_gets_more_iterations(runs: Path):
    flags = {**SMALL, "figures": False}
    long = pinnsig.solve("burgers", runs=runs, **{**flags, "lbfgs": 8})
    short = pinnsig.solve("burgers", runs=runs, **flags)
    assert_same(long.path, pinnsig.resume(short.path, lbfgs=8, figures=False).path)
    with pytest.raises(RunError, match=r"nothing left to do: lbfgs ended after 8 iterations"):
        pinnsig.resume(short.path)


def test_a_finished_run_gets_another_phase(runs: Path):
    flags = {**COUNTS, "figures": False}
    long = pinnsig.solve("burgers", runs=runs, phases=["adam:3", "lbfgs:4", "lbfgs:2"], **flags)
    short = pinnsig.solve("burgers", runs=runs, phases=["adam:3", "lbfgs:4"], **flags)
    assert_same(long.path, pinnsig.resume(short.path, phases=["lbfgs:2"], figures=False).path)
    config = json.loads((short.path / "config.json").read_text(encoding="utf-8"))
    assert [phase["optimizer"] for phase in config["phases"]] == ["adam", "lbfgs", "lbfgs"]


def test_a_time_limit_ends_all_and_a_later_one_goes_on(runs: Path):
    ticks = itertools.count()

    def clock() -> float:
        return 1e-3 * next(ticks)

    flags = {**SMALL, "adam": 5000, "figures": False, "max_seconds": 0.3}
    result = pinnsig.solve("burgers", runs=runs, clock=clock, **flags)
    assert result.stop == TIME_LIMIT
    assert [phase["name"] for phase in result.phases] == ["adam"]
    assert result.phases[0]["seconds"] < 0.31
    more = pinnsig.resume(result.path, max_seconds=0.6, figures=False, clock=clock)
    assert more.iterations > result.iterations
    assert more.stop == TIME_LIMIT


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"depth": 4}, "depth = 4 cannot change when a run is resumed: its weights"),
        ({"scale": 2.0}, "scale = 2.0 cannot change"),
        ({"set": {"nu": 0.1}}, "set = .* cannot change"),
        ({"collocation": 50}, "collocation = 50 cannot change"),
        ({"adam": 2}, "adam = 2 cannot change: that phase is over, after 3 iterations"),
        ({"lbfgs": 1}, "lbfgs = 1 cannot be: 3 iterations are done"),
        ({"phases": ["lbfg:3"]}, "did you mean lbfgs"),
        ({"dpth": 3}, "did you mean depth"),
    ],
)
def test_what_may_not_change_is_refused_and_changes_nothing(runs: Path, change, words):
    run = pinnsig.solve("burgers", runs=runs, **SMALL, figures=False).path
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    with pytest.raises(SettingsError, match=words):
        pinnsig.resume(run, **change)
    after = {path.name: path.read_bytes() for path in run.iterdir()}
    assert after == before


def test_levenberg_marquardt_may_be_added_and_made_longer_but_not_what_came_before(runs: Path):
    run = pinnsig.solve("burgers", runs=runs, **SMALL, figures=False).path
    assert pinnsig.resume(run, lm=2, figures=False).phases[-1]["name"] == "lm"
    assert pinnsig.resume(run, lm=3, figures=False).phases[-1]["iterations"] == 3
    refused: list[tuple[dict[str, Any], str]] = [
        ({"lm": 1}, "lm = 1 cannot be: 3 iterations are done"),
        ({"broyden": 5}, "broyden = 5 cannot change: that phase is over, after 0 iterations"),
        ({"lbfgs": 9}, "lbfgs = 9 cannot change: that phase is over, after 3 iterations"),
    ]
    for change, words in refused:
        with pytest.raises(SettingsError, match=words):
            pinnsig.resume(run, **change)


def test_what_is_the_same_is_no_change(runs: Path):
    run = pinnsig.solve("burgers", runs=runs, **SMALL, figures=False).path
    assert pinnsig.resume(run, depth=2, lbfgs=5, log_every=2, figures=False).iterations == 8


def test_another_number_of_threads_is_said(runs: Path):
    run = pinnsig.solve("burgers", runs=runs, **SMALL, figures=False).path
    heard: list[str] = []

    class Hear(Callback):
        def started(self, parts, path):
            heard.extend(parts.notices)

    torch.set_num_threads(2)
    try:
        pinnsig.resume(run, lbfgs=4, figures=False, callbacks=[Hear()])
    finally:
        torch.set_num_threads(1)
    assert any("had 1 threads and now has 2" in notice for notice in heard)


def test_two_processes_cannot_train_one_run(runs: Path):
    run = pinnsig.solve("burgers", runs=runs, **SMALL, figures=False).path
    with (
        RunDirectory.open(run).locked(),
        pytest.raises(RunError, match="is being trained by another process"),
    ):
        pinnsig.resume(run, lbfgs=5)
    assert pinnsig.resume(run, lbfgs=5, figures=False).iterations == 8
