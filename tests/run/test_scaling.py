"""Problems far from order one are scaled; others stay as they are, bit for bit."""

# a scaling that is not "none" is a table
# pyright: reportArgumentType=false, reportCallIssue=false, reportOperatorIssue=false

import json
import math

import pytest
import torch

import pinnsig
from pinnsig.core.errors import SettingsError
from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem
from pinnsig.run.building import build, build_objective
from pinnsig.run.callbacks import Callback
from pinnsig.run.scaling import far_from_order_one, find_scaling
from pinnsig.run.settings import resolve
from pinnsig.training.weighting import StartTrace

SMALL = {"depth": 2, "width": 8, "adam": 2, "lbfgs": 2, "collocation": 60, "initial": 10,
         "boundary": 10, "figures": False}  # fmt: skip


class Moment(Problem):
    """The bending moment of a beam on (0, 6000): (6000 x - x^2) / 2."""

    domain = Box(x=(0.0, 6000.0))
    fields = ("M",)

    def residual(self, M):
        return M.xx + 1

    def conditions(self):
        yield Dirichlet(on="x", M=0.0)

    def solution(self, x):
        return x * (6000 - x) / 2


class Channel(Problem):
    """Plane Poiseuille flow in SI units: u of some 800 m/s, p of 1e5 Pa, and v = 0."""

    domain = Box(x=(0.0, 1.0), y=(0.0, 0.01))
    fields = ("u", "v", "p")
    mu = Coefficient(1e-3)

    def residual(self, u, v, p):
        return {
            "x": p.x - self.mu * (u.xx + u.yy),
            "y": p.y - self.mu * (v.xx + v.yy),
            "mass": u.x + v.y,
        }

    def conditions(self):
        yield Dirichlet(on="y", u=0.0, v=0.0)
        yield Dirichlet(on="x-", p=1e5, v=0.0)
        yield Dirichlet(on="x+", p=0.0, v=0.0)


class Film(Problem):
    """Heat in SI units, 293 K and a little more."""

    domain = Box(x=(0.0, 1e-6), t=(0.0, 1e-6))
    fields = ("T",)

    def residual(self, T, x):
        return 2.3e6 * T.t - 1.5 * T.xx - 1e13 * torch.exp(-x / 2e-7)

    def conditions(self):
        yield Initial(T=293.0)
        yield Dirichlet(on="x", T=293.0)


def scaled(cls):
    problem = cls()
    problem.scaled_inputs = far_from_order_one(problem.domain)
    return problem, find_scaling(problem)


def test_the_size_of_a_moment_follows_from_its_equation_alone():
    problem, found = scaled(Moment)
    assert problem.scaled_inputs
    middle, size = found.outputs["M"]
    # mean and standard deviation of x (L - x) / 2 on (0, L)
    assert middle == pytest.approx(6000**2 / 12, rel=1e-2)
    assert size == pytest.approx(6000**2 * math.sqrt(1 / 120 - 1 / 144), rel=3e-2)
    assert found.terms["residual"] == pytest.approx(1.0, rel=0.5)
    assert 1e6 < found.terms["boundary"] < 1e7
    (notice,) = found.notices
    assert "far from order one, so scaled: outputs M = 3e+06 + " in notice


def test_the_sizes_of_a_flow_in_si_units():
    found = scaled(Channel)[1]
    # means over the channel: dp H^2 / (12 mu L) and dp / 2
    assert found.outputs["u"][0] == pytest.approx(1e5 * 1e-4 / (12 * 1e-3), rel=1e-2)
    assert found.outputs["p"][0] == pytest.approx(5e4, rel=1e-2)
    # v is zero: as large as continuity lets it be, some u H / L, not the noise of a rough solution
    assert 0.5 < found.outputs.get("v", (0.0, 1.0))[1] < 50
    assert found.terms["boundary_x-"] > 1e4 > found.terms["boundary_y"] > 1e2


class Beam(Problem):
    """A beam of 5 m in SI units: only its terms are far from order one."""

    domain = Box(x=(0.0, 5.0))
    fields = ("w",)

    def residual(self, w):
        return 2e5 * w.xxxx - 5e3

    def conditions(self):
        yield Dirichlet(on="x", w=0.0, w_xx=0.0)


def test_where_anything_is_scaled_inputs_are():
    parts = build(resolve({"problem": "Beam", "depth": 2, "width": 5}), Beam)
    assert parts.settings.normalize is True
    assert parts.settings.scaling["terms"]["residual"] > 300
    assert not build(
        resolve({"problem": "Beam", "depth": 2, "width": 5, "normalize": False}), Beam
    ).settings.normalize


def test_a_shift_is_taken_where_values_lie_far_from_zero():
    found = scaled(Film)[1]
    middle, size = found.outputs["T"]
    assert 293 < middle < 293.2
    assert 0.01 < size < 0.5
    assert found.terms["residual"] > 1e12


@pytest.mark.parametrize(
    "name",
    ["burgers", "heat", "helmholtz", "kovasznay", "beam", "lotka-volterra", "kdv", "kdv-soliton"],
)
def test_problems_of_order_one_stay_as_they_are(name):
    parts = build(resolve({"problem": name, "depth": 2, "width": 5}))
    assert (parts.settings.scaling, parts.settings.normalize) == ("none", False)
    assert not parts.problem.output_scales
    assert not build_objective(parts).sizes


