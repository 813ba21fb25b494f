"""Dense quasi-Newton methods, against textbook BFGS and a plain transcription of the formulas."""

import math

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, rosen, rosen_der

from pinnsig.core.errors import SettingsError
from pinnsig.core.memory import in_words
from pinnsig.optim import (
    BFGS,
    CONVERGED_GRADIENT,
    LIMIT,
    LINE_SEARCH_FAILED,
    SSBFGS,
    Layout,
    Measured,
    SSBroyden,
    drive,
    symmetric,
)
from pinnsig.optim.dense import DenseInverse
from pinnsig.optim.packed import find_kernel
from pinnsig.optim.symmetric import PackedMatrix, RankTwo, SquareMatrix, make_matrix

KINDS = [BFGS, SSBFGS, SSBroyden]
needs_compiler = pytest.mark.skipif(find_kernel(torch.float64) is None, reason="no C compiler")
WAYS = [pytest.param("C", marks=needs_compiler), "torch"]


def a_few(examples):
    shared = [HealthCheck.function_scoped_fixture]  # one way of storing H for all examples
    return settings(max_examples=examples, deadline=None, suppress_health_check=shared)


@pytest.fixture
def way(request, monkeypatch):
    """How H is stored and worked on."""
    if request.param == "torch":
        monkeypatch.setattr(symmetric, "find_kernel", lambda dtype: None)
    return request.param


class Function:
    """A function of a flat vector that answers requests for gradients and counts them."""

    def __init__(self, start, value, most=math.inf, dtype=torch.float64):
        self.most = most
        self.theta = torch.as_tensor(start, dtype=dtype).clone()
        self.value = value
        self.calls = 0

    def __call__(self, request):
        if self.calls >= self.most:
            return None
        self.calls += 1
        x = self.theta.clone().requires_grad_()
        loss = self.value(x)
        (gradient,) = torch.autograd.grad(loss, x)
        slope = 0.0 if request.along is None else float(request.along @ gradient)
        return Measured(float(loss.detach()), slope, gradient)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def quadratic(scales):
    return lambda x: 0.5 * (scales * x * x).sum()


def run(function, iterations, optimizer):
    losses, stop = [], None
    for _ in range(iterations):
        step = drive(optimizer.step(function.theta), function)
        stop = step.stop
        if stop:
            break
        losses.append(step.loss)
    return losses, stop


# --- formulas, written down a second time -------------------------------------------------------


def textbook_bfgs(H, s, y, b):
    """Nocedal and Wright (2006), equation 6.17."""
    rho = 1 / (y @ s)
    left = np.eye(len(s)) - rho * np.outer(s, y)
    return left @ H @ left.T + rho * np.outer(s, s)


def textbook_ssbfgs(H, s, y, b):
    return textbook_bfgs(H / min(1, 1 / b), s, y, b)


def ssbroyden(H, s, y, b):
    rho = 1 / (y @ s)
    Hy = H @ y
    h = rho * (y @ Hy)
    a = b * h - 1
    c = np.sqrt(abs(a) / (1 + abs(a)))
    r = min(1, h * (1 - c))
    th_minus = (r - 1) / a
    th = max(th_minus, min(1 / r, (1 - b) / b))
    S = 1 + th * a
    t1 = min(1, 1 / b)
    q = abs(S) ** (1 / (1 - len(s)))
    tau = min(t1 * q, S) if th <= 0 else t1 * min(q, 1 / th)
    phi = (1 - th) / (1 + a * th)
    v = rho * s - Hy / (y @ Hy)
    inner = H - np.outer(Hy, Hy) / (y @ Hy) + phi * (y @ Hy) * np.outer(v, v)
    return inner / tau + rho * np.outer(s, s)


UPDATES = {BFGS: textbook_bfgs, SSBFGS: textbook_ssbfgs, SSBroyden: ssbroyden}


def square(inverse):
    """H in full."""
    triangle = inverse.state()["triangle"].numpy()
    n = inverse.product.numel()
    H = np.zeros((n, n))
    H[np.tril_indices(n)] = triangle
    return H + np.tril(H, -1).T


