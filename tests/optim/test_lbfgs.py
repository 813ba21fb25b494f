import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, rosen, rosen_der

from pinnsig.core.errors import SettingsError
from pinnsig.optim import CONVERGED_GRADIENT, LBFGS, LIMIT, LINE_SEARCH_FAILED, Measured, drive
from pinnsig.optim.memory import Memory


class Function:
    """A function of a flat vector that answers requests for gradients and counts them."""

    def __init__(self, start, value, most=math.inf):
        self.most = most
        self.theta = torch.tensor(start, dtype=torch.float64)
        self.value = value
        self.calls = 0

    def __call__(self, request):
        if self.calls >= self.most:
            return None
        self.calls += 1
        direction = request.along
        x = self.theta.clone().requires_grad_()
        loss = self.value(x)
        (gradient,) = torch.autograd.grad(loss, x)
        slope = 0.0 if direction is None else float(direction @ gradient)
        return Measured(float(loss.detach()), slope, gradient)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def run(function, iterations, **options):
    optimizer = LBFGS(**options)
    losses, stop = [], None
    for _ in range(iterations):
        step = drive(optimizer.step(function.theta), function)
        stop = step.stop
        if stop:
            break
        losses.append(step.loss)
    return losses, stop


def test_rosenbrock_takes_no_more_evaluations_than_scipy():
    function = Function([-1.2, 1.0], rosenbrock)
    losses, stop = run(function, 200, gradient_tolerance=1e-8)
    assert stop == CONVERGED_GRADIENT
    assert function.theta.tolist() == pytest.approx([1.0, 1.0], abs=1e-8)
    scipy = minimize(rosen, [-1.2, 1.0], jac=rosen_der, method="L-BFGS-B",
                     options={"gtol": 1e-8, "ftol": 0, "maxcor": 50})  # fmt: skip
    assert function.calls <= 1.5 * scipy.nfev
    assert losses == sorted(losses, reverse=True)


def test_an_ill_conditioned_quadratic_is_solved():
    scales = torch.logspace(0, 6, 20, dtype=torch.float64)
    function = Function([1.0] * 20, lambda x: 0.5 * (scales * x * x).sum())
    losses, _ = run(function, 300)
    assert losses[-1] < 1e-20


def test_on_a_quadratic_it_finishes_in_as_many_steps_as_dimensions():
    # exact line searches would need n; inexact ones stay near it
    scales = torch.tensor([1.0, 10.0, 100.0], dtype=torch.float64)
    function = Function([1.0, 1.0, 1.0], lambda x: 0.5 * (scales * x * x).sum())
    losses, _ = run(function, 30, c2=0.1)
    assert losses[min(14, len(losses) - 1)] < 1e-12


def test_fault_l6_three_evaluations_allowed_are_three():
    function = Function([-1.2, 1.0], rosenbrock, most=3)
    optimizer, stop = LBFGS(), None
    while stop is None:
        stop = drive(optimizer.step(function.theta), function).stop
    assert function.calls == 3
    assert stop == LIMIT


def test_not_a_number_inside_the_line_search_is_turned_back_from():
    # log is NaN beyond x = 1, and the first steps overshoot
    function = Function([0.999], lambda x: -torch.log(1 - x).sum() + 1e4 * x.square().sum())
    losses, _ = run(function, 60)
    assert all(math.isfinite(loss) for loss in losses)
    assert abs(float(function.theta[0])) < 1e-3


def test_an_unbounded_line_still_goes_down():
    function = Function([1.0], lambda x: -x.sum())
    losses, _ = run(function, 3)
    assert losses[-1] < -1


def test_a_function_at_its_rounding_limit_stops_by_name():
    function = Function([1e-3], lambda x: 1.0 + 1e-30 * x.square().sum())
    _, stop = run(function, 50, gradient_tolerance=0.0)
    assert stop in (LINE_SEARCH_FAILED, CONVERGED_GRADIENT)


def test_a_failed_step_leaves_the_parameters_where_they_were():
    calls = 0

    def value(x):
        nonlocal calls
        calls += 1
        return x.square().sum() if calls == 1 else x.sum() * float("nan")

    function = Function([2.0], value)
    _, stop = run(function, 5)
    assert stop == LINE_SEARCH_FAILED
    assert function.theta.tolist() == [2.0]


@pytest.mark.parametrize(("dtype", "told"), [(torch.float32, 1), (torch.float64, 0)])
def test_a_line_search_that_is_kept_busy_in_float32_is_told_once(dtype, told):
    scales = torch.logspace(0, 3, 30, dtype=dtype)
    calls = itertools.count()

    def answer(request):
        """A quadratic that two of three trials cannot see."""
        gradient = scales * theta
        hidden = request.along is not None and next(calls) % 3 < 2
        loss = math.inf if hidden else float(0.5 * gradient @ theta)
        slope = 0.0 if request.along is None else float(gradient @ request.along)
        return Measured(loss, slope, gradient)

    theta, optimizer, notices = torch.ones(30, dtype=dtype), LBFGS(gradient_tolerance=0.0), []
    for _ in range(60):
        step = drive(optimizer.step(theta), answer)
        assert step.stop is None
        notices += [step.notice] if step.notice else []
    assert len(notices) == told
    assert all("float32" in notice and "dtype=float64" in notice for notice in notices)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 7), st.integers(0, 10_000))
def test_compact_form_equals_the_two_loop_recursion(pairs, seed):
    rng = np.random.default_rng(seed)
    n, size = 9, 4
    spd = np.diag(rng.uniform(0.5, 3, n))
    memory = Memory(size, torch.zeros(n, dtype=torch.float64))
    kept, g = [], np.zeros(n)
    for _ in range(pairs):
        s, g = rng.normal(size=(2, n))
        pair, y, gradient = map(torch.from_numpy, (s, spd @ s, g))
        assert memory.add(pair, y, gradient)
        kept = [*kept, (s, spd @ s)][-size:]
    q, alphas = g.copy(), []
    for s, y in reversed(kept):
        alphas.append((s @ q) / (y @ s))
        q -= alphas[-1] * y
    s, y = kept[-1]
    r = (s @ y) / (y @ y) * q
    for (s, y), alpha in zip(kept, reversed(alphas), strict=True):
        r += s * (alpha - (y @ r) / (y @ s))
    direction, slope = memory.direction(torch.from_numpy(g))
    np.testing.assert_allclose(direction.numpy(), -r, rtol=1e-9)
    assert slope == pytest.approx(-r @ g, rel=1e-9)


def test_pairs_without_positive_curvature_are_left_out():
    memory = Memory(3, torch.zeros(2, dtype=torch.float64))
    s = torch.tensor([1.0, 0.0], dtype=torch.float64)
    assert not memory.add(s, -s, s)
    assert not memory.add(s, torch.zeros_like(s), s)
    assert len(memory) == 0


@pytest.mark.parametrize("bad", [{"history": 0}, {"c1": 0.9, "c2": 0.1}, {"trials": 0}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(SettingsError):
        LBFGS(**bad)
