import shutil
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from pinnsig.derivatives import Plan, Trace, output_jets, symbol_jets
from pinnsig.derivatives.compiled import Program, find_interpreter
from pinnsig.derivatives.steps import UntraceableError

N = 300  # two strips and a bit


@pytest.fixture(autouse=True)
def _compiler():
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler on this machine")


def columns(dtype=torch.float64, low=0.2, high=2.0):
    generator = torch.Generator().manual_seed(0)
    table = torch.rand(2, N, 2, generator=generator, dtype=torch.float64) * (high - low) + low
    x = torch.rand(N, generator=generator, dtype=torch.float64) + 0.5
    return table.to(dtype), x.to(dtype), torch.tensor(0.7, dtype=dtype)


def interpreter(table):
    found = find_interpreter(table.dtype)
    assert found is not None
    return found


def with_tensors(code, table, x, c, cotangents):
    table, c = table.clone().requires_grad_(), c.clone().requires_grad_()
    found = code(table[0, :, 0], table[1, :, 1], x, c)
    sources = [table, c]
    slopes = torch.autograd.grad(found, sources, cotangents, materialize_grads=True)
    return torch.stack(found).detach(), *slopes


def with_symbols(code, table, x, c, cotangents):
    c = c.clone().requires_grad_()
    trace = Trace(x)
    found = code(trace.leaf(0, 0), trace.leaf(1, 1), x, c)
    program = Program(trace, trace.close(found), table, interpreter(table))
    below, within = program.pullback(torch.stack(cotangents))
    slope = torch.zeros_like(c)
    if within:
        tensors, cotangents = zip(*within, strict=True)
        slope += torch.autograd.grad(tensors, c, cotangents, materialize_grads=True)[0]
    return program.values(), below, slope


CODES = {
    "sum": lambda u, v, x, c: u + v + x + c + 2,
    "differences": lambda u, v, x, c: (u - v) * (x - u) * (u - x) * (2 - u) * (c - u) * (u - c),
    "products": lambda u, v, x, c: u * v * x * 3 * c + 2 * (x * u) + c * v,
    "quotients": lambda u, v, x, c: u / v + x / u + u / x + 2 / u + u / 3 + c / u + u / c,
    "powers": lambda u, v, x, c: u**2 + u**3 + v**5 + u**-1 + v**-2 + u**0.5 + v**2.5 + u**1,
    "numpy": lambda u, v, x, c: np.float64(2.0) * u + u * np.float32(3.0),
    "signs": lambda u, v, x, c: -u + abs(v) - (+u),
    "functions": lambda u, v, x, c: (
        torch.sin(u) * torch.cos(v) + torch.exp(-u) * torch.log(v) + torch.sqrt(u) / torch.tanh(v)
        + torch.sinh(u) * torch.cosh(v) + torch.reciprocal(u) + torch.abs(-v) + torch.square(u)
        + torch.erf(u) * torch.erfc(v)
    ),
    "methods": lambda u, v, x, c: u.sin() + v.exp().log() + u.square() + v.tanh().abs(),
    "of a tensor": lambda u, v, x, c: (
        torch.mul(x, u) + torch.sub(x, v) + torch.div(x, torch.add(u, x))
    ),
    "choices": lambda u, v, x, c: (
        torch.where(x > 1, u * v, v**2) + torch.where(u > v, u, 0.5) * x
        + torch.where(u <= 1.0, c, v) + torch.where(x > u, x, c) + torch.where(v < 1.0, u, x)
    ),
    "larger and smaller": lambda u, v, x, c: (
        torch.maximum(u, v) * torch.minimum(x, v) + torch.max(u, x) * torch.min(v, u)
    ),
    "of two columns": lambda u, v, x, c: (
        torch.hypot(u - 1, v) * torch.atan2(x - 1, u) + torch.logaddexp(v, x) * torch.rsqrt(u)
    ),
    "in pieces": lambda u, v, x, c: (
        torch.floor(3 * u) * v + torch.ceil(2 * v) * u + torch.round(4 * u) * x + torch.trunc(u)
        + u.detach() * v + torch.relu(u - v) + v**-0.5
    ),
    "of numbers in tensors": lambda u, v, x, c: torch.exp(c) * u + (c**2) * (x * c) * v,
}  # fmt: skip


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_values_and_cotangents_are_those_of_autograd(code):
    table, x, c = columns()
    weights = [torch.linspace(-1, 1, N, dtype=torch.float64)]

    def listed(*given):
        return [code(*given)]

    mine, theirs = (run(listed, table, x, c, weights) for run in (with_symbols, with_tensors))
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "name", ["sin", "cos", "tanh", "sinh", "cosh", "erf", "erfc", "abs", "sign", "exp"]
)
def test_functions_on_both_sides_of_zero(name):
    table, x, c = columns(low=-30.0, high=30.0)

    def code(u, v, x, c):
        return [getattr(torch, name)(u)]

    weights = [torch.ones(N, dtype=torch.float64)]
    mine, theirs = (run(code, table, x, c, weights) for run in (with_symbols, with_tensors))
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-15)


