"""Runs do not depend on the mode of torch's that a caller is in, nor on global random streams."""

import random
from typing import Any

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.problem import Box, Dirichlet, Problem, Sites
from pinnsig.problem.condition import Condition
from tests.conftest import SMALL


class Decay(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))

    def residual(self, u, x):
        return u.t - u.xx + x * u

    def features(self, x, t):
        return x, t, torch.sin(x)

    def solution(self, x, t):
        return x * t

    def conditions(self):
        yield Dirichlet(on="x", u=lambda t: t)


def outcome(tmp_path, name, engine="auto"):
    made = pinnsig.solve(Decay, path=tmp_path / name, figures=False, **SMALL, engine=engine)
    resumed = pinnsig.resume(made.path, problem=Decay, figures=False, adam=None, lbfgs=6)
    model = pinnsig.load(made.path, problem=Decay)
    table = pinnsig.sweep(
        problem=Decay, seed=[0, 1], out=tmp_path / f"{name}-sweep", workers=1, **SMALL
    )
    grid = np.linspace(0.1, 0.9, 5)
    found = model.predict(("u", "u.xx"), x=grid, t=0.5)
    losses = [row["best_loss"] for row in table.rows]
    return made.best_loss, resumed.best_loss, resumed.relative_l2, losses, {
        key: values.tolist() for key, values in found.items()
    }  # fmt: skip


@pytest.mark.parametrize("engine", ["jets", "nested"])
def test_inference_mode_and_no_grad_change_nothing(tmp_path, engine):
    plain = outcome(tmp_path, "plain", engine)
    with torch.inference_mode():
        inferred = outcome(tmp_path, "inferred", engine)
    with torch.no_grad():
        without = outcome(tmp_path, "without", engine)
    assert inferred == plain
    assert without == plain


def states():
    array: Any = np.random.get_state()  # noqa: NPY002
    return random.getstate(), array[1].tolist(), torch.get_rng_state().tolist()


def test_training_leaves_the_global_streams_alone(tmp_path):
    before = states()
    pinnsig.solve(Decay, path=tmp_path / "run", figures=False, **SMALL)
    assert states() == before


class Reseeding(Decay):
    """Its author draws and reseeds wherever code is called."""

    def conditions(self):
        torch.manual_seed(random.randrange(2**30))
        np.random.seed(random.randrange(2**30))  # noqa: NPY002
        torch.rand(random.randrange(1, 9))
        yield Dirichlet(on="x", u=lambda t: t)


class Plain(Decay):
    def conditions(self):
        yield Dirichlet(on="x", u=lambda t: t)


def test_code_that_reseeds_does_not_reach_the_runs_own_streams(tmp_path):
    losses = set()
    for i, problem in enumerate((Plain, Reseeding, Reseeding)):
        made = pinnsig.solve(
            problem,
            path=tmp_path / str(i),
            figures=False,
            **SMALL,
        )
        losses.add(made.best_loss)
    assert len(losses) == 1


class Warm(Decay):
    pass


@pytest.mark.parametrize(
    ("solution", "words"),
    [
        (lambda self, x, t: torch.complex(x, t), "complex"),
        (lambda self, x, t: x > t, "torch.bool"),
        (lambda self, x, t: "warm", "not str"),
        (lambda self, x, t: ["warm"], "not str"),
        (lambda self, x, t: x.numpy(), "not ndarray"),
    ],
)
def test_solutions_of_other_types_are_refused_before_training(tmp_path, solution, words):
    kind = type("Odd", (Decay,), {"solution": solution})
    with pytest.raises(pinnsig.PinnsigError, match=words) as caught:
        pinnsig.solve(kind, path=tmp_path / "run", figures=False, **SMALL)
    assert "\n" not in str(caught.value)


def test_a_solution_may_change_its_arguments(tmp_path):
    def moved(self, x, t):
        x -= 0.5
        return (x + 0.5) * t

    kind = type("Moved", (Decay,), {"solution": moved})
    found = [
        pinnsig.solve(k, path=tmp_path / k.__name__, figures=False, **SMALL) for k in (kind, Decay)
    ]
    assert found[0].relative_l2 == pytest.approx(found[1].relative_l2, rel=1e-12)


class Odd(Condition):
    """A condition of a user's own that writes into what it gets."""

    group = "boundary"

    def sites(self, domain, count, draw):
        return Sites(domain.sample(count, draw), {"extra": np.arange(count, dtype=np.float64)})

    def residual(self, fields, coordinates, extra):
        coordinates["x"].mul_(0.0)
        return {"u": fields["u"] - extra["extra"]}


def test_a_condition_of_ones_own_that_writes_is_refused(tmp_path):
    kind = type("Written", (Decay,), {"conditions": lambda self: [Odd()]})
    with pytest.raises(pinnsig.PinnsigError, match="condition 'boundary': it changes x in place"):
        pinnsig.solve(kind, path=tmp_path / "run", figures=False, **SMALL)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("math.sin(u) + u.t", r"line 2: return math.sin\(u\) \+ u.t; .* write torch.sin"),
        ("u.t * math.exp(x.value)", r"write torch.exp\(...\)"),
        ("max(u.t, 0.0)", "max"),
        ("u.t if u > 0 else u.x", "in line 2"),
        ("u.t if u and x else u.x", "torch.where"),
        ("np.sin(u) + u.t", r"numpy's sin .* write torch.sin"),
        ("u.t + np.sin(u.value)", "torch.sin"),
        ("int(u)", "in line 2"),
    ],
)
def test_functions_of_numbers_are_named_with_torchs(tmp_path, line, words):
    source = "def residual(self, u, x):\n    return " + line + "\n"
    (tmp_path / "code.py").write_text(source)
    namespace = {"np": np, "math": __import__("math")}
    exec(compile(source, str(tmp_path / "code.py"), "exec"), namespace)
    kind = type("Named", (Decay,), {"residual": namespace["residual"]})
    with pytest.raises(pinnsig.PinnsigError, match=words) as caught:
        pinnsig.solve(kind, path=tmp_path / "run", figures=False, **SMALL)
    assert "\n" not in str(caught.value)
