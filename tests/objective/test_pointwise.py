"""A problem's code sees a point by itself, and nothing of ours or of other threads."""

import math
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from pinnsig.core.errors import PinnsigError, ProblemError
from pinnsig.derivatives import ENGINES
from pinnsig.problem import (
    Box,
    Coefficient,
    Dirichlet,
    Initial,
    Periodic,
    PointData,
    Problem,
    Robin,
)
from tests.objective.test_objective import objective


class Base(Problem):
    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.3)

    def residual(self, u):
        return u.t - self.k * u.xx


def with_residual(code, **body) -> Problem:
    def residual(self, u, x, t):
        return code(u, x, t)

    return type("Heat", (Base,), {"residual": residual, **body})()


def refusal(problem, **options) -> str:
    with pytest.raises(ProblemError) as caught:
        objective(problem, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("Heat: ")
    return message


def padded(values):
    return torch.cat([values, values.new_zeros(1)])


MIXING = {
    # what it is named by, and the residual
    "mean": lambda u, x, t: u.x - u.value.mean(),
    "mean of a coordinate": lambda u, x, t: u.x - x.mean(),
    "mean that weighs next to nothing": lambda u, x, t: u.x - 1e-14 * u.value.mean(),
    "sum": lambda u, x, t: u.x - u.value.sum() / len(u),
    "sum by Python": lambda u, x, t: u.x - sum(u.value) / 40,
    "sum over a jet": lambda u, x, t: u.x - sum(u) / 40,
    "max": lambda u, x, t: u.x / u.max(),
    "max where it is never taken": lambda u, x, t: torch.where(u > 1e6, u.max(), u.x.value),
    "amin": lambda u, x, t: u.x - torch.amin(x.value),
    "norm": lambda u, x, t: u.x / torch.linalg.norm(u.value),
    "std": lambda u, x, t: u.x / u.value.std(),
    "median": lambda u, x, t: u.x - u.value.median(),
    "prod": lambda u, x, t: u.x - (1 + 0.01 * t.value).prod(),
    "sort": lambda u, x, t: u.x - u.value.sort().values,
    "argsort": lambda u, x, t: u.x - u.value.argsort().to(x.dtype),
    "cumsum": lambda u, x, t: u.x - torch.cumsum(u.value, 0),
    "cumprod": lambda u, x, t: u.x - torch.cumprod(t.value, 0),
    "flip": lambda u, x, t: u.x - u.value.flip(0),
    "roll": lambda u, x, t: u.x - torch.roll(u.value, 1),
    "roll of a coordinate": lambda u, x, t: u.x - torch.roll(x.value, 1),
    "softmax": lambda u, x, t: u.x - torch.softmax(u.value, 0),
    "logsumexp": lambda u, x, t: u.x - torch.logsumexp(u.value, 0),
    "matmul": lambda u, x, t: u.x - u.value @ t.value,
    "gram matrix": lambda u, x, t: u.x - torch.exp(-((x.value[:, None] - x.value) ** 2)) @ u.value,
    "indexing": lambda u, x, t: u.x - u.value[0],
    "indexing of a jet": lambda u, x, t: u.x - u[1],
    "indexing from the end": lambda u, x, t: u.x - u.value[-1] * t,
    "differences": lambda u, x, t: u.x - padded(torch.diff(u.value)),
    "gradient": lambda u, x, t: u.x - torch.gradient(u.value)[0],
    "item": lambda u, x, t: u.x - u.value.max().item(),
    "item where it is never taken": lambda u, x, t: torch.where(u > 1e6, float(u.max()), u.x.value),
    "how many there are": lambda u, x, t: u.x - u / len(u),
    "their places": lambda u, x, t: u.x - torch.arange(len(u)) / 100.0,
    "a branch": lambda u, x, t: u.x if u.value.mean() > 0.2 else u.t,
    "numpy": lambda u, x, t: u.x - float(np.mean(x.value.numpy())),
    "neighbours": lambda u, x, t: u.x - torch.cdist(x.value[:, None], x.value[:, None]).sum(1),
    "unfolding": lambda u, x, t: u.x - padded(x.value.unfold(0, 2, 1).mean(1)),
    "a mask's mean": lambda u, x, t: u.x - x.value[x.value > 0].mean(),
}  # fmt: skip
NAMED = {"mean", "sum", "max", "norm", "std", "median", "prod", "sort", "cumsum", "cumprod", "flip",
         "roll", "softmax", "logsumexp", "indexing"}  # fmt: skip


@pytest.mark.parametrize("name", MIXING)
def test_what_reads_other_points_is_refused(name):
    message = refusal(with_residual(MIXING[name]))
    assert message.startswith("Heat: residual depends on other points")
    assert "read each point by itself" in message
    if name in NAMED:
        assert f"({name})" in message


@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_refused_whatever_the_engine_and_the_type(engine, dtype):
    problem = with_residual(MIXING["mean"])
    if engine == "fused":  # where there is no GPU, it is refused for that
        with pytest.raises(PinnsigError):
            objective(problem, engine=engine, dtype=dtype)
        return
    assert "(mean)" in refusal(problem, engine=engine, dtype=dtype)


def masked(u, x, t):
    found = torch.zeros_like(u.value)
    inside = x.value > 0
    found[inside] = u.value[inside] ** 2
    return found + u.x


TABLE = torch.linspace(0.0, 1.0, 11, dtype=torch.float64)


def interpolated(u, x, t):
    place = t.value * 10
    low = place.floor().long().clamp(0, 9)
    return u.x - (TABLE[low] + (place - low) * (TABLE[low + 1] - TABLE[low]))


POINTWISE = {
    "masked assignment": masked,
    "an interpolated table": interpolated,
    "a sum over fields": lambda u, x, t: torch.stack([u.value, u.x.value, t.value]).sum(0),
    "a norm over directions": lambda u, x, t: torch.stack([u.x.value, u.t.value], 1).norm(dim=1),
    "a matrix for each point": lambda u, x, t: (
        torch.stack([u.value, x.value], 1) @ torch.tensor([1.0, 2.0], dtype=x.dtype)
    ),
    "a kernel at fixed centres": lambda u, x, t: (
        u.x - torch.exp(-((x.value[:, None] - TABLE.to(x.dtype)) ** 2)).sum(1)
    ),
    "zeros for each point": lambda u, x, t: u.t - torch.zeros(len(u)),
    "a check": lambda u, x, t: u.t if bool((x.value <= 1).all()) else u.x,
    "softmax over fields": lambda u, x, t: torch.softmax(torch.stack([u.value, x.value]), 0)[0],
    "roots that are not real": lambda u, x, t: torch.sqrt(u) - u.x,
    "a table searched": lambda u, x, t: torch.searchsorted(TABLE, t.value.double().contiguous()).to(
        x.dtype
    ),
    "branches": lambda u, x, t: torch.where(u > 0, torch.sin(u), u.x) + u.t,
    "reshaped": lambda u, x, t: u.value.reshape(-1, 1).expand(len(u), 3).mean(1),
    "a einsum of its own": lambda u, x, t: torch.einsum("i,i->i", u.value, x.value),
    "cumsum over fields": lambda u, x, t: torch.stack([u.value, x.value]).cumsum(0)[1],
    "autograd": lambda u, x, t: u.t + torch.erf(u.x) ** 2,
}


@pytest.mark.parametrize("name", POINTWISE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_reads_each_point_by_itself_is_taken(name, dtype):
    made = objective(with_residual(POINTWISE[name]), dtype=dtype)
    assert made.evaluate().terms.shape == (1,)


def test_conditions_ansatz_and_features_are_tried_as_well():
    def on(*conditions):
        return with_residual(lambda u, x, t: u.t, conditions=lambda self: conditions)

    message = refusal(on(Initial(u=lambda x: x - x.mean())))
    assert message.startswith("Heat: condition 'initial' depends on other points (mean)")
    message = refusal(on(Robin(on="x", a=lambda t: t.cumsum(0), b=1.0, u=0.0)))
    assert message.startswith("Heat: condition 'boundary' depends on other points (cumsum)")
    message = refusal(with_residual(lambda u, x, t: u.t, ansatz=lambda self, n, x: n * x.max()))
    assert message.startswith("Heat: ansatz depends on other points (max)")
    message = refusal(with_residual(lambda u, x, t: u.t, features=lambda self, x, t: (x, t * t[0])))
    assert message.startswith("Heat: features depends on other points (indexing)")


def test_conditions_at_pairs_and_single_points_are_taken():
    conditions = [
        Periodic(on="x"),
        Initial(u=lambda x: torch.sin(x)),
        PointData(x=[0.1], t=[0.3], u=[1.0]),
    ]
    made = objective(with_residual(lambda u, x, t: u.t, conditions=lambda self: conditions))
    assert made.evaluate().terms.isfinite().all()


# --- chance and memory ------------------------------------------------------------------------


DRAWING = {
    "rand_like": lambda u, x, t: u.t + torch.rand_like(u.value),
    "normal": lambda u, x, t: u.t + 1e-9 * torch.randn(len(u)),
    "dropout": lambda u, x, t: torch.nn.functional.dropout(u.value, 0.5),
    "numpy": lambda u, x, t: u.t + np.random.rand(),  # noqa: NPY002
    "random": lambda u, x, t: u.t * random.random(),
}


@pytest.mark.parametrize("name", DRAWING)
def test_a_residual_that_draws_numbers_is_refused(name):
    message = refusal(with_residual(DRAWING[name]))
    assert "gives another value each time it is evaluated" in message
    if name == "rand_like":
        assert "random numbers (rand_like)" in message


COUNT = 0


def counted(u, x, t):
    global COUNT
    COUNT += 1
    return u.t


def test_memory_that_threads_would_share_is_refused_by_name():
    class Heat(Base):
        def __init__(self, **settings):
            super().__init__(**settings)
            self.history: list[Any] = []
            self.cache: dict[str, Any] = {}
            self.total = torch.zeros((), dtype=torch.float64)
            self.array = np.zeros(3)

        kept: list[Any] = []  # noqa: RUF012

    def listed(self, u):
        self.history.append(1.0)
        return u.t

    def cached(self, u):
        self.cache["flux"] = u.x
        return u.t + self.cache["flux"]

    def summed(self, u):
        self.total += 1
        return u.t

    def arrayed(self, u):
        self.array[0] += 1
        return u.t

    def of_class(self, u):
        self.kept.append(0)
        return u.t

    def on_class(self, u):
        type(self).last = u.x
        return u.t + type(self).last

    outer = {"n": 0}

    def enclosed(self, u):
        outer["n"] += 1
        return u.t

    for method, name in (
        (listed, "self.history"), (cached, "self.cache"), (summed, "self.total"),
        (arrayed, "self.array"), (of_class, "Heat.kept"), (on_class, "Heat.last"),
        (enclosed, "outer"),
    ):  # fmt: skip
        kind = type("Heat", (Heat,), {"residual": method})
        assert f"residual changes {name} while it is evaluated" in refusal(kind())
    assert "residual changes COUNT" in refusal(with_residual(counted))


def test_what_a_condition_remembers_is_refused_as_well():
    class Heat(Base):
        def start(self, x):
            self.last = x
            return x

        def conditions(self):
            yield Initial(u=self.start)

    assert "condition 'initial' changes self.last" in refusal(Heat())


def test_what_is_worked_out_once_is_taken():
    class Heat(Base):
        def __init__(self, **settings):
            super().__init__(**settings)
            self.known: dict[str, float] = {}

        def residual(self, u):
            if "c" not in self.known:
                self.known["c"] = math.sqrt(2.0)
            return u.t - self.known["c"] * u.xx

    assert objective(Heat()).evaluate().terms.isfinite().all()


def test_attributes_of_its_own_are_each_threads():
    class Kept(Base):
        def residual(self, u):
            self.flux = u.x
            self.wave = torch.sin(u)
            return u.t * self.wave + self.flux

    class Plain(Base):
        def residual(self, u):
            return u.t * torch.sin(u) + u.x

    torch.set_num_threads(2)
    losses = {
        float(objective(kind(), counts=(4000, 8, 8), width=160).evaluate().loss)
        for kind in (Plain, *[Kept] * 20)
    }
    assert len(losses) == 1


# --- memory that is ours ----------------------------------------------------------------------


def test_functions_of_conditions_may_do_what_they_like_to_their_arguments():
    def start(x):
        x -= 0.5
        return torch.exp(-20 * x**2)

    def slope(x):
        x.numpy()[:] *= 0
        x.data.fill_(7.0)
        return x

    conditions = lambda self: [Initial(u=start, u_t=slope), Dirichlet(on="x", u=start_t)]  # noqa: E731

    def start_t(t):
        return t.mul_(0).add_(1)

    made = objective(with_residual(lambda u, x, t: u.t, conditions=conditions))
    points = [block.points.clone() for block in made.blocks]
    first = made.evaluate()
    clean = objective(
        with_residual(
            lambda u, x, t: u.t,
            conditions=lambda self: [
                Initial(u=lambda x: torch.exp(-20 * (x - 0.5) ** 2), u_t=7.0),
                Dirichlet(on="x", u=1.0),
            ],
        )
    )
    for _ in range(3):
        assert torch.equal(made.evaluate().terms, first.terms)
    torch.testing.assert_close(first.terms, clean.evaluate().terms, rtol=1e-12, atol=0)
    for before, block in zip(points, made.blocks, strict=True):
        assert torch.equal(before, block.points)


def written(how):
    def code(u, x, t):
        how(u, x, t)
        return u.t + x

    return code


WRITING = {
    "a field": lambda u, x, t: u.value.mul_(2),
    "a partial": lambda u, x, t: u.x.value.add_(1),
    "a coordinate": lambda u, x, t: x.value.sub_(0.5),
    "a coordinate's method": lambda u, x, t: x.mul_(0.5),
    "a view of numpy's": lambda u, x, t: x.value.numpy().__setitem__(0, 7.0),
    "data": lambda u, x, t: u.value.data.zero_(),
    "an item": lambda u, x, t: x.value.__setitem__(0, 3.0),
}


@pytest.mark.parametrize("name", WRITING)
def test_a_residual_that_writes_into_its_arguments_is_refused(name):
    message = refusal(with_residual(written(WRITING[name])))
    assert message.startswith("Heat: residual")


def test_minus_equals_on_a_coordinate_is_arithmetic():
    def code(u, x, t):
        x -= 0.5
        return u.t * x

    mine = objective(with_residual(code)).evaluate()
    assert torch.equal(
        mine.terms, objective(with_residual(lambda u, x, t: u.t * (x - 0.5))).evaluate().terms
    )


def test_measured_values_are_copied():
    x, u = np.array([0.1, 0.2]), np.array([1.0, 2.0])
    data = PointData(x=x, t=[0.3, 0.4], u=u)
    made = objective(with_residual(lambda u, x, t: u.t, conditions=lambda self: [data]))
    before = made.evaluate().terms
    x += 0.5
    u[:] = 9.0
    assert torch.equal(made.evaluate().terms, before)
    again = objective(with_residual(lambda u, x, t: u.t, conditions=lambda self: [data]))
    assert torch.equal(again.evaluate().terms, before)


# --- types ------------------------------------------------------------------------------------


REFUSED = {
    "complex": (lambda u, x, t: torch.complex((x - 2).value, (t - 3).value), "complex"),
    "complex field": (lambda u, x, t: u.value + 1j * u.x.value, "complex"),
    "integers": (lambda u, x, t: (u.value * 10).long(), "torch.int64"),
    "truth": (lambda u, x, t: u > 0, "torch.bool"),
    "numpy": (lambda u, x, t: np.zeros(len(u)), "not ndarray"),
    "a number": (lambda u, x, t: 0.0, "not float"),
    "text": (lambda u, x, t: "u", "not str"),
    "nothing": (lambda u, x, t: None, "not NoneType"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_residuals_of_other_types_are_refused(name):
    code, words = REFUSED[name]
    message = refusal(with_residual(code))
    assert message.startswith("Heat: residual")
    assert words in message


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda x: torch.complex(x, x), "complex"),
        (lambda x: x > 0, "torch.bool"),
        (lambda x: torch.ones(len(x), dtype=torch.int32), "torch.int32"),
        (lambda x: np.ones(len(x)), "ndarray: compute it with torch"),
        (lambda x: 1j, "complex"),
        (True, "not True"),
        (1j, "not 1j"),
        (torch.tensor(1j), "complex"),
    ],
)
def test_values_of_other_types_are_refused(value, words):
    conditions = [Initial(u=value)]
    problem = with_residual(lambda u, x, t: u.t, conditions=lambda self: conditions)
    with pytest.raises(ProblemError, match=words) as caught:
        objective(problem)
    assert "\n" not in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    def conditions(value):
        return lambda self: [Initial(u=value)]

    losses = {
        float(
            objective(with_residual(lambda u, x, t: u.t, conditions=conditions(value)))
            .evaluate()
            .loss
        )
        for value in (
            0.5,
            np.float64(0.5),
            np.float32(0.5),
            lambda x: np.float32(0.5),
            lambda x: 0.5,
        )
    }
    assert len(losses) == 1


def test_fewer_digits_than_the_run_has_are_told():
    tenth = torch.tensor(0.1)  # float32

    def notices(code, dtype=torch.float64):
        return objective(with_residual(code), dtype=dtype).notices

    (notice,) = notices(lambda u, x, t: u.t - tenth * u.x)
    assert notice.startswith("Heat: residual: numbers with 7 digits")
    assert "\n" not in notice
    assert any("7 digits" in notice for notice in notices(lambda u, x, t: u.t.float()))
    assert not notices(lambda u, x, t: u.t - torch.zeros(len(u)) - torch.tensor(0.5) * u.x)
    assert not notices(lambda u, x, t: u.t - tenth * u.x, torch.float32)


def test_code_that_cannot_be_compiled_is_told():
    made = objective(with_residual(lambda u, x, t: u.t - torch.lgamma(2 + u.x**2)))
    (notice,) = made.notices
    assert notice.startswith("residual: its code is run by torch's operations")
    assert "the function 'lgamma'" in notice
    assert not objective(with_residual(lambda u, x, t: torch.atan(u.t) * torch.sigmoid(u))).notices


def test_trying_code_does_not_load_torchs_compiler():
    code = (
        "import sys\n"
        "from pinnsig.run.building import build, build_objective\n"
        "from pinnsig.run.settings import resolve\n"
        "sizes = dict(depth=1, width=2, collocation=8, initial=4, boundary=4)\n"
        "build_objective(build(resolve({'problem': 'burgers', **sizes})))\n"
        "sys.exit('torch._dynamo' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