def test_float32_is_as_exact_as_autograd():
    table, x, c = columns()
    weights = [torch.ones(N, dtype=torch.float64)]

    def code(*given):
        return [CODES["functions"](*given) * CODES["quotients"](*given)]

    exact = with_tensors(code, table, x, c, weights)
    narrow = [table.float(), x.float(), c.float(), [w.float() for w in weights]]
    mine, theirs = (run(code, *narrow) for run in (with_symbols, with_tensors))
    for a, b, reference in zip(mine, theirs, exact, strict=True):
        unit = 1.2e-7 * reference.abs().max()
        assert (a - reference).abs().max() <= 2 * (b - reference).abs().max() + unit


def trees(depth):
    if not depth:
        return st.sampled_from(["u", "v", "x", "c", "1.5"])
    smaller = trees(depth - 1)
    unary = st.sampled_from(["torch.sin({})", "torch.tanh({})", "(-{})", "torch.exp(-({})**2)"])
    binary = st.sampled_from(["({} + {})", "({} - {})", "({} * {})", "({} / (2 + ({})**2))"])
    return st.one_of(
        smaller,
        st.builds(lambda f, a: f.format(a), unary, smaller.map(lambda a: f"(u + {a})")),
        st.builds(lambda f, a, b: f.format(a, b), binary, smaller, smaller),
    )


@settings(max_examples=60, deadline=None)
@given(trees(4), trees(4))
def test_any_expression_has_autograds_values_and_cotangents(first, second):
    code = eval(f"lambda u, v, x, c: [u * ({first}), v + ({second})]", {"torch": torch})
    table, x, c = columns()
    weights = [torch.linspace(0, 1, N, dtype=torch.float64), torch.ones(N, dtype=torch.float64)]
    mine, theirs = (run(code, table, x, c, weights) for run in (with_symbols, with_tensors))
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-11 * (1 + float(b.abs().max())))


TORCH: Any = torch  # whose functions give fields, which have partials
FUNCTIONAL: Any = functional
FUNCTIONS_OF_FIELDS = {
    "where": lambda u: TORCH.where(u > 1, u.x, u**2) + TORCH.where(u.x <= u, 0.5, u).x,
    "clamp": lambda u: TORCH.clamp(u, 0.4, 1.0) * u.x + u.clamp(max=1.5).xx,
    "maximum": lambda u: TORCH.maximum(u, u.x) + TORCH.minimum(u, 0.7 * u).x,
    "elu": lambda u: FUNCTIONAL.elu(u - 1).x + FUNCTIONAL.leaky_relu(u.x - u, 0.1),
    "gelu": lambda u: FUNCTIONAL.gelu(u - 1).xx + FUNCTIONAL.silu(u.x),
    "remainder": lambda u: (3 * u % 0.7) * u.x + TORCH.frac(u).x,
    "hypot": lambda u: TORCH.hypot(u, u.x) + TORCH.hypot(u, u**2).xx,
    "atan2": lambda u: TORCH.atan2(u, 1 + u.x) + TORCH.atan2(u, u**2).x,
    "logaddexp": lambda u: TORCH.logaddexp(u, 2 * u).xx + (u**u).x,
    "sinc": lambda u: TORCH.sinc(u).x + TORCH.sinc(2 * u),
    "detach": lambda u: u.detach() * u.x + u.x.detach(),
}


@pytest.mark.parametrize("code", FUNCTIONS_OF_FIELDS.values(), ids=FUNCTIONS_OF_FIELDS)
def test_functions_of_fields_are_followed(code):
    plan = Plan.closing(("x",), [(2,)])
    generator = torch.Generator().manual_seed(0)
    table = torch.rand(3, N, 1, generator=generator, dtype=torch.float64) * 1.8 + 0.2
    trace = Trace(table[0, :, 0])
    (u,) = symbol_jets(trace, 1, plan)
    program = Program(trace, trace.close([code(u).value]), table, interpreter(table))
    weights = torch.linspace(-1, 1, N, dtype=torch.float64)
    leaf = table.clone().requires_grad_()
    (field,) = output_jets(leaf, plan)
    value = code(field).value
    (slope,) = torch.autograd.grad(value, leaf, weights)
    torch.testing.assert_close(program.values()[0], value.detach(), rtol=1e-12, atol=1e-13)
    below, _ = program.pullback(weights[None])
    torch.testing.assert_close(below, slope, rtol=1e-11, atol=1e-12)


def test_squares_and_what_they_pull():
    table, x, _ = columns()
    trace = Trace(x)
    u, v = trace.leaf(0, 0), trace.leaf(1, 1)
    program = Program(trace, trace.close([u * v, u - x]), table, interpreter(table))
    values = torch.stack([table[0, :, 0] * table[1, :, 1], table[0, :, 0] - x])
    factors = torch.tensor([0.5, 3.0], dtype=torch.float64)
    torch.testing.assert_close(program.squares(), values.square().sum(1))
    sums, (below, _) = program.pullback_squares(factors)
    torch.testing.assert_close(sums, values.square().sum(1))
    torch.testing.assert_close(below, program.pullback(factors[:, None] * values)[0])


