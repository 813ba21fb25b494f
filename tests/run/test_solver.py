"""`solve` from Python: what it returns, keeps apart, and leaves alone."""

import copy
import json
import pickle
import random
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import pinnsig
from pinnsig import Callback
from pinnsig.core.errors import SettingsError
from pinnsig.derivatives import choose_engine
from pinnsig.model import Model
from pinnsig.objective import Objective
from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem
from pinnsig.sampling import Counts, draw_sites
from pinnsig.training import Record
from tests.conftest import SMALL

QUICK = {**SMALL, "figures": False}


class Wave(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    c = Coefficient(1.0)

    def residual(self, u):
        return u.tt - self.c**2 * u.xx

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(torch.pi * x), u_t=0.0)
        yield Dirichlet(on="x", u=0.0)


def test_the_best_loss_is_that_of_the_saved_weights(runs: Path):
    result = pinnsig.solve("burgers", runs=runs, lr=0.05, **{**QUICK, "adam": 20})
    for weights, loss in (("best", result.best_loss), ("last", result.last_loss)):
        trained = pinnsig.load(result.path, weights=weights)
        s = trained.settings
        counts = Counts(s.collocation, s.initial, s.boundary)
        sites = draw_sites(trained.model.problem, counts, s.sampler, s.seed)
        engine = choose_engine(s.engine, trained.model.network)
        assert isinstance(trained.model, Model)
        found = Objective(trained.model, engine, sites, s.weight).losses()
        assert float(found.loss) == pytest.approx(loss, rel=1e-6)
    assert result.best_loss <= result.last_loss
    log = (result.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    # the log has float32's losses, the result float64's of the same weights
    logged = min(json.loads(line)["loss"] for line in log)
    assert result.best_loss == pytest.approx(logged, rel=1e-5)


def test_the_result_reads_as_attributes_and_survives_copy_and_pickle(runs: Path):
    result = pinnsig.solve("burgers", runs=runs, **QUICK)
    assert result.path.is_dir()
    assert result.problem == "burgers"
    for other in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert other.best_loss == result.best_loss
    with pytest.raises(AttributeError, match="no 'bestloss'"):
        _ = result.bestloss


def numpy_state() -> np.ndarray:
    return np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002


def test_global_random_states_are_left_alone(runs: Path):
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    before = torch.get_rng_state(), numpy_state(), random.getstate()
    for sampler in ("lhs", "uniform", "sobol", "halton", "grid"):
        pinnsig.solve("burgers", runs=runs, sampler=sampler, init="orthogonal", **QUICK)
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], numpy_state())
    assert before[2] == random.getstate()


