import shutil

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnsig.activations import parse_activation
from pinnsig.derivatives import JetsEngine, NestedEngine, Plan
from pinnsig.derivatives.compiled import CompiledTape, find_library, tape
from pinnsig.derivatives.kernels import LayerKernel
from pinnsig.derivatives.tape import LayerTape
from pinnsig.derivatives.taylor import make_tape
from pinnsig.initializers import Xavier
from pinnsig.networks import FFNN

NATIVE = [
    "tanh", "gd", "erf", "arctan", "softsign1", "softsign2", "softsign3", "softsign8",
    "softsign2.5", "softsign1.5", "sin", "cos", "gaussian", "sigmoid", "silu", "gelu", "softplus",
    "1.3tanh(x)", "1e-40*tanh(x)", "2*tanh(3x)+softsign2(0.5x)/2+erf(x)", "2*sin(3x)+gelu",
]  # fmt: skip
PLANS = {
    "value": Plan.closing(("x", "t"), []),
    "burgers": Plan.closing(("x", "t"), [(2, 0), (0, 1)]),
    "mixed": Plan.closing(("x", "t"), [(1, 1), (0, 2)]),
    "fourth": Plan.closing(("x", "t"), [(4, 0), (2, 2)]),
}


@pytest.fixture(autouse=True)
def _compiler():
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler on this machine")


def network(depth, width, act="tanh", outputs=1, inputs=2, dtype=torch.float64):
    made = FFNN(inputs, outputs, depth, width, parse_activation(act), dtype=dtype)
    Xavier(sigma_b=0.3).fill(made, torch.Generator().manual_seed(0))
    return made


def slopes(engine, net, points, plan, cotangent):
    table = engine.partials(net, None, points, plan)
    found = torch.autograd.grad(
        table, list(net.parameters()), cotangent, materialize_grads=True, allow_unused=True
    )
    return table.detach(), torch.cat([g.flatten() for g in found])


