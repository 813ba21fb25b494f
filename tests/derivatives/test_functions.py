"""Torch's functions of jets: every derivative against mpmath, compositions against autograd."""

import math
import shutil
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from torch.nn import functional

from pinnsig.core.errors import DerivativeError
from pinnsig.derivatives import Plan, Trace, coordinate_jets, symbol_jets
from pinnsig.derivatives.compiled import Program, find_interpreter
from pinnsig.derivatives.operations import FUNCTIONS, NAMED, OPERATIONS

WIDE = (-6.3, -2.5, -1.2, -0.4, 0.15, 0.7, 1.9, 5.2)
INSIDE = (-0.9, -0.35, 0.05, 0.6, 0.97)
ABOVE = (0.2, 0.9, 1.5, 3.7, 11.0)
LOG2 = math.log(2)

PIECES = (-2.6, -1.2, -0.4, 0.3, 1.7)

EXACT = {
    # where to look, and the function of mpmath
    "sin": (WIDE, mpmath.sin),
    "cos": (WIDE, mpmath.cos),
    "exp": (WIDE, mpmath.exp),
    "log": (ABOVE, mpmath.log),
    "sqrt": (ABOVE, mpmath.sqrt),
    "square": (WIDE, lambda x: x * x),
    "reciprocal": (WIDE, lambda x: 1 / x),
    "sinh": (WIDE, mpmath.sinh),
    "cosh": (WIDE, mpmath.cosh),
    "erf": (WIDE, mpmath.erf),
    "erfc": (WIDE, mpmath.erfc),
    "abs": (PIECES, abs),
    "sign": (PIECES, mpmath.sign),
    "relu": (PIECES, lambda x: x if x > 0 else mpmath.mpf(0)),
    "neg": (WIDE, lambda x: -x),
    "floor": (PIECES, mpmath.floor),
    "ceil": (PIECES, mpmath.ceil),
    "trunc": (PIECES, lambda x: mpmath.sign(x) * mpmath.floor(abs(x))),
    "round": (PIECES, mpmath.nint),
    "tan": (WIDE, mpmath.tan),
    "exp2": (WIDE, lambda x: mpmath.mpf(2) ** x),
    "expm1": (WIDE, mpmath.expm1),
    "log2": (ABOVE, lambda x: mpmath.log(x, 2)),
    "log10": (ABOVE, mpmath.log10),
    "log1p": ((-0.9, *ABOVE), mpmath.log1p),
    "rsqrt": (ABOVE, lambda x: 1 / mpmath.sqrt(x)),
    "tanh": (WIDE, mpmath.tanh),
    "sigmoid": (WIDE, lambda x: 1 / (1 + mpmath.exp(-x))),
    "softplus": ((*WIDE, 0.0, 25.0, -40.0), lambda x: mpmath.log1p(mpmath.exp(x))),
    "asin": (INSIDE, mpmath.asin),
    "acos": (INSIDE, mpmath.acos),
    "atan": (WIDE, mpmath.atan),
    "asinh": (WIDE, mpmath.asinh),
    "acosh": ((1.05, 1.5, 4.0, 30.0), mpmath.acosh),
    "atanh": (INSIDE, mpmath.atanh),
    "erfinv": (INSIDE, mpmath.erfinv),
    "sinc": ((*WIDE, 0.0, 1e-3, 1.27, 1.28), lambda x: mpmath.sincpi(x)),
    "lgamma": (ABOVE, mpmath.loggamma),
    "digamma": (ABOVE, mpmath.digamma),
}


def column(values):
    return coordinate_jets(("x",), torch.tensor(values, dtype=torch.float64)[:, None])["x"]


@pytest.mark.parametrize("name", EXACT)
def test_every_derivative_is_that_of_mpmath(name):
    places, exact = EXACT[name]
    outer = FUNCTIONS[name]
    x = torch.tensor(places, dtype=torch.float64)
    with mpmath.workdps(50):
        for order in range(6):  # the gradient in the weights takes one more than the partials
            expected = [float(mpmath.diff(exact, mpmath.mpf(a), order)) for a in places]
            torch.testing.assert_close(
                outer(x, order), torch.tensor(expected, dtype=torch.float64), rtol=1e-11, atol=1e-12
            )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_derivatives_are_the_next_ones(name):
    places = EXACT.get(name, (INSIDE if "arc" in name and name != "arccosh" else ABOVE, None))[0]
    if name == "arccosh":
        places = EXACT["acosh"][0]
    if name.startswith("special_erfinv"):
        places = INSIDE
    for order in range(4):
        x = torch.tensor(places, dtype=torch.float64, requires_grad=True)
        value = FUNCTIONS[name](x, order)
        expected = FUNCTIONS[name](x.detach(), order + 1)
        (found,) = (
            torch.autograd.grad(value.sum(), x) if value.requires_grad else (torch.zeros_like(x),)
        )
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


