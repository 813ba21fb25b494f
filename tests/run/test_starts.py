"""Where a run starts: conditions met exactly, scaled inputs, weights found once, absurd starts."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import pinnsig
from pinnsig import Callback
from pinnsig.core.errors import ProblemError, SettingsError, TrainingError
from pinnsig.problem import Box, Dirichlet, Initial, PointData, Problem, problem_class
from pinnsig.run.building import build, build_objective
from pinnsig.run.settings import PRESETS, resolve
from pinnsig.training.weighting import NTKTrace, StartTrace
from tests.conftest import SMALL

FEW = {"collocation": 60, "initial": 12, "boundary": 12}


def objective(problem, kind=None, **given):
    settings = resolve({"problem": problem, "depth": 3, "width": 8, **FEW, **given})
    return build_objective(build(settings, kind))


# --- conditions met exactly -----------------------------------------------------------------------

HARD = ["burgers", "heat", "poisson", "helmholtz", "heat-conductivity", "lotka-volterra"]


@pytest.mark.parametrize("name", HARD)
def test_a_hard_ansatz_leaves_only_the_residual(name):
    made = objective(name, hard="yes")
    residuals = len(made.blocks[0].terms)
    assert made.term_names == made.blocks[0].terms
    assert len(objective(name).term_names) > residuals
    made.evaluate()
    assert made.flat.gradient.isfinite().all()


def test_a_hard_ansatz_of_values_that_are_not_zero_blends_them():
    made = objective("helmholtz", hard="yes", set={"m": 1.3, "n": 0.7})
    problem: Any = made.model.problem
    y = torch.linspace(-1, 1, 9, dtype=torch.float64)
    for x in (-1.0, 1.0):
        at = {"x": torch.full_like(y, x), "y": y}
        found = made.model.predict(at)["u"]
        torch.testing.assert_close(found, problem.solution(**at), atol=1e-14, rtol=0)


class Wrong(Problem):
    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.xx

    def hard_ansatz(self, n, x):
        return {"v": x * n}


def test_a_hard_ansatz_is_called_by_its_name_in_errors():
    with pytest.raises(ProblemError, match=r"Wrong\.hard_ansatz must return 1 field"):
        objective("Wrong", Wrong, hard="yes")


class Missed(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))

    def residual(self, u):
        return u.t - u.xx

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(x))
        yield Dirichlet(on="x", u=0.0, name="ends")
        yield PointData(x=[0.5], t=[0.5], u=[0.3])

    def hard_ansatz(self, n, x, t):
        return torch.sin(x) + t * x * n


def test_one_that_misses_a_condition_is_refused_by_the_conditions_name():
    with pytest.raises(ProblemError, match="hard_ansatz misses the condition 'ends'"):
        objective("Missed", Missed, hard="yes")


def test_data_stay_terms():
    class Met(Missed):
        def hard_ansatz(self, n, x, t):
            return torch.sin(x) * (1 - x) + t * x * (1 - x) * n

        def conditions(self):
            yield Initial(u=lambda x: torch.sin(x) * (1 - x))
            yield Dirichlet(on="x", u=0.0)
            yield PointData(x=[0.5], t=[0.5], u=[0.3])

    assert objective("Met", Met, hard="auto").term_names == ("residual", "data")


def test_without_an_ansatz_yes_is_refused_and_auto_is_soft():
    with pytest.raises(SettingsError, match="Kovasznay has no hard_ansatz"):
        objective("kovasznay", hard="yes")
    assert "velocity" in objective("kovasznay", hard="auto").term_names


def test_a_hard_run_is_read_back_as_one(runs: Path):
    result = pinnsig.solve("heat", runs=runs, hard="yes", figures=False, **SMALL)
    exact = torch.sin(torch.tensor(torch.pi / 4, dtype=torch.float64))
    assert float(pinnsig.load(result.path).predict(x=0.25, t=0.0)["u"][0]) == pytest.approx(
        float(exact)
    )
    assert pinnsig.resume(result.path, lbfgs=5, figures=False).iterations == 8


# --- scaled inputs --------------------------------------------------------------------------------


def test_inputs_are_scaled_and_partials_are_in_the_problems_own_units():
    class Wide(Problem):
        domain = Box(x=(1000.0, 3000.0))

        def residual(self, u):
            return u.xx

    made = objective("Wide", Wide, normalize=True)
    x = torch.tensor([1000.0, 1500.0, 3000.0], dtype=torch.float64)
    torch.testing.assert_close(made.model.inputs(x[:, None])[:, 0], (x - 2000) / 1000)
    h = 1e-2
    value = made.model.predict({"x": x})["u"]
    up, down = (made.model.predict({"x": x + s * h})["u"] for s in (1, -1))
    slope = made.model.predict({"x": x}, ("u.x",))["u.x"]
    torch.testing.assert_close(slope, (up - down) / (2 * h), rtol=1e-6, atol=1e-12)
    assert value.isfinite().all()


def test_features_of_the_problem_stay_its_own():
    plain, scaled = (objective("kdv", normalize=n).model for n in (False, True))
    points = torch.tensor([[0.3, 0.7]], dtype=torch.float64)
    assert torch.equal(plain.inputs(points), scaled.inputs(points))


# --- weights found once ---------------------------------------------------------------------------


def test_start_trace_takes_the_traces_of_the_start_and_keeps_them():
    made = objective("wave", weight={"initial": 3.0})
    speeds = NTKTrace().speeds(made)
    scheme = StartTrace()
    weights = scheme.start(made)
    factors = (speeds.max() / speeds).clamp(max=StartTrace.largest)
    given = made.weights.terms
    torch.testing.assert_close(weights.terms, given * factors)
    assert float(factors.min()) == 1.0
    made.flat.values.mul_(2.0)
    again = scheme.update(made, weights, None, 1)
    assert again is weights
    torch.testing.assert_close(scheme.start(made).terms, weights.terms)


# --- absurd starts --------------------------------------------------------------------------------


class Steep(Problem):
    """Fourth derivatives, in units that make them huge."""

    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return 200 * u.xxxx - 1.0

    def conditions(self):
        yield Dirichlet(on="x", u=0.0)


class Heard(Callback):
    def __init__(self):
        self.notices = []

    def started(self, parts, path):
        self.notices += parts.notices


def test_an_absurd_start_is_drawn_with_less_noise_and_said(runs: Path):
    heard = Heard()
    result = pinnsig.solve(
        Steep,
        runs=runs,
        callbacks=[heard],
        figures=False,
        scaling="none",
        **{**SMALL, "depth": 6, "width": 20},
    )
    (notice,) = [line for line in heard.notices if "absurd" in line]
    assert "is taken" in notice
    config = json.loads((result.path / "config.json").read_text(encoding="utf-8"))
    assert config["p"] < 0.2
    assert f"p = {config['p']}" in notice


@pytest.mark.parametrize("given", [{"p": 0.4}, {"init": "calibrated:p=0.4"}, {"preset": "paper"}])
def test_one_that_was_asked_for_is_refused_before_anything_is_written(runs: Path, given):
    flags = {**SMALL, "depth": 6, "width": 20, "scaling": "none", **given}
    with pytest.raises(TrainingError, match="is absurd: its loss is .* zero function"):
        pinnsig.solve(Steep, runs=runs, figures=False, **flags)
    assert not runs.exists()


def test_the_built_in_problems_start_soundly():
    for name in ("beam", "wave", "burgers"):
        made = build(resolve({"problem": name}), problem_class(name))
        assert made.initializer.spec.startswith("calibrated:p=auto")


# --- networks too large for a dense matrix --------------------------------------------------------


def test_a_preset_takes_lbfgs_where_the_matrix_would_be_too_large():
    large = resolve({"problem": "heat", "depth": 50, "width": 64, "collocation": 20})
    assert large.broyden == 0
    assert large.lbfgs == sum(PRESETS["quick"][name] for name in ("lbfgs", "broyden"))
    (notice,) = build(large).notices
    assert "GB" in notice
    assert "L-BFGS in its place" in notice
    for given in ({"adam": 1, "lbfgs": 1}, {"phases": ["lbfgs:3"]}, {"preset": "paper"}):
        said = resolve({"problem": "heat", "depth": 50, "width": 64, **given})
        assert said.broyden in (0, None)
        assert build(said).notices == ()
    assert resolve({"problem": "heat", "depth": 50, "width": 64, "broyden": 7}).broyden == 7


def test_a_preset_takes_broyden_where_levenberg_marquardt_would_be_too_slow():
    accurate, given = PRESETS["accurate"], {"problem": "heat", "preset": "accurate"}
    iterations = sum(accurate[name] for name in ("broyden", "lm"))
    medium = resolve({**given, "depth": 5, "width": 30})
    assert (medium.lbfgs, medium.broyden, medium.lm) == (accurate["lbfgs"], iterations, 0)
    (notice,) = build(medium).notices
    assert "Levenberg-Marquardt" in notice
    assert "self-scaled Broyden in its place" in notice
    large = resolve({**given, "depth": 50, "width": 64})
    assert (large.lbfgs, large.broyden, large.lm) == (accurate["lbfgs"] + iterations, 0, 0)
    (notice,) = build(large).notices
    assert "L-BFGS in its place" in notice
    assert resolve({**given, "depth": 5, "width": 30, "lm": 7}).lm == 7
    polished = resolve({**given, "depth": 5, "width": 30, "broyden": 20})  # by no more than that
    assert (polished.lbfgs, polished.broyden, polished.lm) == (100_100, 20, 0)