def test_the_papers_protocol_never_scales():
    settings = resolve({"problem": "Moment", "preset": "paper", "depth": 2, "width": 5})
    parts = build(settings, Moment)
    assert (parts.settings.scaling, parts.settings.normalize) == ("none", False)


def test_losses_are_in_units_of_the_terms_sizes():
    parts = build(resolve({"problem": "Moment", "depth": 2, "width": 8, "seed": 1}), Moment)
    objective = build_objective(parts)
    sizes = parts.settings.scaling["terms"]
    found = objective.losses()
    whole = sum(
        float(term) / sizes[name] ** 2
        for name, term in zip(objective.term_names, found.terms, strict=True)
    )
    assert float(found.loss) == pytest.approx(whole, rel=1e-12)
    assert 1e-3 < whole < 1e3
    assert float(objective.rebuild().losses().loss) == float(found.loss)
    # balancing, too, sees terms in these units: without them the bound on factors would hide all
    weights = StartTrace().start(objective).terms / objective.weights.terms
    assert float(weights.max()) < StartTrace.largest


def test_partials_are_in_the_problems_own_units():
    parts = build(resolve({"problem": "Moment", "depth": 2, "width": 8}), Moment)
    h, x = 1e-1, 1234.0
    low, mid, high = (float(parts.model.predict({"x": x + s * h})["M"].item()) for s in (-1, 0, 1))
    found = parts.model.predict({"x": x}, ("M.x", "M"))
    assert float(found["M.x"]) == pytest.approx((high - low) / (2 * h), rel=1e-5)
    assert float(found["M"]) == mid
    middle, size = parts.settings.scaling["outputs"]["M"]
    raw = parts.model.network(torch.tensor([[(x - 3000) / 3000]], dtype=torch.float64))
    assert mid == pytest.approx(middle + size * float(raw.detach()), rel=1e-12)


def test_a_run_keeps_its_sizes_and_is_read_back_and_resumed_with_them(tmp_path):
    class Heard(Callback):
        notices: tuple[str, ...] = ()

        def started(self, parts, path):
            self.notices = parts.notices

    heard = Heard()
    result = pinnsig.solve(Moment, runs=tmp_path, callbacks=[heard], **SMALL)
    assert any("so scaled" in line for line in heard.notices)
    config = json.loads((result.path / "config.json").read_text(encoding="utf-8"))
    assert config["normalize"] is True
    assert config["scaling"]["outputs"]["M"][1] > 1e6
    assert result.loss_at_start < 1e3  # some 1e13 without
    resumed = pinnsig.resume(result.path, problem=Moment, lbfgs=4, figures=False)
    assert resumed.best_loss <= result.best_loss
    loaded = pinnsig.load(result.path, problem=Moment)
    assert loaded.model.problem.output_scales["M"] == tuple(config["scaling"]["outputs"]["M"])


def test_a_user_says_sizes_or_none():
    given = {"problem": "Moment", "depth": 2, "width": 5}
    table = {"outputs": {"M": [0.0, 4.5e6]}, "terms": {"boundary": 4.5e6}}
    parts = build(resolve({**given, "scaling": table}), Moment)
    assert parts.problem.output_scales == {"M": (0.0, 4.5e6)}
    assert build_objective(parts).sizes == {"boundary": 4.5e6}
    assert not build(resolve({**given, "scaling": "none"}), Moment).problem.output_scales
    for wrong, words in (
        ({"outputs": {"T": [0, 1]}}, "scaling of T: the network's outputs are M"),
        ({"outputs": {"M": 3.0}}, "pair"),
        ({"outputs": {"M": [0.0, 0.0]}}, "size of M = 0 must be greater than 0"),
        ({"sizes": {}}, "outputs"),
        ("automatic", "auto"),
        ({"terms": {"residuals": 1.0}}, "residuals"),
    ):
        with pytest.raises(SettingsError, match=words):
            build_objective(build(resolve({**given, "scaling": wrong}), Moment))


def test_code_that_cannot_take_zeros_is_said_and_nothing_is_scaled():
    class Logarithm(Problem):
        domain = Box(x=(0.0, 5000.0))

        def residual(self, u):
            return u.x - torch.log(u)

        def conditions(self):
            yield Dirichlet(on="x-", u=3.0)

    found = scaled(Logarithm)[1]
    assert not found.outputs
    assert "not found" in found.notices[0]


@pytest.mark.slow
def test_a_first_run_is_right_in_si_units(tmp_path):
    assert pinnsig.solve(Moment, runs=tmp_path, figures=False, broyden=300).relative_l2 < 1e-3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"terms": 3', "is no JSON"),
        ('{"terms":' * 100_000, "is no JSON"),
        ('{"terms": {"initial": NaN}}', "size of initial = nan must be finite"),
        ('{"outputs": {"u": [1]}}', r"scaling of u = \[1\] must be a pair"),
        ('{"term": {"initial": 3}}', "did you mean terms"),
        ("[1]", "known are auto, none"),
    ],
    ids=range(6),
)
def test_a_table_in_text_that_is_none_is_refused_in_a_line(text, words):
    with pytest.raises(SettingsError, match=words) as refused:
        resolve({"problem": "heat", "scaling": text})
    assert len(str(refused.value)) < 300