def spd(rng, n):
    turn, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return turn @ np.diag(10 ** rng.uniform(-2, 2, n)) @ turn.T


def learn(inverse, rng, n, pairs, length):
    """Steps of a convex quadratic, each a random multiple of the exact one; pairs with b."""
    A, g = spd(rng, n), rng.normal(size=n)
    inverse.measure(torch.from_numpy(g))
    found = []
    for _ in range(pairs):
        direction, slope = inverse.direction(torch.from_numpy(g))
        d = direction.numpy().copy()
        assert slope == pytest.approx(g @ d, rel=1e-9)
        t = rng.uniform(*length) * -slope / (d @ A @ d)
        s, y = t * d, A @ (t * d)
        b = -t * (s @ g) / (y @ s)
        g = g + y
        if g @ g < 1e-16:  # solved: the next pair would be rounding alone
            break
        assert inverse.add(*map(torch.from_numpy, (s, y, g)), t)
        found.append((s, y, b))
    return g, found


@pytest.mark.parametrize("way", WAYS, indirect=True)
@pytest.mark.parametrize("kind", KINDS)
@a_few(25)
@given(st.integers(2, 20), st.integers(1, 8), st.integers(0, 10_000))
def test_h_and_direction_follow_the_formulas(kind, way, n, pairs, seed):
    rng = np.random.default_rng(seed)
    inverse = DenseInverse(kind.rule, torch.zeros(n, dtype=torch.float64))
    g, found = learn(inverse, rng, n, min(pairs, n), (0.3, 1.7))
    s, y, _ = found[0]
    gamma = (y @ s) / (y @ y)
    H = gamma * np.eye(n)
    for i, (s, y, b) in enumerate(found):
        H = UPDATES[kind](H, s, y, (s @ s) / gamma / (y @ s) if i == 0 else b)
        np.testing.assert_allclose(H @ y, s, rtol=0, atol=1e-8 * np.abs(s).max())  # secant
    np.testing.assert_allclose(square(inverse), H, rtol=0, atol=1e-8 * np.abs(H).max())
    direction, _ = inverse.direction(torch.from_numpy(g))
    np.testing.assert_allclose(direction, -H @ g, rtol=0, atol=1e-8 * np.abs(H @ g).max())


@pytest.mark.parametrize("way", WAYS, indirect=True)
@pytest.mark.parametrize("kind", KINDS)
@a_few(15)
@given(st.integers(1, 20), st.integers(0, 10_000))
def test_h_stays_positive_on_convex_quadratics(kind, way, n, seed):
    rng = np.random.default_rng(seed)
    inverse = DenseInverse(kind.rule, torch.zeros(n, dtype=torch.float64))
    _, found = learn(inverse, rng, n, 3 * n, (0.5, 1.5))
    assert len(inverse) == len(found)
    assert np.linalg.eigvalsh(square(inverse)).min() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_h_stays_positive_over_thousands_of_updates(kind):
    torch.manual_seed(0)
    scales = torch.logspace(-2, 2, 20, dtype=torch.float64)
    inverse = DenseInverse(kind.rule, torch.zeros(20, dtype=torch.float64))
    g = torch.randn(20, dtype=torch.float64)
    inverse.measure(g)
    for _ in range(2000):
        direction, slope = inverse.direction(g)
        t = 0.8 * -slope / float(direction @ (scales * direction))
        y = scales * (t * direction)
        assert slope < 0
        assert inverse.add(t * direction, y, g + y, t)
        g = torch.randn(20, dtype=torch.float64)  # as at other points
        inverse.measure(g)
    assert len(inverse) == 2000
    assert np.linalg.eigvalsh(square(inverse)).min() > 0