def test_steps_that_no_result_needs_leave_no_trace():
    table, x, _ = columns()
    table[0, 7, 0] = 0.0  # where the slope of a square root is infinite
    trace = Trace(x)
    u: Any = trace.leaf(0, 0)
    torch.sqrt(u)
    program = Program(trace, trace.close([u * 2]), table, interpreter(table))
    below, _ = program.pullback(torch.ones(1, N, dtype=torch.float64))
    assert below[0, :, 0].eq(2).all()
    assert below[1].eq(0).all()


CLOSED = {
    "relu": lambda u: torch.sqrt(torch.relu(u)),
    "maximum": lambda u: torch.sqrt(torch.maximum(u, torch.zeros(N, dtype=torch.float64))),
    "where": lambda u: torch.rsqrt(torch.where(u > 0, u, 0.0)),
    "a power": lambda u: torch.relu(u) ** 0.3,
}


@pytest.mark.parametrize("code", CLOSED.values(), ids=CLOSED)
def test_what_a_choice_leaves_out_has_no_gradient(code):
    table, x, _ = columns(low=-2.0)
    trace = Trace(x)
    program = Program(trace, trace.close([code(trace.leaf(0, 0))]), table, interpreter(table))
    below, _ = program.pullback(torch.ones(1, N, dtype=torch.float64))
    u = table[0, :, 0].clone().requires_grad_()
    (expected,) = torch.autograd.grad(code(u).sum(), u)
    assert expected.isfinite().all()
    torch.testing.assert_close(below[0, :, 0], expected)


@pytest.mark.parametrize("exponent", [2.0, 1.7])
def test_a_learned_exponent(exponent):
    table, x, _ = columns()
    table[0, 7, 0], p = 0.0, torch.tensor(exponent, dtype=torch.float64)
    ones = torch.ones(N, dtype=torch.float64)

    def code(u, v, x, c):
        return [u**c * v**c]

    found = with_symbols(code, table, x, p, [ones])
    for ours, expected in zip(found, with_tensors(code, table, x, p, [ones]), strict=True):
        torch.testing.assert_close(ours, expected)


def test_a_column_in_strides_is_read_in_place():
    table, _, _ = columns()
    points = torch.arange(2.0 * N, dtype=torch.float64).view(N, 2)
    trace = Trace(points[:, 1])
    u = trace.leaf(0, 0) + points[:, 1]
    program = Program(trace, trace.close([u]), table, interpreter(table))
    torch.testing.assert_close(program.values()[0], table[0, :, 0] + points[:, 1])


REFUSED = {
    "a truth value": lambda u, x: bool(u),
    "a number": lambda u, x: float(u),
    "a decision": lambda u, x: 1.0 if u > 0 else 2.0,
    "arithmetic with a comparison": lambda u, x: (u > 0) * u,
    "a sum of comparisons": lambda u, x: (u > 0).sum(),
    "a negated comparison": lambda u, x: ~(u > 0),
    "too many arguments": lambda u, x: torch.max(u, x, x),
    "equality": lambda u, x: u == u,
    "an index": lambda u, x: u[0],
    "a loop": lambda u, x: list(u),
    "membership": lambda u, x: 1.0 in u,
    "a reduction": lambda u, x: u.mean(),
    "an exponent": lambda u, x: u**u,
    "a base": lambda u, x: 2**u,
    "a keyword": lambda u, x: torch.add(u, u, alpha=2),
    "another shape": lambda u, x: u + x[:, None],
    "another length": lambda u, x: u + x[:1],
    "another type": lambda u, x: u + x.to(torch.complex128),
    "numpy": lambda u, x: np.sin(u),
    "something else": lambda u, x: u + "1",
}


@pytest.mark.parametrize("code", REFUSED.values(), ids=REFUSED)
def test_what_needs_values_is_refused(code):
    _, x, _ = columns()
    with pytest.raises((UntraceableError, TypeError)):
        code(Trace(x).leaf(0, 0), x)


def test_gradients_switched_off_within_the_code_are_refused():
    _, x, _ = columns()
    u: Any = Trace(x).leaf(0, 0)
    with torch.no_grad(), pytest.raises(UntraceableError, match="switched"):
        torch.sin(u)


def test_a_column_that_changes_after_it_was_read_is_refused():
    _, x, _ = columns()
    trace = Trace(x)
    y = x.clone()
    u = trace.leaf(0, 0) * y
    y.mul_(2)
    with pytest.raises(UntraceableError, match="in place"):
        trace.close([u])


def test_a_symbol_tells_what_a_tensor_would():
    _, x, _ = columns()
    u: Any = Trace(x).leaf(0, 0)
    assert (u.shape, len(u), u.ndim, u.dtype, u.device) == (x.shape, N, 1, x.dtype, x.device)
    assert (torch.zeros_like(u), torch.ones_like(u), u**0) == (0, 1, 1)
