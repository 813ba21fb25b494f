"""Muon, against a plain implementation matrix by matrix, and by what it must not depend on."""

import math
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import pinnsig
from pinnsig import Callback
from pinnsig.core.errors import SettingsError
from pinnsig.optim import LIMIT, Adam, Layout, Measured, Muon, drive
from tests.run.test_resume import COUNTS, assert_same

# a network's: weights and biases in turn; layers that are alike but not next to each other
NETWORK = [(9, 2), (9,), (9, 9), (9,), (9, 9), (9,), (9, 9), (9,), (12, 9), (12,), (9, 12), (9,),
           (9, 9), (9,), (1, 9), (1,), ()]  # fmt: skip


def layout(shapes, dtype=torch.float64) -> Layout:
    return Layout(tuple(torch.Size(s) for s in shapes), 10, dtype, torch.device("cpu"))


def prepared(shapes, lr: float = 0.02, dtype=torch.float64, **options) -> Muon:
    optimizer = Muon(lr, **options)
    optimizer.prepare(layout(shapes, dtype))
    return optimizer


def normals(count: int, seed: int = 0, dtype=torch.float64) -> Tensor:
    return torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def size(shapes) -> int:
    return sum(math.prod(shape) for shape in shapes)


def slopes(theta: Tensor) -> Tensor:
    """What stands for a gradient at theta."""
    scales = torch.linspace(0.5, 2.0, len(theta), dtype=theta.dtype)
    return scales * theta + torch.sin(theta.roll(1)) * 0.3


def bowl(theta: Tensor):
    """Answers requests at theta."""

    def answer(request: object) -> Measured:
        return Measured(float(theta @ theta), 0.0, slopes(theta))

    return answer


def follow(optimizer: Muon | Adam, theta: Tensor, steps: int) -> Tensor:
    for _ in range(steps):
        drive(optimizer.step(theta), bowl(theta))
    return theta