@pytest.mark.parametrize("kind", KINDS)
@given(st.floats(-60, 60), st.floats(0, 60), st.integers(1, 10_000))
def test_factors_are_finite_and_keep_h_positive(kind, b, a, n):
    b, a = 10**b, 10**a - 1
    tau, phi = kind.rule(b, (1 + a) / b, n)
    assert 0 < tau < math.inf
    assert math.isfinite(phi)
    assert 1 + a * phi > 0  # phi > -1 / a: H stays positive (Nocedal and Wright 2006, section 6.3)


# --- storage ------------------------------------------------------------------------------------


def updates(rng, n, count, dtype=torch.float64):
    for _ in range(count):
        z = torch.from_numpy(rng.normal(size=(2, n)) / n).to(dtype)
        signs = torch.from_numpy(rng.choice([-1.0, 1.0], size=(2, 1))).to(dtype)
        g = torch.from_numpy(rng.normal(size=n)).to(dtype)
        yield RankTwo(float(rng.uniform(0.9, 1.2)), z, signs * z), g


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@a_few(25)
@given(st.integers(1, 70), st.integers(0, 10_000))
def test_packed_equals_square(dtype, n, seed):
    kernel = find_kernel(dtype)
    assert kernel is not None
    like = torch.zeros(n, dtype=dtype)
    packed, full = PackedMatrix(like, kernel), SquareMatrix(like)
    expected = 1.5 * np.eye(n)
    packed.scaled_identity(1.5)
    full.scaled_identity(1.5)
    digits = 1e-12 if dtype == torch.float64 else 1e-4
    for update, g in updates(np.random.default_rng(seed), n, 5, dtype):
        z, u = update.vectors.double().numpy(), update.signed.double().numpy()
        expected = update.scale * expected + z.T @ u
        one, two = packed.update_and_multiply(update, g), full.update_and_multiply(update, g)
        for product in (one, two):
            np.testing.assert_allclose(product, expected @ g.double().numpy(), atol=digits)
    lower = expected[np.tril_indices(n)]
    for matrix in (packed, full):
        np.testing.assert_allclose(matrix.triangle(), lower, atol=digits)
    assert torch.equal(full.values, full.values.T)
    g = torch.ones_like(like)
    one, two = packed.update_and_multiply(None, g), full.update_and_multiply(None, g)
    np.testing.assert_allclose(one, two, atol=digits)


@pytest.mark.parametrize("way", WAYS, indirect=True)
@pytest.mark.parametrize("n", [1, 7, 8, 50])
def test_a_triangle_gives_the_matrix_back_bit_for_bit(way, n):
    like = torch.zeros(n, dtype=torch.float64)
    one, two = make_matrix(like), make_matrix(like)
    one.scaled_identity(2.0)
    rng = np.random.default_rng(0)
    for update, g in updates(rng, n, 5):
        one.update_and_multiply(update, g)
    two.set_triangle(one.triangle())
    for update, g in updates(rng, n, 5):
        assert torch.equal(one.update_and_multiply(update, g), two.update_and_multiply(update, g))
    assert torch.equal(one.triangle(), two.triangle())


@needs_compiler
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_share_the_rows(monkeypatch, threads):
    monkeypatch.setattr(symmetric, "SMALLEST_SHARED", 1)
    found = []
    for count in (1, threads, threads):
        torch.set_num_threads(count)
        matrix = make_matrix(torch.zeros(101, dtype=torch.float64))
        matrix.scaled_identity(1.0)
        products = [matrix.update_and_multiply(u, g)
                    for u, g in updates(np.random.default_rng(0), 101, 4)]  # fmt: skip
        found.append((matrix.triangle(), torch.stack(products)))
    (triangle, products), (shared, by_many), (again, by_many_again) = found
    assert torch.equal(triangle, shared)  # an entry is one thread's, whoever that is
    torch.testing.assert_close(products, by_many, rtol=1e-12, atol=1e-13)
    assert torch.equal(by_many, by_many_again)
    assert torch.equal(shared, again)


