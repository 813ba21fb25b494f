"""The code of residuals, run by programs or by autograd: the same numbers, whatever it does."""

import math
import shutil

import pytest
import torch

from pinnsig.activations import Tanh
from pinnsig.derivatives.compiled import programs
from pinnsig.initializers import Xavier
from pinnsig.model import Model
from pinnsig.model.fields import input_count
from pinnsig.networks import FFNN
from pinnsig.objective import Objective, Weights
from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Periodic, Problem, problem_class
from pinnsig.sampling import Counts, draw_sites


@pytest.fixture(autouse=True)
def _compiler():
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler on this machine")


def objective(problem, compiled, monkeypatch):
    network = FFNN(input_count(problem), len(problem.outputs), 2, 6, Tanh(), dtype=torch.float64)
    Xavier(sigma_b=0.2).fill(network, torch.Generator().manual_seed(0))
    sites = draw_sites(problem, Counts(300, 20, 20), "lhs", seed=0)
    with monkeypatch.context() as patch:
        if not compiled:
            patch.setattr("pinnsig.objective.residuals.find_interpreter", lambda _: None)
        return Objective(Model(problem, network), "jets", sites)


def both(problem, monkeypatch):
    return [objective(problem(), compiled, monkeypatch) for compiled in (True, False)]


def assert_equal(mine, theirs, weights=None):
    found = (made.evaluate(weights) for made in (mine, theirs))
    alone = (made.losses(weights) for made in (mine, theirs))
    for a, b in (found, alone):
        torch.testing.assert_close(a.loss, b.loss, rtol=1e-12, atol=0)
        torch.testing.assert_close(a.terms, b.terms, rtol=1e-12, atol=0)
    scale = float(theirs.flat.gradient.abs().max())
    torch.testing.assert_close(mine.flat.gradient, theirs.flat.gradient, rtol=0, atol=1e-12 * scale)


class Base(Problem):
    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x-", u=0.0)
        yield Periodic(on="x", name="sides")


class Everything(Base):
    nu = Coefficient(0.3, above=0.0, learn=True)
    a = Coefficient(-0.5, learn=True)

    def residual(self, u, x, t):
        drift = torch.exp(self.a) * torch.sin(x) * u.x / (1 + u**2)
        return {
            "one": u.t - self.nu**2 * u.xx + drift + (self.a * x) * u + torch.tanh(u) ** 3,
            "two": u.xt - torch.exp(-t) + 2 * u.x * abs(u),
            "three": x * self.nu - t,
        }


class Where(Base):
    def residual(self, u, x):
        return torch.where(x > 0, u.t, u.xx) + torch.relu(u)


class Branches(Base):
    def residual(self, u):
        return u.t - (u.xx if u.value.mean() > 0 else u.x)


class Off(Base):
    def residual(self, u):
        with torch.no_grad():
            weight = (1 + u.x**2).reciprocal()
        return weight * (u.t - u.xx)


class Detached(Base):
    def residual(self, u):
        return u.t - u.value.detach() * u.x


class Ansatz(Base):
    def residual(self, u):
        return u.t - u.xx

    def ansatz(self, n, x, t):
        return torch.sin(math.pi * x) + t * (1 - x**2) * n


class Constant(Base):
    def residual(self, u, x):
        return 0 * x + 1


@pytest.mark.parametrize("problem", [Everything, Where, Branches, Off, Detached, Ansatz, Constant])
def test_loss_and_gradient_do_not_depend_on_how_the_code_is_run(problem, monkeypatch):
    assert_equal(*both(problem, monkeypatch))


@pytest.mark.parametrize("name", ["burgers", "black-scholes"])
def test_known_problems_need_no_autograd(name, monkeypatch):
    made = objective(problem_class(name)(), True, monkeypatch)

    def refuse(*args, **kwargs):
        raise AssertionError("autograd is asked")

    monkeypatch.setattr(torch.autograd, "grad", refuse)
    made.evaluate()
    assert float(made.flat.gradient.norm()) > 0


def test_what_the_code_decides_anew_is_honoured(monkeypatch):
    class Annealed(Base):
        strength = 0.0
        late = False

        def residual(self, u):
            return u.t - self.strength * u.xx + (u * u.x if self.late else 0.0)

    mine, theirs = both(Annealed, monkeypatch)
    seen = []
    for strength, late in ((0.0, False), (2.0, False), (2.0, True), (0.5, True)):
        for made in (mine, theirs):
            vars(made.model.problem).update(strength=strength, late=late)
        assert_equal(mine, theirs)
        seen.append(float(mine.evaluate().loss))
    assert len(set(seen)) == 4


def test_attention_weighs_points_alike(monkeypatch):
    mine, theirs = both(Everything, monkeypatch)
    factors = torch.linspace(0, 2, 300, dtype=torch.float64)
    weights = Weights(mine.weights.terms, factors)
    assert_equal(mine, theirs, weights)
    sizes = [made.evaluate(weights).sizes for made in (mine, theirs)]
    torch.testing.assert_close(*sizes)


def test_a_fault_in_the_code_is_told_as_ever(monkeypatch):
    class Late(Base):
        broken = False

        def residual(self, u):
            if self.broken:
                raise ZeroDivisionError("nothing to divide by")
            return u.t

    made = objective(Late(), True, monkeypatch)
    vars(made.model.problem)["broken"] = True
    with pytest.raises(ZeroDivisionError, match="nothing to divide by"):
        made.evaluate()


def test_without_a_compiler_there_is_no_interpreter(monkeypatch):
    monkeypatch.setenv("PINNSIG_COMPILE", "0")
    programs.find_interpreter.cache_clear()
    assert programs.find_interpreter(torch.float64) is None
    programs.find_interpreter.cache_clear()