class Plain:
    """Matrix by matrix in numpy, through singular values instead of products of matrices."""

    def __init__(self, shapes, lr=0.02, momentum=0.95, smallest=8, beta1=0.9, beta2=0.999):
        self.shapes, self.lr, self.momentum, self.smallest = shapes, lr, momentum, smallest
        self.beta1, self.beta2 = beta1, beta2
        self.m = [np.zeros(s) for s in shapes]
        self.v = [np.zeros(s) for s in shapes]
        self.t = 0

    def step(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        self.t += 1
        moved, offset = [], 0
        for i, shape in enumerate(self.shapes):
            span = slice(offset, offset + math.prod(shape))
            offset = span.stop
            w, g = theta[span].reshape(shape), gradient[span].reshape(shape)
            step = self.matrix(i, g) if self.is_matrix(shape) else self.adam(i, g)
            moved.append((w - self.lr * step).reshape(-1))
        return np.concatenate(moved)

    def is_matrix(self, shape) -> bool:
        return len(shape) == 2 and min(shape) >= self.smallest

    def matrix(self, i: int, g: np.ndarray) -> np.ndarray:
        mu = self.momentum
        self.m[i] = mu * self.m[i] + (1 - mu) * g
        u, s, vt = np.linalg.svd(mu * self.m[i] + (1 - mu) * g, full_matrices=False)
        s = s / np.sqrt((s**2).sum())
        for _ in range(5):
            s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
        return 0.2 * math.sqrt(max(g.shape)) * (u * s) @ vt

    def adam(self, i: int, g: np.ndarray) -> np.ndarray:
        self.m[i] = self.beta1 * self.m[i] + (1 - self.beta1) * g
        self.v[i] = self.beta2 * self.v[i] + (1 - self.beta2) * g**2
        m, v = self.m[i] / (1 - self.beta1**self.t), self.v[i] / (1 - self.beta2**self.t)
        return m / (np.sqrt(v) + 1e-8)


@pytest.mark.parametrize("options", [{}, {"momentum": 0.8, "beta1": 0.7, "smallest": 2},
                                     {"smallest": 10}])  # fmt: skip
def test_it_follows_a_plain_implementation(options):
    theta, optimizer = normals(size(NETWORK)), prepared(NETWORK, **options)
    plain, expected = Plain(NETWORK, **options), theta.numpy().copy()
    for _ in range(30):
        expected = plain.step(expected, slopes(torch.from_numpy(expected)).numpy())
        follow(optimizer, theta, 1)
        np.testing.assert_allclose(theta.numpy(), expected, rtol=1e-9, atol=1e-11)


def test_float32_stays_with_float64():
    exact = follow(prepared(NETWORK), normals(size(NETWORK)), 30)
    rounded = follow(
        prepared(NETWORK, dtype=torch.float32), normals(size(NETWORK)).float(), 30
    )  # fmt: skip
    torch.testing.assert_close(rounded.double(), exact, rtol=1e-4, atol=1e-4)


def test_a_vector_that_is_a_row_of_others_is_moved_alone():
    several = normals(3 * size(NETWORK)).reshape(3, -1)
    others = several[[0, 2]].clone()
    expected = follow(prepared(NETWORK), several[1].clone(), 5)
    follow(prepared(NETWORK), several[1], 5)
    assert torch.equal(several[1], expected)
    assert torch.equal(several[[0, 2]], others)


def test_alike_layers_are_one_stack_and_a_view_of_any_vector():
    deep = [(64, 2), (64,), *[(64, 64), (64,)] * 49, (1, 64), (1,)]
    (stack,) = prepared(deep).stacks
    vectors = normals(2 * size(deep)).reshape(2, -1)
    first = 64 * 2 + 64
    last = size(deep) - 65 - 64 - 64 * 64
    views = stack.of(vectors[1])
    assert views.shape == (49, 64, 64)
    for i, offset in ((0, first), (48, last)):
        assert torch.equal(views[i].reshape(-1), vectors[1, offset : offset + 64 * 64])


def test_without_large_matrices_it_is_adam():
    optimizer = Muon(0.02, smallest=10_000, beta1=0.8)
    assert "all is left to Adam" in (optimizer.prepare(layout(NETWORK)) or "")
    mine = follow(optimizer, normals(size(NETWORK)), 30)
    adams = follow(Adam(0.02, beta1=0.8), normals(size(NETWORK)), 30)
    torch.testing.assert_close(mine, adams, rtol=1e-12, atol=1e-13)


def rotation(n: int, seed: int) -> Tensor:
    return torch.linalg.qr(normals(n * n, seed).reshape(n, n))[0]


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 12), st.integers(2, 12), st.integers(0, 10**6), st.floats(-30, 30))
def test_a_rotated_and_scaled_loss_gives_rotated_iterates(rows, columns, seed, exponent):
    """Of |A W B - C|^2, with W turned on both sides; the loss's unit is of no account."""
    a, b = normals(rows**2, seed).reshape(rows, -1), normals(columns**2, seed + 1)
    b, c = b.reshape(columns, -1), normals(rows * columns, seed + 2).reshape(rows, columns)
    u, v = rotation(rows, seed + 3), rotation(columns, seed + 4)

    def path(left: Tensor, right: Tensor, unit: float) -> Tensor:
        w = (left.T @ torch.ones_like(c) @ right.T).reshape(-1).clone()
        optimizer = prepared([c.shape], smallest=2, momentum=0.9)
        for _ in range(8):
            r = a @ left @ w.reshape(c.shape) @ right @ b - c
            g = 2 * unit * (left.T @ a.T @ r @ b.T @ right.T).reshape(-1)
            measured = Measured(unit * float((r**2).sum()), 0.0, g)
            drive(optimizer.step(w), lambda request, found=measured: found)
        return left @ w.reshape(c.shape) @ right

    straight = path(torch.eye(rows).double(), torch.eye(columns).double(), 1.0)
    torch.testing.assert_close(path(u, v, 10.0**exponent), straight, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shape", [(16, 16), (10, 24), (24, 10)])
def test_a_first_step_is_nearly_orthogonal_and_as_long_as_adams(shape):
    theta, gradient = torch.zeros(math.prod(shape)).double(), normals(math.prod(shape))
    drive(prepared([shape], lr=1.0).step(theta), lambda request: Measured(1.0, 0.0, gradient))
    values = torch.linalg.svdvals(theta.reshape(shape)) / (0.2 * math.sqrt(max(shape)))
    assert 0.5 < float(values.min()) <= float(values.max()) < 1.25
    assert float(theta @ gradient) < 0
    assert 0.15 < float(theta.square().mean().sqrt()) < 0.25


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_gradients_whose_squares_leave_float32_still_move_it(unit):
    gradient = normals(64, dtype=torch.float32)
    moved = []
    for scale in (1.0, unit):
        theta = torch.zeros(64)
        answer = Measured(1.0, 0.0, gradient * scale)
        drive(prepared([(8, 8)], dtype=torch.float32).step(theta), lambda request, a=answer: a)
        moved.append(theta)
    torch.testing.assert_close(moved[1], moved[0], rtol=1e-4, atol=1e-6)


def test_a_gradient_of_zero_moves_nothing():
    theta = normals(size(NETWORK))
    before, answer = theta.clone(), Measured(0.0, 0.0, torch.zeros_like(theta))
    drive(prepared(NETWORK).step(theta), lambda request: answer)
    assert torch.equal(theta, before)


def test_a_loss_that_is_not_finite_moves_nothing():
    theta = torch.ones(64)
    optimizer = prepared([(8, 8)], dtype=torch.float32)
    done = drive(optimizer.step(theta), lambda request: Measured(math.nan, 0.0, theta * math.nan))
    assert math.isnan(done.loss)
    assert theta.tolist() == [1.0] * 64
    assert drive(optimizer.step(theta), lambda request: None).stop == LIMIT


def test_clipping_is_of_no_account_to_matrices_and_of_account_to_momentum():
    free, clipped = (prepared([(8, 8)], clip=clip) for clip in (None, 1e-3))
    one, two = follow(free, normals(64), 1), follow(clipped, normals(64), 1)
    torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-13)
    assert float(clipped.state()["mean"].norm()) == pytest.approx(0.05 * 1e-3)


