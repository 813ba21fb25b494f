import shutil

import pytest
import torch

from pinnsig.activations import parse_activation
from pinnsig.initializers import Xavier
from pinnsig.jets import JetsEngine, Plan
from pinnsig.jets.compiled import CompiledKernel, kernel_for
from pinnsig.jets.kernels import TorchKernel
from pinnsig.networks import FFNN

NATIVE = ["tanh", "softsign2", "1.3tanh(x)", "2*tanh(3x)+softsign2(0.5x)/2"]
GIVEN = ["erf", "gd", "arctan", "softsign1"]
PLANS = {
    "value": Plan.closing(("x", "t"), []),
    "burgers": Plan.closing(("x", "t"), [(2, 0), (0, 1)]),
    "mixed": Plan.closing(("x", "t"), [(1, 1), (0, 2)]),
    "fourth": Plan.closing(("x", "t"), [(4, 0), (2, 2)]),
}


@pytest.fixture(autouse=True)
def _compiler(monkeypatch, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler on this machine")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PINNSIG_COMPILE", raising=False)
    compiled._cpu_kernel.cache_clear()
    yield
    compiled._cpu_kernel.cache_clear()


def layer(kernel, plan, dtype, h):
    h = h.to(dtype).clone()
    bias = torch.linspace(-1, 1, h.shape[2], dtype=dtype)
    z = torch.empty_like(h)
    f = kernel.forward(h, bias, z, plan.order + 1)
    grad = torch.cos(torch.arange(h.numel(), dtype=torch.float64)).view(h.shape).to(dtype)
    bias_gradient = kernel.backward(grad, h, f)
    return z, grad, bias_gradient


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("act", [*NATIVE, *GIVEN])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_compiled_layers_are_as_exact_as_torchs(plan, act, dtype):
    f = parse_activation(act)
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(len(plan), 37, 13, dtype=torch.float64, generator=generator) * 2
    kernel = kernel_for(f, plan, h.to(dtype))
    assert isinstance(kernel, CompiledKernel)
    assert kernel.native == (act in NATIVE and dtype == torch.float32 and plan.order <= 2)
    exact = layer(TorchKernel(f, plan), plan, torch.float64, h.to(dtype).double())
    mine, torchs = layer(kernel, plan, dtype, h), layer(TorchKernel(f, plan), plan, dtype, h)
    for a, b, reference in zip(mine, torchs, exact, strict=True):
        unit = torch.finfo(dtype).eps * reference.abs().max()
        error, allowed = (a - reference).abs().max(), (b - reference).abs().max()
        assert error <= 2 * allowed + 8 * unit


@pytest.mark.parametrize("act", NATIVE)
def test_native_forms_hold_from_tiny_to_huge_arguments(act):
    f, plan = parse_activation(act), PLANS["burgers"]
    x = torch.cat([torch.logspace(-30, 30, 200), torch.linspace(0, 20, 400)])
    x = torch.cat([-x.flip(0), x])
    h = torch.zeros(4, len(x), 1)
    h[0, :, 0], h[1:] = x, 1.0
    z = torch.empty_like(h)
    kernel_for(f, plan, h).forward(h, torch.zeros(1), z, 3)
    value, first, second, _ = f.derivatives(x.double(), 3)
    assert z.isfinite().all()
    torch.testing.assert_close(z[0, :, 0].double(), value, rtol=4e-7, atol=0)
    torch.testing.assert_close(z[1, :, 0].double(), first, rtol=2e-6, atol=1e-35)
    both = first + second  # the row of xx, with h_x = h_xx = 1
    # rounding of a stretched argument shows in the tails as that of x itself does
    scale = (first.abs() + second.abs()) * (1 + x.abs().clamp(max=20))
    assert ((z[3, :, 0] - both).abs() <= 3e-6 * scale + 1e-35).all()


def test_fault_n2_the_slope_does_not_vanish_near_saturation():
    h = torch.full((4, 1, 1), -9.0109138)
    h[1:] = 1.0
    z = torch.empty_like(h)
    kernel_for(parse_activation("tanh"), PLANS["burgers"], h).forward(h, torch.zeros(1), z, 3)
    assert float(z[1]) == pytest.approx(5.96e-8, rel=1e-3)


def test_not_a_number_stays_one():
    h = torch.full((1, 1, 1), float("nan"))
    z = torch.empty_like(h)
    kernel_for(parse_activation("tanh"), PLANS["value"], h).forward(h, torch.zeros(1), z, 1)
    assert z.isnan().all()


@pytest.mark.parametrize("why", ["switched off", "no compiler", "broken compiler"])
def test_without_a_compiler_torch_does_the_work(why, monkeypatch):
    if why == "switched off":
        monkeypatch.setenv("PINNSIG_COMPILE", "0")
    else:
        monkeypatch.setenv("CC", "false" if why == "broken compiler" else "no-such-compiler")
    kernel = kernel_for(parse_activation("tanh"), PLANS["burgers"], torch.zeros(1))
    assert isinstance(kernel, TorchKernel)


def test_results_of_two_passes_do_not_disturb_each_other():
    network = FFNN(2, 1, 3, 8, parse_activation("tanh"))
    Xavier().fill(network, torch.Generator().manual_seed(0))
    plan, points = PLANS["burgers"], torch.rand(2, 9, 2)

    def slope(table):
        return torch.cat(
            [g.flatten() for g in torch.autograd.grad(table.sum(), list(network.parameters()))]
        )

    alone = [slope(JetsEngine().partials(network, None, p, plan)) for p in points]
    tables = [JetsEngine().partials(network, None, p, plan) for p in points]  # both alive
    together = [slope(table) for table in tables]
    assert torch.equal(torch.stack(alone), torch.stack(together))
