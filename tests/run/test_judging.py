"""A run judged at points it was not trained on: what is wrong is seen, and what is right is not."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.model.evaluation import Comparison, compare, relative_l2
from pinnsig.objective import Objective
from pinnsig.problem import Box, Dirichlet, Initial, Problem
from pinnsig.run.building import build, build_objective
from pinnsig.run.judging import (
    Judgement,
    absurd_start,
    constant_loss,
    estimate_error,
    judge,
    judge_residuals,
    residuals_by_term,
    suspicions,
    zero_loss,
)
from pinnsig.run.judging.points import by_residual
from pinnsig.run.settings import resolve
from tests.conftest import SMALL, strict_json
from tests.sampling.doubles import replace_samplers

BASE = {"depth": 2, "width": 8, "init": "xavier", "dtype": "float64"}
POINTS = {"collocation": 200, "initial": 40, "boundary": 40}


class Bar(Problem):
    """u'' = -sin(x), u = sin x on (0, pi)."""

    domain = Box(x=(0.0, math.pi))

    def residual(self, u, x):
        return u.xx + torch.sin(x)

    def conditions(self):
        yield Dirichlet(on="x", u=0.0)

    def solution(self, x):
        return torch.sin(x)


class Offset(Bar):
    """A solution with a known error, 3 sin(2 x) / 10: its ansatz adds it."""

    size = 0.3

    def ansatz(self, n, x):
        return torch.sin(x) + self.size * torch.sin(2 * x) + n


class TwoFields(Problem):
    """u = v = sin x; the ansatz adds a tenth of sin(3 x) to u, and nothing to v."""

    domain = Box(x=(0.0, math.pi))
    fields = ("u", "v")

    def residual(self, u, v, x):
        return {"first": u.xx + torch.sin(x), "second": v.xx + torch.sin(x)}

    def conditions(self):
        yield Dirichlet(on="x", u=0.0, v=0.0)

    def solution(self, x):
        return torch.sin(x), torch.sin(x)

    def ansatz(self, n, m, x):
        return torch.sin(x) + 0.1 * torch.sin(3 * x) + n, torch.sin(x) + m


class Stream(Problem):
    """A flow without sources, u = psi_y and v = -psi_x, whose vorticity is 0.1 too large."""

    domain = Box(x=(-1.0, 1.0), y=(-1.0, 1.0))
    fields = ("u", "v")

    def ansatz(self, n, x, y):
        stream = 1.1 * (1 - x**2) * (1 - y**2) + n
        return stream.y, -stream.x

    def residual(self, u, v, x, y):
        return v.x - u.y - 2 * (1 - y**2) - 2 * (1 - x**2)

    def conditions(self):
        yield Dirichlet(on="x", name="sides", u=0.0)
        yield Dirichlet(on="y", name="ends", v=0.0)

    def solution(self, x, y):
        return -2 * y * (1 - x**2), 2 * x * (1 - y**2)


class Bending(Problem):
    """M'' = -1 on (0, 6000)."""

    domain = Box(x=(0.0, 6000.0))

    def residual(self, u):
        return u.xx + 1.0

    def conditions(self):
        yield Dirichlet(on="x", u=0.0)

    def solution(self, x):
        return x * (6000.0 - x) / 2


class Shock(Problem):
    """Viscous Burgers, and as a solution a travelling shock that is held at the wrong place.

    tanh((x - c) / w) is steady for w = 2 nu and c = 0; with another c the initial values are wrong
    by as much, but the residual is zero.
    """

    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))
    nu = 0.05
    place = 0.0

    def residual(self, u):
        return u.t + u * u.x - self.nu * u.xx

    def conditions(self):
        yield Initial(u=lambda x: -torch.tanh(x / (2 * self.nu)))
        yield Dirichlet(on="x-", u=1.0, name="left")
        yield Dirichlet(on="x+", u=-1.0, name="right")

    def ansatz(self, n, x, t):
        return n - torch.tanh((x - self.place * t) / (2 * self.nu))


class Drifting(Shock):
    """The shock drifts to x = 0.4, where it should stay: the initial values are right."""

    place = 0.4


class Growing(Problem):
    """u' = 1 / sqrt(0.9 - x): not finite for x > 0.9, where training may have no point."""

    domain = Box(x=(0.0, 1.0))

    def residual(self, u, x):
        return u.x - 1 / torch.sqrt(0.9 - x)

    def conditions(self):
        yield Dirichlet(on="x-", u=0.0)


