"""First-order methods and learning-rate schedules, against torch's own."""

import math

import pytest
import torch

from pinnsig.core.errors import SettingsError
from pinnsig.optim import LIMIT, OPTIMIZERS, Adam, AdamW, Measured, RAdam, Schedule, drive

PAIRS = [
    (lambda: Adam(0.05), lambda p: torch.optim.Adam(p, lr=0.05)),
    (lambda: Adam(0.05, beta1=0.8, beta2=0.95, epsilon=1e-3),
     lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-3)),
    (lambda: AdamW(0.05, weight_decay=0.1), lambda p: torch.optim.AdamW(p, 0.05, weight_decay=0.1)),
    (lambda: RAdam(0.05), lambda p: torch.optim.RAdam(p, lr=0.05)),
]  # fmt: skip
SCALES = torch.tensor([1.0, 10.0, 0.1], dtype=torch.float64)


def bowl(theta):
    return lambda request: Measured(float((SCALES * theta**2).sum()), 0.0, 2 * SCALES * theta)


def step(optimizer, theta):
    return drive(optimizer.step(theta), bowl(theta))


@pytest.mark.parametrize(("mine", "theirs"), PAIRS)
def test_it_follows_torch_step_by_step(mine, theirs):
    theta = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    reference = theta.clone().requires_grad_()
    optimizer, torchs = mine(), theirs([reference])
    for _ in range(50):
        step(optimizer, theta)
        torchs.zero_grad()
        (SCALES * reference**2).sum().backward()
        torchs.step()
        torch.testing.assert_close(theta, reference.detach(), rtol=1e-11, atol=1e-12)


def test_clipping_follows_torch():
    theta = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    reference = theta.clone().requires_grad_()
    optimizer, torchs = Adam(0.05, clip=0.5), torch.optim.Adam([reference], lr=0.05)
    for _ in range(50):
        step(optimizer, theta)
        torchs.zero_grad()
        (SCALES * reference**2).sum().backward()
        torch.nn.utils.clip_grad_norm_([reference], 0.5)
        torchs.step()
    torch.testing.assert_close(theta, reference.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("cosine", lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 19, eta_min=0.02)),
        ("exponential", lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.02 ** (1 / 19))),
        ("constant", lambda o: torch.optim.lr_scheduler.ConstantLR(o, 1.0)),
    ],
)
def test_schedules_follow_torch(name, theirs):
    schedule = Schedule(name, final=0.02)
    torchs = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    steps = theirs(torchs)
    for iteration in range(1, 21):
        expected = torchs.param_groups[0]["lr"]
        assert schedule.factor(iteration, 20) == pytest.approx(expected, rel=1e-12)
        torchs.step()
        steps.step()


def test_a_warm_up_rises_to_the_whole_rate_and_the_curve_follows():
    schedule = Schedule("cosine", final=0.1, warmup=4)
    found = [schedule.factor(i, 14) for i in range(1, 15)]
    assert found[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert found[4:] == sorted(found[4:], reverse=True)
    assert found[-1] == pytest.approx(0.1)


@pytest.mark.parametrize("kind", [Adam, AdamW, RAdam])
def test_a_loss_that_is_not_finite_moves_nothing(kind):
    theta = torch.ones(2)
    done = drive(kind(0.1).step(theta), lambda request: Measured(math.nan, 0.0, torch.ones(2)))
    assert math.isnan(done.loss)
    assert theta.tolist() == [1.0, 1.0]


def test_without_leave_nothing_is_evaluated():
    theta = torch.ones(2)
    assert drive(Adam(0.1).step(theta), lambda request: None).stop == LIMIT
    assert theta.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("kind", [Adam, AdamW, RAdam])
def test_a_state_goes_on_bit_for_bit(kind):
    straight, first, second = kind(0.05), kind(0.05), kind(0.05)
    one = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    two = one.clone()
    for _ in range(10):
        step(straight, one)
    for _ in range(4):
        step(first, two)
    second.load(first.state(), two)
    for _ in range(6):
        step(second, two)
    assert torch.equal(one, two)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_bad_learning_rates_are_refused(rate):
    with pytest.raises(SettingsError, match="learning rate"):
        Adam(rate)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"beta1": 1.0}, "beta1"), ({"epsilon": -1.0}, "epsilon"), ({"clip": 0.0}, "clip")],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(SettingsError, match=words):
        Adam(0.1, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"name": "cosin"}, "cosin"), ({"final": 0.0}, "final"), ({"warmup": -1}, "warmup")],
)
def test_bad_schedules_are_refused(options, words):
    with pytest.raises(SettingsError, match=words):
        Schedule(**options)


def test_optimizers_are_known_by_their_names():
    first, quasi_newton = ["adam", "adamw", "radam", "muon"], ["lbfgs", "bfgs", "ssbfgs"]
    broyden, gauss_newton = ["ssbroyden"], ["lm", "gncg"]
    assert list(OPTIMIZERS) == [*first, *quasi_newton, *broyden, *gauss_newton]