# --- optimisers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_rosenbrock_takes_about_as_many_evaluations_as_scipys_bfgs(kind):
    function = Function([-1.2, 1.0], rosenbrock)
    losses, stop = run(function, 200, kind(gradient_tolerance=1e-8))
    assert stop == CONVERGED_GRADIENT
    assert function.theta.tolist() == pytest.approx([1.0, 1.0], abs=1e-8)
    scipy = minimize(rosen, [-1.2, 1.0], jac=rosen_der, method="BFGS", options={"gtol": 1e-8})
    assert function.calls <= 2 * scipy.nfev
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("kind", KINDS)
def test_rosenbrock_in_a_hundred_dimensions(kind):
    # the chained function has a second minimum near 4; whatever is found is stationary
    function = Function([-1.2, 1.0] * 50, rosenbrock)
    _, stop = run(function, 2500, kind(gradient_tolerance=1e-7))
    assert stop == CONVERGED_GRADIENT


@pytest.mark.parametrize("kind", KINDS)
def test_an_ill_conditioned_quadratic_is_solved(kind):
    scales = torch.logspace(0, 6, 20, dtype=torch.float64)
    function = Function([1.0] * 20, quadratic(scales))
    losses, _ = run(function, 300, kind())
    assert min(losses) < 1e-20


def test_float32_works():
    scales = torch.logspace(0, 2, 10)
    function = Function([1.0] * 10, quadratic(scales), dtype=torch.float32)
    losses, _ = run(function, 100, SSBroyden())
    assert min(losses) < 1e-8


def test_one_parameter_is_enough():
    function = Function([3.0], lambda x: (x**4 + x**2).sum())
    losses, _ = run(function, 40, SSBroyden())
    assert min(losses) < 1e-15


@pytest.mark.parametrize("way", WAYS, indirect=True)
@pytest.mark.parametrize("saved", [0, 1, 2, 9])
def test_a_state_goes_on_bit_for_bit(way, saved):
    start = [-1.2, 1.0] * 5
    straight, first, second = (SSBroyden() for _ in range(3))
    one, two = Function(start, rosenbrock), Function(start, rosenbrock)
    expected, _ = run(one, 25, straight)
    head, _ = run(two, saved, first)
    state = first.state()
    more, _ = run(Function(two.theta, rosenbrock), 3, first)  # saving changes nothing
    second.load(state, two.theta)
    tail, _ = run(two, 25 - saved, second)
    assert head + tail == expected
    assert more == expected[saved : saved + 3]
    assert torch.equal(one.theta, two.theta)
    assert one.calls == two.calls


def test_a_line_search_cut_by_a_limit_changes_nothing():
    start = [-1.2, 1.0] * 5
    straight = Function(start, rosenbrock)
    expected, _ = run(straight, 12, SSBroyden())
    found, optimizer = Function(start, rosenbrock), SSBroyden()
    losses = []
    while len(losses) < 12:
        found.most = found.calls + len(losses) % 3
        step = drive(optimizer.step(found.theta), found)
        if step.stop == LIMIT:
            restored = SSBroyden()
            restored.load(optimizer.state(), found.theta)
            optimizer, found.most = restored, math.inf
            step = drive(optimizer.step(found.theta), found)
        losses.append(step.loss)
    assert losses == expected
    assert torch.equal(found.theta, straight.theta)


def test_h_is_kept_at_new_points_and_handed_to_the_next_phase():
    scales = torch.logspace(0, 4, 10, dtype=torch.float64)
    function, optimizer = Function([1.0] * 10, quadratic(scales)), SSBroyden()
    run(function, 80, optimizer)
    H, solved = square(optimizer.curvature), function.theta
    optimizer.renew()
    following = SSBroyden()
    following.inherit(optimizer, function.theta)
    for one in (optimizer, following):
        # another minimum with the same curvature
        moved = Function(function.theta, lambda x: quadratic(scales)(x - 3))
        np.testing.assert_array_equal(square(one.curvature), H)
        losses, _ = run(moved, 8, one)
        fresh, _ = run(Function(solved, moved.value), 8, SSBroyden())
        assert losses[-1] < 1e-2 * fresh[-1]