def without_references(comparisons):
    return {k: dataclasses.replace(v, reference=None) for k, v in comparisons.items()}


def objective_of(kind, silent=False, **given) -> Objective:
    parts = build(resolve({**BASE, **POINTS, "problem": kind.__name__, **given}), kind)
    made = build_objective(parts)
    if silent:
        with torch.no_grad():
            for parameter in list(parts.model.network.parameters())[-2:]:
                parameter.zero_()
    return made


def mean_squares(objective: Objective) -> dict[str, float]:
    return dict(zip(objective.term_names, objective.losses().terms.tolist(), strict=True))


def judged(objective: Objective) -> Judgement:
    return judge(objective, mean_squares(objective), 0)


# --- the estimate ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.3, 1e-3, 1e-8])
def test_estimate_on_a_linear_problem_is_the_known_error(size: float):
    kind = type("Offset", (Offset,), {"size": size})
    objective = objective_of(kind, silent=True)
    true = relative_l2(compare(objective.model))
    assert true == pytest.approx(size, rel=1e-6)  # |sin 2x| = |sin x|
    found = estimate_error(objective, 0)
    assert found is not None
    assert found.relative_l2 == pytest.approx(true, rel=0.05)


def test_estimate_of_an_untrained_network_and_by_field():
    objective = objective_of(Bar)
    found = estimate_error(objective, 0)
    assert found is not None
    assert found.relative_l2 == pytest.approx(relative_l2(compare(objective.model)), rel=0.05)
    found = estimate_error(objective_of(TwoFields, silent=True), 0)
    assert found is not None
    assert found.fields["u"] == pytest.approx(0.1, rel=0.05)
    assert found.fields["v"] < 1e-3
    assert found.relative_l2 == pytest.approx(0.1 / math.sqrt(2), rel=0.05)


def test_estimate_where_the_ansatz_reads_partials():
    objective = objective_of(Stream, silent=True)
    found = estimate_error(objective, 0)
    assert found is not None
    true = relative_l2(compare(objective.model))
    assert true == pytest.approx(0.1, rel=1e-6)
    assert found.relative_l2 == pytest.approx(true, rel=0.05)


@pytest.mark.parametrize("problem", ["heat", "wave", "convection", "kovasznay", "poisson-5d"])
def test_estimate_of_built_in_problems_at_the_start(problem: str):
    parts = build(resolve({**BASE, **POINTS, "problem": problem, "boundary": 80}))
    found = estimate_error(build_objective(parts), 0)
    assert found is not None
    true = relative_l2(compare(parts.model))
    assert true is not None
    assert true / 3 < found.relative_l2 < 3 * true