def test_a_state_goes_on_bit_for_bit_and_is_inherited():
    straight = follow(prepared(NETWORK), normals(size(NETWORK)), 10)
    first, theta = prepared(NETWORK), normals(size(NETWORK))
    follow(first, theta, 4)
    second, third = prepared(NETWORK), prepared(NETWORK)
    second.load(first.state(), theta)
    follow(second, theta, 3)
    third.inherit(second, theta)
    assert torch.equal(follow(third, theta, 3), straight)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"momentum": 1.0}, "momentum = 1.0"), ({"momentum": -0.1}, "momentum"),
     ({"smallest": 1}, "smallest = 1"), ({"beta2": 1.0}, "muon: beta2"), ({"lr": 0.0}, "rate = 0"),
     ({"clip": 0.0}, "muon: clip")],
)  # fmt: skip
def test_bad_options_are_refused(options, words):
    with pytest.raises(SettingsError, match=words):
        Muon(**{"lr": 0.1, **options})


def test_a_step_before_its_task_is_known_is_refused():
    with pytest.raises(RuntimeError, match="prepare"):
        drive(Muon(0.1).step(torch.ones(4)), lambda request: Measured(1.0, 0.0, torch.ones(4)))


class Stop(Callback):
    """Interrupts after so many iterations in all."""

    def __init__(self, step: int) -> None:
        self.after = step

    def recorded(self, record) -> None:
        if record.step == self.after:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("step", [3, 6, 9])
def test_a_run_is_resumed_bit_for_bit(tmp_path: Path, step: int):
    phases = ["muon:6,lr=3e-3,schedule=cosine,every=2,clip=1", "muon:6,dtype=float64,momentum=0.9"]
    flags: dict[str, Any] = {**COUNTS, "phases": phases, "checkpoint_every": 2, "figures": False}
    straight = pinnsig.solve("burgers", runs=tmp_path / "straight", **flags)
    stopped = pinnsig.solve("burgers", runs=tmp_path, callbacks=[Stop(step)], **flags)
    assert (stopped.stop, stopped.iterations) == ("interrupted", step)
    assert_same(straight.path, pinnsig.resume(stopped.path, figures=False).path)


def test_its_own_learning_rate_is_a_multiple_of_the_runs(tmp_path: Path):
    flags: dict[str, Any] = {**COUNTS, "figures": False}
    given = pinnsig.solve("burgers", runs=tmp_path, lr=1e-4, phases=["muon:4,lr=5e-3"], **flags)
    ruled = pinnsig.solve("burgers", runs=tmp_path, lr=1e-4, phases=["muon:4"], **flags)
    assert ruled.last_loss == pytest.approx(given.last_loss, rel=1e-12)
