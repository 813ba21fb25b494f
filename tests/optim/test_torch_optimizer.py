"""PyTorch's optimisers as phases: they move as in a plain loop, and go on from checkpoints."""

import json
import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import pinnsig
from pinnsig import Callback
from pinnsig.core.errors import SettingsError
from pinnsig.optim import (
    LIMIT,
    TORCH_OPTIMIZERS,
    Layout,
    Make,
    Measured,
    Optimizer,
    TorchOptimizer,
    drive,
)
from pinnsig.run.settings import parse_phase
from tests.conftest import SMALL, Cli
from tests.run.test_resume import COUNTS, assert_same

SHAPES = (torch.Size((4, 3)), torch.Size((4,)), torch.Size(()))
SIZE = 17


def valley(theta: Tensor) -> Tensor:
    """A curved valley, so that line searches have something to do."""
    return (5 * (theta[1:] - theta[:-1] ** 2) ** 2 + (1 - theta[:-1]) ** 2).sum()


def measure(theta: Tensor) -> Measured:
    leaf = theta.detach().clone().requires_grad_()
    loss = valley(leaf)
    (gradient,) = torch.autograd.grad(loss, leaf)
    return Measured(loss.item(), 0.0, gradient)


def start() -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return 0.5 * torch.randn(SIZE, generator=generator, dtype=torch.float64)


def prepared(make: Make, name: str = "python.made") -> TorchOptimizer:
    optimizer = TorchOptimizer(make, name)
    optimizer.prepare(Layout(SHAPES, 10, torch.float64, torch.device("cpu")))
    return optimizer


def follow(optimizer: Optimizer, theta: Tensor, steps: int) -> Tensor:
    for _ in range(steps):
        drive(optimizer.step(theta), lambda request: measure(theta))
    return theta


def plain_loop(make: Make, steps: int) -> Tensor:
    """The usual loop over parameters of the same shapes."""
    pieces = start().split([shape.numel() for shape in SHAPES])
    parameters = [
        p.reshape(s).clone().requires_grad_() for p, s in zip(pieces, SHAPES, strict=True)
    ]
    optimizer = make(list(parameters))

    def closure() -> Any:
        optimizer.zero_grad()
        loss = valley(torch.cat([p.reshape(-1) for p in parameters]))
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return torch.cat([p.detach().reshape(-1) for p in parameters])


class Twice(torch.optim.Optimizer):
    """Extragradient: it looks ahead, and steps by the gradient there."""

    def __init__(self, params: Any, lr: float = 1e-2) -> None:
        super().__init__(params, {"lr": lr})

    def step(self, closure: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        with torch.enable_grad():
            loss = closure()
        moves = [(p, g["lr"]) for g in self.param_groups for p in g["params"]]
        with torch.no_grad():
            kept = [p.clone() for p, _ in moves]
            for p, lr in moves:
                p.sub_(p.grad, alpha=lr)
        with torch.enable_grad():
            closure()
        with torch.no_grad():
            for (p, lr), before in zip(moves, kept, strict=True):
                p.copy_(before - lr * p.grad)
        return loss


class Shaken(Twice):
    """It draws at random before it asks again."""

    def step(self, closure: Any = None) -> Any:
        closure()
        with torch.no_grad():
            for p in self.param_groups[0]["params"]:
                p.add_(torch.rand_like(p))
        return closure()


def by_shape(params: list[Tensor]) -> torch.optim.Optimizer:
    groups = [{"params": [p for p in params if p.ndim == n], "lr": 10.0**-n - 0.99} for n in (0,)]
    rest = {"params": [p for p in params if p.ndim], "lr": 1e-3}
    return torch.optim.SGD([*groups, rest], momentum=0.9, nesterov=True)


MAKERS: dict[str, Make] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=1e-2, amsgrad=True),
    "NAdam": torch.optim.NAdam,
    "Rprop": torch.optim.Rprop,
    "Adafactor": torch.optim.Adafactor,
    "groups": by_shape,
    "LBFGS": lambda p: torch.optim.LBFGS(p, max_iter=6, history_size=4),
    "LBFGS, Wolfe": lambda p: torch.optim.LBFGS(p, max_iter=9, line_search_fn="strong_wolfe"),
    "extragradient": Twice,
}


