"""What a result says: true losses of the saved weights, and doubts where an answer looks wrong."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import pinnsig
from pinnsig.model.evaluation import Comparison
from pinnsig.problem import Box, Initial, Periodic, Problem
from pinnsig.run.building import build, build_objective
from pinnsig.run.directory import RunDirectory
from pinnsig.run.judging import Estimate, Judgement, suspicions
from pinnsig.run.settings import read_config, resolve
from tests.conftest import SMALL

QUICK = {**SMALL, "figures": False}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_are_those_of_the_saved_weights_in_float64(runs: Path, dtype: str):
    result = pinnsig.solve("burgers", runs=runs, lr=0.05, dtype=dtype, **{**QUICK, "adam": 20})
    config = {**read_config(result.path / "config.json"), "dtype": "float64", "engine": "nested"}
    parts = build(resolve(config))
    objective = build_objective(parts)
    for name, loss in (("model", result.best_loss), ("last", result.last_loss)):
        saved = load_file(result.path / f"{name}.safetensors")
        parts.model.load_state_dict({key: tensor.double() for key, tensor in saved.items()})
        assert float(objective.losses().loss) == pytest.approx(loss, rel=1e-11)
    assert result.best_loss <= result.last_loss
    assert sum(result.terms.values()) == pytest.approx(result.best_loss, rel=1e-12)


def test_losses_after_new_points_are_taken_at_the_last_ones(runs: Path):
    phases = ["adam:6,lr=1e-3,every=2", "lbfgs:4,dtype=float64"]
    flags = {key: value for key, value in QUICK.items() if key not in ("adam", "lbfgs")}
    result = pinnsig.solve("burgers", runs=runs, phases=phases, **flags)
    records = list(RunDirectory.open(result.path).metrics())
    assert result.last_loss == pytest.approx(records[-1]["loss"], rel=1e-12)
    saved = load_file(result.path / "model.safetensors")
    assert {tensor.dtype for tensor in saved.values()} == {torch.float64}
    trained = pinnsig.load(result.path)
    assert next(trained.model.parameters()).dtype == torch.float64


def test_evaluations_and_iterations_are_those_really_made(runs: Path):
    result = pinnsig.solve("burgers", runs=runs, **QUICK)
    phases = result.phases
    assert [p["iterations"] for p in phases] == [3, 3]
    assert result.evaluations == 1 + sum(p["evaluations"] for p in phases)
    assert phases[0]["evaluations"] == 3
    assert sum(p["seconds"] for p in phases) <= result.seconds


def field(values, reference=None):
    axes = {"x": np.linspace(0, 1, values.shape[0]), "t": np.linspace(0, 1, values.shape[1])}
    return {"u": Comparison("u", axes, values, reference)}


X, T = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 21), indexing="ij")
WAVE = np.sin(3 * X) * np.exp(-T)


@pytest.mark.parametrize(
    ("comparisons", "loss", "words"),
    [
        (field(WAVE, WAVE), 1e-6, None),
        (field(WAVE), 1e-6, None),
        (field(1.3 * WAVE, WAVE), 1e-6, "though the loss fell to 1.0e-06 of that of the start"),
        (field(1.3 * WAVE, WAVE), 0.9, "not trained: the loss ended at 9.00e-01"),
        (field(0 * WAVE), 1e-6, "u is nearly constant (0) on 100% of the domain"),
        (field(0 * WAVE + 7.0), 1e-6, "u is nearly constant (7)"),
        (field(0 * WAVE, 0 * WAVE), 1e-6, None),  # so is the truth
        (field(1e-3 * WAVE), 1e-6, None),  # small, and right by the estimate
        (field(1e-3 * WAVE), 1e-6, "u is nearly constant"),
        (field(WAVE * (T < 0.02)), 1e-6, "u is nearly constant"),  # right at the start only
    ],
)
def test_doubts(comparisons, loss, words):
    error = 0.0 if words is None else 0.5
    found = suspicions(comparisons, loss, 1.0, Judgement(estimate=Estimate(error, {}, 0.0)))
    if words is None:
        assert found == []
    else:
        assert any(words in doubt for doubt in found)


@pytest.mark.parametrize(
    ("loss", "start", "zero", "words"),
    [
        (
            2.39e28,
            1e28,
            1e31,
            "not trained: the loss ended at 2.39e+28, at the start it was 1.00e+28",
        ),
        (2.39e28, 1e33, 4e28, "not trained: the loss ended at 2.39e+28"),
        (2.39e28, 1e33, 1e30, "not trained to the end: the loss ended at 2.39e+28"),
        (2.39e28, 1e33, 1e31, "though the loss fell to 2.4e-03 of that of the zero function"),
        (8.95e1, 1e2, 1e3, "not trained to the end: the loss ended at 8.95e+01"),
        (8.95e1, 8.95e1, None, "not trained: the loss ended at 8.95e+01"),
        (math.nan, 1.0, 1.0, "not trained: the loss is not finite"),
        (math.inf, 1.0, 1.0, "not trained: the loss is not finite"),
    ],
)
def test_a_loss_is_small_beside_that_of_a_function_that_knows_nothing(loss, start, zero, words):
    judgement = Judgement(estimate=Estimate(0.5, {}, 0.0), zero_loss=zero)
    doubts = suspicions(field(1.3 * WAVE, WAVE), loss, start, judgement)
    assert any(words in doubt for doubt in doubts), doubts
    assert not any("small" in doubt for doubt in doubts)


@pytest.mark.parametrize(("preset", "more"), [("quick", "--preset accurate"), (None, "--preset"),
                                              ("accurate", "--max-seconds")])  # fmt: skip
def test_advice_goes_beyond_the_preset(preset, more):
    judgement = Judgement(estimate=Estimate(0.5, {}, 0.0))
    (doubt, *_) = suspicions(field(1.3 * WAVE, WAVE), 0.9, 1.0, judgement, preset)
    assert more in doubt
    assert (preset == "accurate") != ("--preset accurate" in doubt)


class AllenCahn(Problem):
    """u_t = 1e-4 u_xx + 5 (u - u^3), which the zero function solves but for its initial values."""

    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))

    def residual(self, u):
        return u.t - 1e-4 * u.xx - 5 * (u - u**3)

    def conditions(self):
        yield Initial(u=lambda x: x**2 * torch.cos(math.pi * x))
        yield Periodic(on="x")


class AllenCahnZero(AllenCahn):
    """The same, held at the trivial solution by an ansatz."""

    def ansatz(self, n, x, t):
        return 1e-9 * n


def allen_cahn_reference(n: int = 512, steps: int = 4000) -> np.ndarray:
    """u(x, 1) on [-1, 1) by a Fourier method with integrating factors, fourth order in time."""
    x = -1 + 2 * np.arange(n) / n
    wave = np.pi * np.fft.fftfreq(n, 1 / n)
    h, decay = 1 / steps, -1e-4 * wave**2
    whole, half = np.exp(decay * h), np.exp(decay * h / 2)
    v = np.fft.fft(x**2 * np.cos(np.pi * x))

    def slope(v):
        u = np.fft.ifft(v).real
        return np.fft.fft(5 * (u - u**3))

    for _ in range(steps):
        a = slope(v)
        b = slope(half * (v + h / 2 * a))
        c = slope(half * v + h / 2 * b)
        d = slope(whole * v + h * half * c)
        v = whole * v + h / 6 * (whole * a + 2 * half * (b + c) + d)
    return np.fft.ifft(v).real


def test_fault_p2_a_trivial_answer_is_flagged(runs: Path):
    reference = allen_cahn_reference()
    at = {x: reference[round((x + 1) * 256)] for x in (0.0, 0.25)}
    assert at == pytest.approx({0.0: 0.02958, 0.25: 0.98848}, abs=2e-5)
    zero = np.sqrt(np.sum((0 - reference) ** 2) / np.sum(reference**2))
    assert zero == 1.0
    # scaling would make up for the factor
    result = pinnsig.solve(AllenCahnZero, runs=runs, scaling="none", **QUICK)
    assert result.terms["residual"] < 1e-6
    assert any("u is nearly constant (" in doubt for doubt in result.suspicious)
    doubts = pinnsig.solve(AllenCahn, runs=runs, **QUICK).suspicious
    assert not any("nearly constant" in doubt for doubt in doubts)