def test_estimate_of_a_network_larger_than_its_basis(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pinnsig.run.judging.estimate.TANGENTS", 30)
    objective = objective_of(Offset, silent=True)
    found = estimate_error(objective, 0)
    assert found is not None
    assert found.relative_l2 == pytest.approx(0.3, rel=0.1)


def test_a_shock_at_a_wrong_place_is_seen_without_reference():
    at_its_place, drifted = (objective_of(kind, silent=True) for kind in (Shock, Drifting))
    right = judged(at_its_place)
    assert right.estimate is not None
    assert right.estimate.relative_l2 < 1e-3
    wrong = judged(drifted)
    assert wrong.estimate is not None
    x, t = np.meshgrid(np.linspace(-1, 1, 401), np.linspace(0, 1, 101), indexing="ij")
    true = np.tanh(x / 0.1)
    off = np.linalg.norm(true - np.tanh((x - 0.4 * t) / 0.1)) / np.linalg.norm(true)
    assert off / 3 < wrong.estimate.relative_l2 < 3 * off
    fields = compare(drifted.model)
    assert relative_l2(fields) is None
    found = suspicions(fields, float(drifted.losses().loss), 10.0, wrong)
    assert any("estimated relative L2 error is" in line for line in found)
    fields = compare(at_its_place.model)
    assert suspicions(fields, float(at_its_place.losses().loss), 10.0, right) == []


# --- independent points ---------------------------------------------------------------------------


def test_an_overfitted_network_is_seen(runs: Path):
    few = {"collocation": 12, "initial": 6, "boundary": 6}
    result = pinnsig.solve(
        "wave", runs=runs, figures=False, phases=["lm:80"], **{**BASE, **few, "width": 16}
    )
    inside = result.independent["terms"]["residual"]
    assert inside["ratio"] > 10
    assert inside["largest"] ** 2 > inside["mean_square"] > result.terms["residual"]
    assert result.relative_l2 / 10 < result.estimated_error
    assert result.estimated_error > 0.1
    assert any("fitted between too few points" in line for line in result.suspicious)


def test_the_largest_residual_is_found_where_it_is():
    class Spike(Bar):
        def residual(self, u, x):
            return 0 * u.xx + 5 * torch.exp(-(((x - 1.2345) / 0.01) ** 2))

    objective = objective_of(Spike, collocation=50)
    found = judge_residuals(objective, mean_squares(objective), 0).terms["residual"]
    assert found["largest"] == pytest.approx(5.0, rel=1e-3)
    assert found["at"]["x"] == pytest.approx(1.2345, abs=1e-3)
    mean = 25 * 0.01 * math.sqrt(math.pi / 2) / math.pi
    assert found["mean_square"] == pytest.approx(mean, rel=0.8)  # some 6 of 1,000 points


def test_points_drawn_by_residual_have_the_means_of_the_domain():
    generator = np.random.default_rng(3)
    pool = generator.random((20_000, 1))
    sizes = np.exp(-(((pool[:, 0] - 0.3) / 0.02) ** 2))
    points, weights = by_residual(pool, sizes, 4000, generator)
    assert np.mean(np.abs(points - 0.3) < 0.05) > 0.4  # they are where the residual is
    for function in (np.ones_like, np.sin, lambda x: np.exp(-(((x - 0.3) / 0.02) ** 2))):
        mean = np.mean(weights * function(points)[:, 0])
        assert mean == pytest.approx(np.mean(function(pool)), rel=0.06)


def test_residuals_are_those_of_the_loss_term_by_term():
    objective = objective_of(TwoFields)
    found: dict[str, float] = {}
    for part in residuals_by_term(objective):
        assert part.points.shape == (len(part.values), 1)
        found[part.term] = found.get(part.term, 0.0) + float(np.mean(part.values**2))
    assert found == pytest.approx(mean_squares(objective), rel=1e-12)


@pytest.mark.parametrize("sampler", ["grid", "uniform", "lhs"])
def test_points_are_the_judges_own_and_follow_the_seed(sampler: str):
    objective = objective_of(Bar, sampler=sampler)
    first, again, other = (judge_residuals(objective, {}, seed) for seed in (0, 0, 1))
    assert not np.isin(first.points, objective.sites["residual"].points).any()
    np.testing.assert_array_equal(first.points, again.points)
    assert first.terms == again.terms
    assert first.terms != other.terms


# --- baselines ------------------------------------------------------------------------------------


def test_zero_and_constant_loss_are_closed_forms():
    objective = objective_of(Bar, weight={"boundary": 3.0})
    x = objective.blocks[0].points[:, 0]
    assert zero_loss(objective) == pytest.approx(float(torch.sin(x).square().mean()), rel=1e-12)
    assert constant_loss(objective) == pytest.approx(zero_loss(objective), rel=1e-6)

    class Heated(Bar):
        def conditions(self):
            yield Dirichlet(on="x-", u=1.0, name="left")
            yield Dirichlet(on="x+", u=3.0, name="right")

    objective = objective_of(Heated)
    inside = zero_loss(objective) - 10.0
    assert constant_loss(objective) == pytest.approx(inside + 2.0, rel=1e-6)  # at u = 2


@pytest.mark.parametrize(
    ("start", "zero", "absurd"),
    [
        (4.7e23, 1.0, True),
        (math.inf, 1.0, True),
        (math.nan, 1.0, True),
        (75.0, 0.5, False),
        (1e-3, 1e-9, False),  # an ansatz that is nearly right
        (1e4, 7e3, False),
    ],
)
def test_absurd_starts(start: float, zero: float, absurd: bool):
    assert absurd_start(start, zero) is absurd


# --- words ----------------------------------------------------------------------------------------


def test_a_loss_that_hardly_moved_is_named(runs: Path):
    for dtype in ("float32", "float64"):
        flags = {**BASE, **POINTS, "dtype": dtype, "phases": ["adam:30", "lbfgs:20"]}
        flags |= {"scaling": "none", "normalize": False}
        result = pinnsig.solve(Bending, runs=runs, figures=False, **flags)
        assert result.relative_l2 > 0.9
        assert result.zero_loss == pytest.approx(1.0, rel=1e-6)
        (line,) = (line for line in result.suspicious if "not trained" in line)
        assert f"the loss ended at {result.best_loss:.2e}" in line
        assert "the zero function has 1.00e+00" in line
        assert "try more iterations" in line


GRID = {"x": np.linspace(0, 1, 41), "t": np.linspace(0, 1, 21)}
X, T = np.meshgrid(*GRID.values(), indexing="ij")
WAVE = np.sin(3 * X) * np.exp(-T)


@pytest.mark.parametrize(
    ("factor", "loss", "start", "baseline", "words"),
    [
        (None, 89.5, 1e6, 0.5, "not trained: the loss ended at 8.95e+01, at the start it was 1.00"),
        (None, 0.4, 1e23, 0.5, "not trained: the loss ended at 4.00e-01"),
        (None, 1e-5, 1.0, 0.5, None),
        (1.3, 0.02, 1e3, 0.5, "not trained to the end"),
        (1.3, 1e-6, 1.0, 0.5, "the relative L2 error is 0.3 though the loss fell to 2.0e-06"),
        (1.01, 0.4, 1.0, 0.5, None),  # the reference rules
        (1.3, math.nan, 1.0, 0.5, "not trained: the loss is not finite"),
        (1.3, 0.9, 1.0, 0.0, "not trained: the loss ended at 9.00e-01"),  # zero solves it
    ],
)
def test_words_are_right(factor, loss, start, baseline, words):
    field = Comparison("u", GRID, (factor or 1.0) * WAVE, None if factor is None else WAVE)
    found = suspicions({"u": field}, loss, start, Judgement(zero_loss=baseline))
    found = [line for line in found if "the error is not known" not in line]
    if words is None:
        assert found == []
    else:
        assert words in found[0]
        assert len(found) == 1
    assert loss < 1 or not any("small" in line for line in found)


# --- what is not finite ---------------------------------------------------------------------------


def test_nan_at_a_fresh_point_ends_in_a_result(runs: Path, monkeypatch: pytest.MonkeyPatch):
    inside = np.linspace(0.01, 0.85, 40)
    sampler = lambda n, dims, generator: np.repeat(inside[:n, None], dims, axis=1)  # noqa: E731
    replace_samplers(monkeypatch, below=sampler)
    result = pinnsig.solve(Growing, runs=runs, sampler="below", **SMALL)
    written = strict_json((result.path / "result.json").read_text())
    assert written["independent"]["terms"]["residual"]["largest"] is None
    assert written["independent"]["terms"]["residual"]["at"]["x"] >= 0.9
    assert written["estimated_error"] is None
    assert any("not finite at a point outside of training, x = 0.9" in s for s in result.suspicious)
    assert (result.path / "figures" / "residual.png").stat().st_size > 0


def test_a_judge_that_fails_is_told_and_the_result_written(runs: Path, monkeypatch):
    def fails(*given):
        raise MemoryError("no room")

    monkeypatch.setattr("pinnsig.run.judging.judgement.estimate_error", fails)
    result = pinnsig.solve("heat", runs=runs, figures=False, **SMALL)
    line = "an estimate of the error could not be had: MemoryError: no room"
    assert line in strict_json((result.path / "result.json").read_text())["suspicious"]


def test_a_zero_reference_gives_a_result(runs: Path):
    class Nothing(Bar):
        def residual(self, u, x):
            return u.xx

        def solution(self, x):
            return 0 * x

    result = pinnsig.solve(Nothing, runs=runs, figures=False, **SMALL)
    written = strict_json((result.path / "result.json").read_text())
    assert written["zero_loss"] == 0.0
    assert written["errors"]["fields"]["u"]["max_error"] > 0


# --- results --------------------------------------------------------------------------------------


def test_errors_stand_by_field_and_in_all(runs: Path, cli):
    result = pinnsig.solve(TwoFields, runs=runs, figures=False, **SMALL)
    errors = result.errors
    assert set(errors["fields"]) == {"u", "v"}
    assert errors["all"]["relative_l2"] == result.relative_l2
    assert errors["all"]["estimated"] == result.estimated_error
    both = [errors["fields"][name]["relative_l2"] for name in "uv"]
    assert min(both) <= result.relative_l2 <= max(both)
    shown = cli("show", result.path).out
    assert "at independent points" in shown
    assert f"\nv      {both[1]:.6g}" in shown


def test_the_estimate_is_printed_where_there_is_no_reference(solve, tmp_path: Path, heat: Path):
    assert "relative_l2 " in solve("heat").out
    text = heat.read_text(encoding="utf-8")
    bare = tmp_path / "bare.py"
    bare.write_text(text[: text.index("    def solution")], encoding="utf-8")
    printed = solve(bare).out
    assert "estimated_error " in printed
    assert "relative_l2" not in printed


def test_the_judge_leaves_no_traces():
    objective = objective_of(Bar)
    objective.evaluate()
    state = objective.flat.copy(), objective.flat.gradient.clone(), objective.evaluations
    streams = torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002
    sites = objective.sites["residual"].points.copy()
    first, again = judged(objective), judged(objective)
    zero_loss(objective)
    assert torch.equal(objective.flat.values, state[0])
    assert torch.equal(objective.flat.gradient, state[1])
    assert objective.evaluations == state[2]
    assert torch.equal(torch.get_rng_state(), streams[0])
    assert str(np.random.get_state()) == streams[1]  # noqa: NPY002
    np.testing.assert_array_equal(objective.sites["residual"].points, sites)
    parameters = list(objective.model.parameters())
    assert parameters[0].data_ptr() == objective.flat.values.data_ptr()  # still its views
    assert first.estimate == again.estimate
    assert first.independent is not None
    assert again.independent is not None
    assert json.dumps(first.independent.as_dict()) == json.dumps(again.independent.as_dict())


def test_the_judge_of_a_float32_run_works_in_float64():
    wide = objective_of(Offset, silent=True)
    narrow = objective_of(Offset, silent=True, dtype="float32")
    for source, target in zip(wide.model.parameters(), narrow.model.parameters(), strict=True):
        source.data.copy_(target.data.double())
    one, other = judged(wide), judged(narrow)
    assert narrow.flat.values.dtype == torch.float32
    assert one.estimate == other.estimate
    assert one.zero_loss == other.zero_loss