@pytest.mark.parametrize("name", MAKERS)
def test_it_moves_as_in_a_plain_loop(name: str):
    theta = follow(prepared(MAKERS[name]), start(), 12)
    assert not torch.equal(theta, start())
    assert torch.allclose(theta, plain_loop(MAKERS[name], 12), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MAKERS)
def test_its_state_goes_through_json_and_goes_on_bit_for_bit(name: str):
    straight = follow(prepared(MAKERS[name]), start(), 9)
    first = prepared(MAKERS[name])
    theta = follow(first, start(), 4)
    other = prepared(MAKERS[name])
    other.load(first.state(), theta)
    assert torch.equal(follow(other, theta, 5), straight)


def test_every_optimiser_of_torch_is_known_by_name():
    assert {"torch.SGD", "torch.AdamW", "torch.LBFGS"} <= set(TORCH_OPTIMIZERS)
    assert not {"torch.Optimizer", "torch.SparseAdam"} & set(TORCH_OPTIMIZERS)


def test_a_limit_within_a_line_search_leaves_all_as_it_was():
    make = MAKERS["LBFGS, Wolfe"]
    optimizer = prepared(make)
    theta = follow(optimizer, start(), 2)
    before, left = theta.clone(), iter(range(3))

    def answer(request: object) -> Measured | None:
        return measure(theta) if next(left, None) is not None else None

    step = drive(optimizer.step(theta), answer)
    assert step.stop == LIMIT
    assert torch.equal(theta, before)
    assert torch.equal(follow(optimizer, theta, 3), follow(prepared(make), start(), 5))


def test_a_loss_that_is_not_finite_moves_nothing():
    optimizer, theta = prepared(MAKERS["SGD"]), start()
    step = drive(optimizer.step(theta), lambda request: Measured(math.nan, 0.0, start()))
    assert math.isnan(step.loss)
    assert torch.equal(theta, start())


def test_a_schedule_multiplies_the_rates_of_all_groups():
    make: Make = lambda p: torch.optim.SGD([{"params": p[:1], "lr": 0.5}, {"params": p[1:]}], 0.1)  # noqa: E731
    optimizer, theta = prepared(make), start()
    optimizer.factor = 0.25
    gradient = measure(theta).gradient
    assert gradient is not None
    follow(optimizer, theta, 1)
    rates = torch.cat([torch.full((12,), 0.125), torch.full((5,), 0.025)]).double()
    assert torch.allclose(theta, start() - rates * gradient, rtol=1e-14)
    assert optimizer.learning_rate == 0.125


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: torch.optim.SGD(p, lr=-1.0), "python.made cannot be made: .*learning rate"),
        (lambda p: "sgd", "str is no torch.optim.Optimizer"),
        (lambda p: torch.optim.SGD([torch.ones(2)]), "parameters that are not those"),
        (lambda p: torch.optim.Muon(p), "cannot be made: .*2D"),
    ],
)
def test_what_cannot_be_made_is_refused(make: Make, words: str):
    with pytest.raises(SettingsError, match=words):
        prepared(make)


def test_a_step_that_cannot_be_repeated_is_refused():
    with pytest.raises(SettingsError, match="draws at random must do with one evaluation"):
        follow(prepared(Shaken), start(), 1)


def test_a_state_of_another_optimiser_is_refused():
    first = prepared(MAKERS["groups"])
    theta = follow(first, start(), 1)
    with pytest.raises(SettingsError, match="remembers another optimiser than this"):
        prepared(MAKERS["SGD"]).load(first.state(), theta)