COMPOSED = {
    "where": lambda x, y: torch.where(x > y, torch.sin(x) * y, x * y**2),
    "where with numbers": lambda x, y: x * torch.where(y > 1, 2.0, y) + torch.where(x > 1, x, 0.1),
    "method where": lambda x, y: (x * y).where(x > 1, y**2),
    "maximum": lambda x, y: torch.maximum(x**2, y) + torch.minimum(x, y**3),
    "binary max": lambda x, y: torch.max(x**3, x * y) * torch.min(y, x),
    "clamp": lambda x, y: torch.clamp(x * y, 0.5, 1.0) * x + y.clamp(max=1.0) ** 2,
    "clamp_min": lambda x, y: torch.clamp_min(x - y, 0.1) ** 2 + torch.clip(x, min=0.5),
    "hypot": lambda x, y: torch.hypot(x, x * y),
    "atan2": lambda x, y: torch.atan2(x * y, x - y),
    "logaddexp": lambda x, y: torch.logaddexp(x * y, x**2),
    "silu": lambda x, y: functional.silu(x - y),
    "mish": lambda x, y: functional.mish(x * y),
    "gelu": lambda x, y: functional.gelu(x - y),
    "softplus": lambda x, y: functional.softplus(x - y) + functional.softplus(x * y, 2.0),
    "softplus module": lambda x, y: torch.nn.Softplus(beta=3.0)(x - y),
    "elu": lambda x, y: functional.elu(x - y) * functional.leaky_relu(y - x, 0.2),
    "softsign": lambda x, y: functional.softsign(x - y),
    "logsigmoid": lambda x, y: functional.logsigmoid(x - y),
    "relu": lambda x, y: functional.relu(x - y) ** 3 + torch.relu(y),
    "abs": lambda x, y: torch.absolute(x - y) * x,
    "remainder": lambda x, y: (3 * x * y) % 1.0 + torch.remainder(y * y, 0.7),
    "floor": lambda x, y: torch.floor(3 * x) * y + x * torch.frac(5 * y),
    "float_power": lambda x, y: torch.float_power(x, 2.5) * y,
    "a square": lambda x, y: torch.float_power(-x, 2) * (-y) ** torch.tensor(3.0),
    "degrees": lambda x, y: torch.sin(torch.deg2rad(x * y)) + torch.rad2deg(x),
}
POINTS = torch.tensor([[0.31, 1.13], [0.92, 0.41], [1.74, 2.33]], dtype=torch.float64)


@pytest.mark.parametrize("name", COMPOSED)
@pytest.mark.parametrize("alpha", [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (2, 2), (0, 4)])
def test_compositions_have_the_partials_of_nested_autograd(name, alpha):
    jets = coordinate_jets(("x", "y"), POINTS)
    columns = [POINTS[:, i].clone().requires_grad_() for i in range(2)]
    value = COMPOSED[name](*columns)
    for axis, order in enumerate(alpha):
        for _ in range(order):
            if value.requires_grad:
                (value,) = torch.autograd.grad(
                    value.sum(), columns[axis], create_graph=True, materialize_grads=True
                )
            else:
                value = torch.zeros_like(value)
    found = COMPOSED[name](*jets.values()).tensor(alpha)
    assert found.dtype == torch.float64
    # torch's softplus is a straight line from 20 on, and its where of two numbers is float32
    torch.testing.assert_close(found, value.detach(), rtol=1e-10, atol=1e-10)


def test_softplus_holds_its_digits_where_torchs_own_is_a_line():
    x = torch.tensor([21.0, 30.0], dtype=torch.float64)
    expected = [float(mpmath.log1p(mpmath.exp(-a))) for a in (21, 30)]
    found = FUNCTIONS["softplus"](x, 0) - x
    torch.testing.assert_close(
        found, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=4e-15
    )