def test_pairs_without_positive_curvature_are_left_out():
    inverse = DenseInverse(SSBroyden.rule, torch.zeros(2, dtype=torch.float64))
    s, g = torch.eye(2, dtype=torch.float64)
    inverse.measure(g)
    assert not inverse.add(s, -s, g, 1.0)
    assert len(inverse) == 0
    assert inverse.add(s, 2 * s, g, 1.0)
    H = square(inverse)
    assert not inverse.add(s, -s, s + g, 1.0)
    assert len(inverse) == 1
    np.testing.assert_array_equal(square(inverse), H)
    direction, slope = inverse.direction(s + g)
    np.testing.assert_allclose(direction, -H @ np.ones(2))
    assert slope == pytest.approx(-np.ones(2) @ H @ np.ones(2))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_is_forgotten(bad):
    inverse = DenseInverse(SSBroyden.rule, torch.zeros(2, dtype=torch.float64))
    s, g = torch.eye(2, dtype=torch.float64)
    inverse.measure(g)
    assert inverse.add(s, 2 * s, g, 1.0)
    assert not inverse.add(s, 2 * s, torch.full_like(g, bad), 1.0)
    assert len(inverse) == 0


def test_a_failed_step_leaves_the_parameters_where_they_were():
    calls = 0

    def value(x):
        nonlocal calls
        calls += 1
        return x.square().sum() if calls == 1 else x.sum() * float("nan")

    function = Function([2.0], value)
    _, stop = run(function, 5, SSBroyden())
    assert stop == LINE_SEARCH_FAILED
    assert function.theta.tolist() == [2.0]


# --- before training ----------------------------------------------------------------------------


def layout(parameters):
    return Layout((torch.Size([parameters]),), 100, torch.float64, torch.device("cpu"))


@pytest.mark.parametrize("way", WAYS, indirect=True)
def test_too_large_a_matrix_is_refused_with_its_bytes(way):
    with pytest.raises(
        SettingsError, match=r"ssbroyden: .* 10,000,000 parameters .*lm .*lbfgs"
    ) as e:
        SSBroyden().prepare(layout(10**7))
    held = 8 * 10**14 if way == "torch" else 8 * 32 * (10**7 // 8) * (10**7 // 8 + 1)
    assert f"({in_words(held)})" in str(e.value)


def test_the_memory_that_is_free_decides(monkeypatch):
    monkeypatch.setattr("pinnsig.core.memory.available_memory", lambda device: 10**8)
    SSBroyden().prepare(layout(2000))
    with pytest.raises(SettingsError, match="100 MB can be had"):
        SSBroyden().prepare(layout(4000))
    monkeypatch.setattr("pinnsig.core.memory.available_memory", lambda device: None)
    notice = SSBroyden().prepare(layout(20_000))
    assert notice is not None
    assert "GB" in notice


def test_small_networks_need_no_word(monkeypatch):
    monkeypatch.setattr("pinnsig.optim.broyden.compiled", lambda dtype: True)
    assert SSBroyden().prepare(layout(2_000)) is None


def test_a_missing_compiler_is_said(monkeypatch):
    monkeypatch.setattr("pinnsig.optim.broyden.compiled", lambda dtype: False)
    notice = BFGS().prepare(layout(2_000))
    assert notice is not None
    assert notice.startswith("bfgs: without a C compiler")


@pytest.mark.gpu
def test_cuda_follows_the_cpu():
    like = torch.zeros(333, dtype=torch.float64)
    one, two = make_matrix(like), make_matrix(like.cuda())
    one.scaled_identity(1.0)
    two.scaled_identity(1.0)
    for update, g in updates(np.random.default_rng(0), 333, 20):
        moved = RankTwo(update.scale, update.vectors.cuda(), update.signed.cuda())
        expected = one.update_and_multiply(update, g)
        torch.testing.assert_close(two.update_and_multiply(moved, g.cuda()).cpu(), expected)
    assert isinstance(two, SquareMatrix)
    assert torch.equal(two.values, two.values.T)