def test_what_no_checkpoint_can_hold_is_refused():
    class Odd(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            self.state[self.param_groups[0]["params"][0]]["odd"] = object()

    optimizer = prepared(lambda p: Odd(p, lr=0.1))
    follow(optimizer, start(), 1)
    with pytest.raises(SettingsError, match="remembers a object, which no checkpoint can hold"):
        optimizer.state()


# --- in runs --------------------------------------------------------------------------------------


def momentum(params: list[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=1e-3, momentum=0.9)


class StopAt(Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def recorded(self, record: Any) -> None:
        if record.step == self.step:
            os.kill(os.getpid(), signal.SIGINT)


def test_adam_of_torch_is_adam(runs: Path):
    flags = {**SMALL, "lbfgs": 0, "dtype": "float64", "figures": False}
    own = pinnsig.solve("burgers", runs=runs, **flags)
    other = pinnsig.solve("burgers", runs=runs, optimizer=torch.optim.Adam, **flags)
    assert other.best_loss == pytest.approx(own.best_loss, rel=1e-9)
    config = json.loads((other.path / "config.json").read_text(encoding="utf-8"))
    assert config["optimizer"] == "torch.Adam"
    assert other.phases[0]["name"] == "torch.Adam"


PHASES = [
    {"optimizer": torch.optim.AdamW, "iterations": 5, "weight_decay": 0.1, "betas": [0.8, 0.9],
     "schedule": "cosine"},
    {"optimizer": momentum, "iterations": 5, "points": "rad", "every": 2},
    "torch.LBFGS:4,max_iter=3,line_search_fn=strong_wolfe,dtype=float64",
]  # fmt: skip


@pytest.mark.parametrize("step", [3, 5, 8, 12])
def test_a_run_goes_on_bit_for_bit(runs: Path, step: int):
    flags = {**COUNTS, "phases": PHASES, "figures": False}
    straight = pinnsig.solve("burgers", runs=runs, **flags)
    assert straight.iterations == 14
    stopped = pinnsig.solve("burgers", runs=runs, callbacks=[StopAt(step)], **flags)
    with pytest.raises(SettingsError, match="python.momentum was made by a function"):
        pinnsig.resume(stopped.path)
    resumed = pinnsig.resume(stopped.path, optimizers=momentum, figures=False)
    assert_same(straight.path, resumed.path)


def test_functions_of_one_name_are_told_apart(runs: Path):
    first = lambda p: torch.optim.SGD(p, lr=1e-3)  # noqa: E731
    second = lambda p: torch.optim.SGD(p, lr=1e-4)  # noqa: E731
    phases = [{"optimizer": f, "iterations": 2} for f in (first, second, first)]
    result = pinnsig.solve("burgers", runs=runs, phases=phases, figures=False, **COUNTS)
    names = ["python.lambda", "python.lambda-2", "python.lambda"]
    assert [phase["name"] for phase in result.phases] == names


def test_a_text_is_enough_on_the_command_line(cli: Cli, runs: Path):
    flags = [t for name, value in COUNTS.items() for t in (f"--{name}", str(value))]
    flags += ["--phase", "torch.SGD:3,lr=1e-3,momentum=0.9,nesterov=true", "--no-figures", "--json"]
    result = cli("solve", "burgers", *flags, "--runs", runs).json()
    assert [p["name"] for p in result["phases"]] == ["torch.SGD"]
    more = cli("resume", result["run"], "--phase", "torch.Adagrad:2", "--json").json()
    assert [p["iterations"] for p in more["phases"]] == [3, 2]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("torch.AdmW:3", "optimizer = 'torch.AdmW' is unknown: did you mean torch.AdamW"),
        ("torch.SGD:3,momentun=0.9", "torch.SGD: key 'momentun' is unknown: did you mean momentum"),
        ("torch.SGD:3,momentum=high", "torch.SGD: momentum = 'high' must be a number"),
        ("torch.SGD:3,nesterov=2", "nesterov = 2 must be true or false"),
        ("torch.AdamW:3,betas=0.9", "betas = 0.9 must be a list of numbers"),
        ({"optimizer": momentum, "iterations": 3}, "a function can only be given to solve"),
    ],
)
def test_a_wrong_phase_is_named(wrong: Any, words: str):
    with pytest.raises(SettingsError, match=words):
        parse_phase(wrong)


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ({"optimizer": momentum, "lr": 1e-3}, "python.momentum: lr is for the function itself"),
        ({"optimizer": momentum, "nesterov": True}, "nesterov is for the function itself to say"),
        ({"optimizer": "torch.SGD", "lr": 1e-3, "nesterov": True}, "cannot be made: Nesterov"),
    ],
)
def test_what_cannot_be_is_refused_before_there_is_a_run(runs: Path, phase: Any, words: str):
    with pytest.raises(SettingsError, match=words):
        pinnsig.solve("burgers", runs=runs, phases=[{**phase, "iterations": 3}], **COUNTS)
    assert not runs.exists()


def test_an_optimiser_and_phases_cannot_both_be_given(runs: Path):
    with pytest.raises(SettingsError, match="optimizer = torch.SGD and phases cannot both"):
        pinnsig.solve("burgers", runs=runs, optimizer=torch.optim.SGD, phases=["adam:2"], **COUNTS)