def test_nothing_is_left_of_a_multiple():
    n = torch.arange(1.0, 100.0, dtype=torch.float64)
    jet = coordinate_jets(("n",), n[:, None])["n"]
    for k in (1, 7, 49, 98):
        torch.testing.assert_close((jet % k).value, n % k, rtol=0, atol=0)
        torch.testing.assert_close((jet // k).value, n // k, rtol=0, atol=0)
    assert (jet % 49).n.eq(1).all()


EXACT_OF_TWO = {
    "hypot": mpmath.hypot,
    "atan2": mpmath.atan2,
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
    "maximum": max,
    "minimum": min,
}
PAIRS = torch.tensor([[0.31, 1.13], [0.92, -0.41], [-1.74, 2.33], [3.0, 1.5]], dtype=torch.float64)


def test_the_tables_functions_are_all_looked_at():
    names = {operation.name for operation in OPERATIONS}
    others = {
        "number",
        "add",
        "sub",
        "mul",
        "div",
        "pow",
        "where",
        "detach",
        "gt",
        "ge",
        "lt",
        "le",
    }
    assert names - others == set(EXACT) | set(EXACT_OF_TWO) | {f"{n}_number" for n in NUMBERED}


NUMBERED = ("add", "mul", "pow")


def exact_partials(function, alpha, pairs):
    with mpmath.workdps(40):
        return torch.tensor(
            [
                float(mpmath.diff(function, tuple(map(mpmath.mpf, p)), alpha))
                for p in pairs.tolist()
            ],
            dtype=torch.float64,
        )


@pytest.mark.parametrize("name", EXACT_OF_TWO)
@pytest.mark.parametrize("alpha", [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (1, 3)])
def test_functions_of_two_columns_have_the_partials_of_mpmath(name, alpha):
    x, y = coordinate_jets(("x", "y"), PAIRS).values()
    expected = exact_partials(EXACT_OF_TWO[name], alpha, PAIRS)
    found = getattr(torch, name)(x, y).tensor(alpha)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-12)


def run_program(name, columns):
    """Values and slopes of one of torch's functions, by the interpreter."""
    trace = Trace(columns[:, 0])
    symbols = symbol_jets(trace, columns.shape[1], Plan.closing(("x",), []))
    function: Any = getattr(torch, name) if hasattr(torch, name) else getattr(functional, name)
    results = trace.close([function(*symbols).value])
    interpreter = find_interpreter(columns.dtype)
    assert interpreter is not None
    program = Program(trace, results, columns[None].contiguous(), interpreter)
    cotangent = torch.ones(1, len(columns), dtype=columns.dtype)
    return program.values()[0], program.pullback(cotangent)[0][0].unbind(1)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", [name for name in EXACT if NAMED[name].value])
def test_programs_have_the_same_functions(name):
    places, exact = EXACT[name]
    value, (slope,) = run_program(name, torch.tensor(places, dtype=torch.float64)[:, None])
    with mpmath.workdps(40):
        for found, order, digits in ((value, 0, 1e-14), (slope, 1, 1e-13)):
            expected = [float(mpmath.diff(exact, mpmath.mpf(a), order)) for a in places]
            torch.testing.assert_close(
                found, torch.tensor(expected, dtype=torch.float64), rtol=digits, atol=1e-15
            )


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", EXACT_OF_TWO)
def test_programs_have_the_same_functions_of_two_columns(name):
    value, slopes = run_program(name, PAIRS)
    for found, alpha in zip((value, *slopes), ((0, 0), (1, 0), (0, 1)), strict=True):
        expected = exact_partials(EXACT_OF_TWO[name], alpha, PAIRS)
        torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", ["sigmoid", "softplus", "relu", "tanh", "erf"])
def test_programs_hold_far_out(name):
    places = torch.tensor([-800.0, -60.0, 0.0, 60.0, 800.0], dtype=torch.float64)
    value, (slope,) = run_program(name, places[:, None])
    torch.testing.assert_close(value, FUNCTIONS[name](places, 0), rtol=1e-14, atol=1e-15)
    torch.testing.assert_close(slope, FUNCTIONS[name](places, 1), rtol=1e-13, atol=1e-15)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_slopes_where_both_are_equal_are_autograds(name):
    columns = torch.tensor([[2.0, 2.0], [math.nan, 1.0], [1.0, math.nan]], dtype=torch.float64)
    value, slopes = run_program(name, columns)
    leaf = columns.clone().requires_grad_()
    theirs = getattr(torch, name)(leaf[:, 0], leaf[:, 1])
    (gradient,) = torch.autograd.grad(theirs[0], leaf)
    torch.testing.assert_close(value, theirs.detach(), equal_nan=True)
    assert [float(slope[0]) for slope in slopes] == gradient[0].tolist()


def test_what_has_no_partials_says_so_by_name():
    x = column([0.3, 0.8])
    values = torch.special.bessel_j0(x)
    torch.testing.assert_close(values.value, torch.special.bessel_j0(x.value))
    with pytest.raises(DerivativeError, match=r"torch.special_bessel_j0\(...\), which has none"):
        _ = (values * x).x.value
    with pytest.raises(DerivativeError, match="cumsum"):
        _ = x.cumsum(0).x.value


def test_numpys_numbers_count_as_numbers_and_its_functions_are_refused_by_name():
    x = column([0.3, 0.8])
    for made in (np.float64(2.0) * x, x * np.float32(2.0), x / np.float64(0.5), np.int64(2) * x):
        assert made.x.value.tolist() == [2.0, 2.0]
    assert (np.float64(1.0) / x).value.tolist() == (1.0 / x).value.tolist()
    with pytest.raises(DerivativeError, match=r"numpy's sin .* write torch.sin"):
        np.sin(x)
    with pytest.raises(DerivativeError, match="numpy"):
        np.asarray(x)
    with pytest.raises(DerivativeError, match="torch.as_tensor"):
        _ = np.ones(2) * x
    with pytest.raises(DerivativeError, match="torch.where"):
        _ = 1.0 if x else 2.0