def test_global_random_states_do_not_matter(runs: Path):
    torch.manual_seed(1)
    one = pinnsig.solve("burgers", runs=runs, **QUICK)
    torch.manual_seed(2)
    np.random.seed(2)  # noqa: NPY002
    two = pinnsig.solve("burgers", runs=runs, **QUICK)
    weights = [(r.path / "model.safetensors").read_bytes() for r in (one, two)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_run_has_one_type_throughout(runs: Path, dtype: str):
    wanted = getattr(torch, dtype)
    found = []

    class Look(Callback):
        def started(self, parts, path):
            found.append({p.dtype for p in parts.model.parameters()})

    result = pinnsig.solve("burgers", runs=runs, dtype=dtype, callbacks=[Look()], **QUICK)
    assert found == [{wanted}]
    for name in ("model", "last"):
        saved = load_file(result.path / f"{name}.safetensors")
        assert {tensor.dtype for tensor in saved.values()} == {wanted}
    loaded = pinnsig.load(result.path)
    columns = {"x": torch.tensor([0.1]), "t": torch.tensor([0.5], dtype=torch.float64)}
    assert loaded.model.predict(columns, ("u.xx",))["u.xx"].dtype == wanted


def test_float64_computes_in_float64(runs: Path):
    flags = {**QUICK, "adam": 0, "lbfgs": 0}
    jets, nested = (
        pinnsig.solve("burgers", runs=runs, dtype="float64", engine=engine, **flags)
        for engine in ("jets", "nested")
    )
    assert jets.best_loss == pytest.approx(nested.best_loss, rel=1e-12)


def test_a_class_from_python(runs: Path):
    result = pinnsig.solve(Wave, runs=runs, set={"c": 2.0}, **QUICK)
    assert result.path.parent == runs / "Wave"
    assert result.relative_l2 is None
    assert result.max_error is None
    assert pinnsig.load(result.path, problem=Wave).model.problem.values() == {"c": 2.0}


def test_a_path_from_python(runs: Path, heat: Path):
    assert pinnsig.solve(heat, runs=runs, **QUICK).relative_l2 > 0


@pytest.mark.parametrize("thing", [3, None, Wave(), int])
def test_what_is_no_problem(runs: Path, thing: object):
    with pytest.raises(pinnsig.PinnsigError, match="is no problem: give its name"):
        pinnsig.solve(thing, runs=runs, **QUICK)  # pyright: ignore[reportArgumentType]
    assert not runs.exists()


def test_callbacks_see_every_iteration_phase_and_the_ends(runs: Path):
    calls: list[str] = []
    seen: list[Record] = []

    class Look(Callback):
        def started(self, parts, path):
            calls.append(f"started {path.is_dir()}")

        def recorded(self, record):
            calls.append(f"{record.phase} {record.iteration}")
            seen.append(record)

        def phase_ended(self, report):
            calls.append(f"end of {report.name}: {report.stop}")

        def finished(self, result):
            calls.append(f"finished {(result.path / 'result.json').is_file()}")

    result = pinnsig.solve("burgers", runs=runs, callbacks=[Look()], log_every=3, **QUICK)
    assert calls == [
        "started True", "start 0", "adam 1", "adam 2", "adam 3", "end of adam: iterations done",
        "lbfgs 1", "lbfgs 2", "lbfgs 3", "end of lbfgs: iterations done", "finished True",
    ]  # fmt: skip
    assert seen[-1].best_loss == pytest.approx(result.best_loss, rel=1e-5)
    assert [r.step for r in seen] == list(range(7))


def test_training_lowers_the_error(runs: Path, heat: Path):
    flags = {**QUICK, "adam": 50, "lbfgs": 150, "init": "xavier"}
    result = pinnsig.solve(heat, runs=runs, **flags)
    assert result.relative_l2 < 0.5 * result.relative_l2_at_start
    assert result.relative_l2 < 0.2


def test_a_learned_coefficient_moves_and_is_reported(runs: Path, heat: Path):
    text = heat.read_text(encoding="utf-8").replace("above=0.0", "above=0.0, learn=True")
    heat.write_text(text, encoding="utf-8")
    result = pinnsig.solve(heat, runs=runs, **{**QUICK, "adam": 20})
    assert result.coefficients["k"]["value"] != 0.1
    loaded = pinnsig.load(result.path)
    assert isinstance(loaded.model, Model)
    assert loaded.model.coefficients()["k"].item() == pytest.approx(
        result.coefficients["k"]["value"]
    )
    config = json.loads((result.path / "config.json").read_text(encoding="utf-8"))
    assert config["set"]["k"] == 0.1  # where it started


def test_solve_works_outside_the_main_thread(runs: Path):
    results = []
    worker = threading.Thread(
        target=lambda: results.append(pinnsig.solve("burgers", runs=runs, **QUICK))
    )
    worker.start()
    worker.join()
    assert results[0].stop == "iterations done"


def test_what_does_not_fit_is_refused_before_weights_are_looked_for(runs: Path, monkeypatch):
    def never(self, objective):
        raise AssertionError("rows were computed")

    monkeypatch.setattr("pinnsig.optim.gauss_newton.workspace.free_bytes", lambda device: 1e3)
    monkeypatch.setattr("pinnsig.training.weighting.balancing.NTKTrace.speeds", never)
    flags = {name: value for name, value in SMALL.items() if name not in ("adam", "lbfgs")}
    with pytest.raises(SettingsError, match="take fewer points"):
        pinnsig.solve("burgers", runs=runs, phases=["lm:3"], weighting="start-trace", **flags)
    assert not runs.exists()