def normals(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@settings(max_examples=25, deadline=None)
@given(
    plan=st.sampled_from([PLANS["value"], PLANS["burgers"], PLANS["mixed"]]),
    depth=st.integers(1, 60),
    width=st.sampled_from([1, 7, 20, 50, 64, 70]),
    outputs=st.sampled_from([1, 3, 17]),
    act=st.sampled_from(["tanh", "arctan"]),
    points=st.sampled_from([0, 1, 5, 24, 25, 61]),
)
def test_networks_of_every_shape_agree_with_nested(plan, depth, width, outputs, act, points):
    net = network(depth, width, act, outputs)
    at = normals(points, 2)
    cotangent = normals(len(plan), points, outputs, seed=1)
    a, mine = slopes(JetsEngine(), net, at, plan, cotangent)
    b, reference = slopes(NestedEngine(), net, at, plan, cotangent)
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9 * (1 + float(b.abs().sum())))
    assert (mine - reference).norm() <= 1e-10 * (1 + reference.norm())


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("act", NATIVE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_passes_are_as_exact_as_torchs(plan, act, dtype):
    net = network(2, 13, act)
    inputs, cotangent = normals(len(plan), 37, 2), normals(len(plan), 37, 1, seed=1)

    def run(make, dtype):
        weights = [w.detach().to(dtype) for w in net.weights]
        made = make(inputs.to(dtype), weights)
        table = made.forward()
        rows = torch.empty(37, sum(w.numel() for w in weights), dtype=dtype)
        flat = torch.zeros(sum(w.numel() for w in weights), dtype=dtype)
        below = made.add_gradient(cotangent.to(dtype), flat, True)
        assert below is not None
        made.write_rows(cotangent.to(dtype), 1, rows)
        return table, flat, below, rows

    kernel = LayerKernel(net.activation, plan)
    exact = run(lambda z, w: LayerTape(z, w, kernel, True), torch.float64)
    torchs = run(lambda z, w: LayerTape(z, w, kernel, True), dtype)
    library = find_library(net.activation, plan, dtype)
    assert library is not None
    mine = run(lambda z, w: make_tape(net.activation, plan, z, w), dtype)
    for a, b, reference in zip(mine, torchs, exact, strict=True):
        unit = torch.finfo(dtype).eps * reference.abs().max()
        error, allowed = (a - reference).abs().max(), (b - reference).abs().max()
        # beside 0 a diverging derivative makes much of how h is rounded
        assert error <= 2 * allowed + (2**15 if net.activation.singular else 128) * unit


@settings(max_examples=40, deadline=None)
@given(
    inputs=st.integers(8, 19),
    depth=st.integers(1, 3),
    width=st.sampled_from([1, 7, 16, 21]),
    stride=st.sampled_from([1, 2]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    data=st.data(),
)
def test_zeros_among_many_inputs_are_skipped_and_nothing_else(
    inputs, depth, width, stride, dtype, data
):
    plan = PLANS["burgers"]
    ends = st.integers(0, inputs)
    z = normals(len(plan), 38, inputs)
    for k in range(len(plan)):
        low, high = data.draw(ends), data.draw(ends)  # of what is not zero; nothing if crossed
        z[k, :, :low] = z[k, :, high:] = 0.0
    net = network(depth, width, "tanh", 2, inputs)
    cotangent = normals(len(plan), 38, 2, seed=1)
    kernel = LayerKernel(net.activation, plan)

    def run(dtype, make):
        weights = [w.detach().to(dtype) for w in net.weights]
        made = make(z.to(dtype), weights)
        flat = torch.zeros(sum(w.numel() for w in weights), dtype=dtype)
        rows = torch.full((38 // stride, len(flat)), 7.0, dtype=dtype)
        table, below = made.forward(), made.add_gradient(cotangent.to(dtype), flat, True)
        assert below is not None
        made.write_rows(cotangent.to(dtype), stride, rows)
        return table, flat, below, rows

    exact = run(torch.float64, lambda z, w: LayerTape(z, w, kernel, True))
    mine = run(dtype, lambda z, w: make_tape(net.activation, plan, z, w))
    for a, reference in zip(mine, exact, strict=True):
        assert (a - reference).abs().max() <= 1e3 * torch.finfo(dtype).eps * (
            1 + reference.abs().max()
        )


def through_one_unit(act, x, dtype):
    """f and f' at every x: a network of one unit whose weights are one."""
    plan = Plan.closing(("x",), [(1,)])
    library = find_library(parse_activation(act), plan, dtype)
    assert library is not None
    one, zero = torch.ones(1, 1, dtype=dtype), torch.zeros(1, dtype=dtype)
    inputs = torch.stack([x, torch.ones_like(x)])[:, :, None]
    return CompiledTape(inputs, [one, zero, one, zero], library, False).forward()[:, :, 0]


REFERENCES = {
    "tanh": (mpmath.tanh, lambda x: mpmath.sech(x) ** 2),
    "gd": (lambda x: 2 * mpmath.atan(mpmath.tanh(x / 2)), mpmath.sech),
    "erf": (mpmath.erf, lambda x: 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x)),
    "arctan": (mpmath.atan, lambda x: 1 / (1 + x * x)),
    "softsign3": (
        lambda x: x / mpmath.cbrt(1 + abs(x) ** 3),
        lambda x: mpmath.cbrt(1 + abs(x) ** 3) ** -4,
    ),
}


@pytest.mark.parametrize("act", REFERENCES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_are_exact_to_a_few_units_in_the_last_place(act, dtype):
    x = torch.cat([torch.logspace(-9, 1.3, 150), torch.linspace(0.01, 8, 150)]).to(dtype)
    x = torch.cat([-x.flip(0), torch.zeros(1, dtype=dtype), x])
    found = through_one_unit(act, x, dtype)
    for got, reference, units in zip(found, REFERENCES[act], (4, 8), strict=True):
        for at, value in zip(x.tolist(), got.tolist(), strict=True):
            exact = reference(mpmath.mpf(at))
            # erf' inherits the rounding of x^2
            scale = units * (1 + at * at) if act == "erf" else units
            bound = scale * torch.finfo(dtype).eps * abs(exact) + torch.finfo(dtype).tiny
            assert abs(value - exact) <= bound, (at, value, exact)


@pytest.mark.parametrize("act", ["tanh", "gd", "erf", "arctan", "softsign1", "softsign3"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tiny_and_huge_arguments_are_no_trouble(act, dtype):
    x = torch.logspace(-30, 30, 121, dtype=dtype)
    x = torch.cat([-x.flip(0), x, torch.tensor([torch.finfo(dtype).max], dtype=dtype)])
    value, slope = through_one_unit(act, x, dtype)
    f = parse_activation(act).derivatives(x.double(), 1)
    torch.testing.assert_close(value.double(), f[0], rtol=16 * torch.finfo(dtype).eps, atol=0)
    near = x.abs() < 3
    torch.testing.assert_close(slope.double(), f[1], rtol=1e-3, atol=1e-35)
    torch.testing.assert_close(
        slope[near].double(), f[1][near], rtol=32 * torch.finfo(dtype).eps, atol=0
    )


def test_fault_n2_the_slope_does_not_vanish_near_saturation():
    _, slope = through_one_unit("tanh", torch.tensor([-9.0109138]), torch.float32)
    assert float(slope) == pytest.approx(5.96e-8, rel=1e-3)


def test_not_a_number_stays_one():
    for act in NATIVE:
        assert through_one_unit(act, torch.tensor([float("nan")]), torch.float32).isnan().all()


@pytest.mark.parametrize("why", ["switched off", "no compiler", "broken compiler"])
def test_without_a_compiler_torch_does_the_work(why, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if why == "switched off":
        monkeypatch.setenv("PINNSIG_COMPILE", "0")
    else:
        monkeypatch.setenv("CC", "false" if why == "broken compiler" else "no-such-compiler")
    tape.find_library.cache_clear()
    tape._network.cache_clear()
    net = network(2, 5)
    weights = [w.detach() for w in net.weights]
    made = make_tape(net.activation, PLANS["burgers"], normals(4, 3, 2), weights)
    tape.find_library.cache_clear()
    tape._network.cache_clear()
    assert isinstance(made, LayerTape)


def test_the_gradient_of_many_tiles_is_as_exact_as_that_of_one():
    net, plan = network(2, 8, dtype=torch.float32), PLANS["burgers"]
    inputs, cotangent = normals(4, 20_000, 2), normals(4, 20_000, 1, seed=1).square()

    def flat(dtype):
        weights = [w.detach().to(dtype) for w in net.weights]
        made = make_tape(net.activation, plan, inputs.to(dtype), weights)
        made.forward()
        found = torch.zeros(sum(w.numel() for w in weights), dtype=dtype)
        made.add_gradient(cotangent.to(dtype), found, False)
        return found.double()

    exact = flat(torch.float64)
    assert (flat(torch.float32) - exact).norm() <= 1e-6 * exact.norm()


def test_results_of_two_passes_do_not_disturb_each_other():
    net, plan, points = network(3, 8), PLANS["burgers"], normals(2, 9, 2)

    def slope(table):
        return torch.cat(
            [g.flatten() for g in torch.autograd.grad(table.sum(), list(net.parameters()))]
        )

    alone = [slope(JetsEngine().partials(net, None, p, plan)) for p in points]
    tables = [JetsEngine().partials(net, None, p, plan) for p in points]  # both alive
    together = [slope(table) for table in tables]
    assert torch.equal(torch.stack(alone), torch.stack(together))
