"""Activations and Adam in one pass over memory, against their definitions."""

import math

import pytest
import torch

from pinnsig.activations import ACTIVATIONS, parse_activation
from pinnsig.classify import Training, elementwise, load_images, resolve
from pinnsig.classify.elementwise import BlockedAdam, Elementwise
from tests.classify.files import write_idx_set

NAMES = [
    *ACTIVATIONS, "softsign2.5", "softsign7", "1.3*tanh", "0.001*tanh(1000*x)",
    "(2/pi)*arctan(0.01*x)", "softsign1 + softsign2", "tanh + 2*gd(3*x) + erf", "1e9*softsign2",
]  # fmt: skip
EXTREME = [
    0.0,
    -0.0,
    1e-300,
    1e-38,
    1e-8,
    -1e-3,
    0.3,
    1.0,
    -1.0,
    5.0,
    -9.01,
    40.0,
    1e4,
    -1e30,
    1e300,
]


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch):
    caches = elementwise._compiled, elementwise._adam_kernel
    for cache in caches:
        cache.cache_clear()
    monkeypatch.setenv("PINNSIG_COMPILE", "0")
    yield
    for cache in caches:
        cache.cache_clear()


def arguments(dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    some = 10.0 ** (8 * torch.rand(991, generator=generator, dtype=torch.float64) - 5)
    limit = torch.finfo(dtype).max
    extreme = torch.tensor(EXTREME, dtype=torch.float64).clamp(-limit, limit)
    return torch.cat([some, -some, extreme]).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_slopes(name: str, dtype: torch.dtype):
    """Within rounding of the float64 formulas, for any size of argument."""
    f, x = parse_activation(name), arguments(dtype)
    *wanted, second = f.derivatives(x.double(), 2)
    h, slope = x.expand(1, -1).clone(), torch.empty(1, len(x), dtype=dtype)
    function = Elementwise([f], h)
    function.both_(h, slope)
    unit = 16 * torch.finfo(dtype).eps
    sizes = (min(f.bound, 1e9), f.slope)
    for found, exact, size, following in zip(
        (h, slope), wanted, sizes, (wanted[1], second), strict=True
    ):
        # one of no sigmoid shape may be zero far out, where rounding x changes it by eps |x f'|
        rounded = 0.0 if f.odd_sigmoid else (x.double() * following).abs()
        slack = unit * (exact.abs() + 1e-3 * size + rounded) + torch.finfo(dtype).tiny
        assert ((found[0].double() - exact).abs() <= slack).all()
    only = function.value_(x.expand(1, -1).clone())
    torch.testing.assert_close(only, h, rtol=unit / 4, atol=0)  # sums may be fused differently


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", [name for name in NAMES if parse_activation(name).odd_sigmoid])
def test_what_is_not_finite(name: str, dtype: torch.dtype):
    """NaN stays, at its own place; at infinity there are the bound and a slope of 0."""
    f = parse_activation(name)
    h = torch.tensor([[math.nan, math.inf, -math.inf, 0.0]], dtype=dtype)
    slope = torch.empty_like(h)
    Elementwise([f], h).both_(h, slope)
    assert h[0, 0].isnan()
    assert slope[0, 0].isnan()
    wanted = torch.tensor([f.bound, -f.bound, 0.0], dtype=torch.float64)
    torch.testing.assert_close(h[0, 1:].double(), wanted, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(
        slope[0, 1:].double(), torch.tensor([0.0, 0.0, f.slope], dtype=torch.float64),
        rtol=1e-6, atol=1e-30,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("name", "values", "slopes"),
    [
        ("gaussian", (0.0, 0.0), (0.0, 0.0)),
        ("sigmoid", (1.0, 0.0), (0.0, 0.0)),
        ("gelu", (math.inf, 0.0), (1.0, 0.0)),
        ("softplus", (math.inf, 0.0), (1.0, 0.0)),
    ],
)
def test_limits_of_others(name: str, values: tuple, slopes: tuple, dtype: torch.dtype):
    h = torch.tensor([[math.nan, math.inf, -math.inf]], dtype=dtype)
    slope = torch.empty_like(h)
    Elementwise([parse_activation(name)], h).both_(h, slope)
    assert h[0, 0].isnan()
    assert slope[0, 0].isnan()
    torch.testing.assert_close(h[0, 1:], torch.tensor(values, dtype=dtype))
    torch.testing.assert_close(slope[0, 1:], torch.tensor(slopes, dtype=dtype))


def test_every_known_activation_is_compiled():
    """Where this machine has a compiler at all."""
    if elementwise._compiled(parse_activation("tanh"), torch.float32) is None:
        pytest.skip("no C compiler")
    for name in (*ACTIVATIONS, "softsign2.5"):
        assert elementwise._compiled(parse_activation(name), torch.float32) is not None, name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_a_compiler(without_compiler, dtype: torch.dtype):
    test_values_and_slopes("tanh + 2*gd(3*x) + erf", dtype)
    test_what_is_not_finite("tanh", dtype)
    assert not Elementwise([parse_activation("tanh")], torch.zeros(1, dtype=dtype)).compiled


def test_without_a_compiler_there_is_a_notice(without_compiler, tmp_path):
    write_idx_set(tmp_path, 80, 10)
    settings = resolve({"dataset": "mnist", "depth": 2, "width": 6, "device": "cpu"})
    notices = Training([settings], load_images("mnist", tmp_path)).members[0].notices
    assert any("not compiled" in notice and "slow" in notice for notice in notices)


def test_members_have_their_own():
    names = ["tanh", "tanh", "erf", "softsign2.5", "tanh"]
    x = torch.linspace(-3, 3, 50, dtype=torch.float64).expand(5, 2, 50).clone()
    slope = torch.empty_like(x)
    wanted = [parse_activation(name).derivatives(x[0], 1) for name in names]
    Elementwise([parse_activation(name) for name in names], x).both_(x, slope)
    for i, (value, derivative) in enumerate(wanted):
        torch.testing.assert_close(x[i], value)
        torch.testing.assert_close(slope[i], derivative)


RATES = [1e-3, 3e-2, 1e-5]


def adam_beside_torch(dtype: torch.dtype, size: int, steps: int) -> float:
    """The largest difference after steps with gradients of many magnitudes, over the way."""
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(3, size, generator=generator, dtype=dtype)
    start, gradient = theta.clone(), torch.zeros_like(theta)
    theirs = [nn_parameter(row) for row in theta]
    optimizers = [torch.optim.Adam([p], rate) for p, rate in zip(theirs, RATES, strict=True)]
    adam = BlockedAdam(theta, gradient, RATES)
    scales = 10.0 ** (6 * torch.rand(3, size, generator=generator, dtype=dtype) - 5)
    for _ in range(steps):
        gradient.copy_(torch.randn(3, size, generator=generator, dtype=dtype) * scales + theta / 9)
        adam.count()
        adam.move()
        for parameter, row, optimizer in zip(theirs, gradient, optimizers, strict=True):
            parameter.grad = row.clone()
            optimizer.step()
    moved = (theta - start).abs().amax(1)
    errors = [(row - p.detach()).abs().max() for row, p in zip(theta, theirs, strict=True)]
    return max(float(error / way) for error, way in zip(errors, moved, strict=True))


def nn_parameter(values: torch.Tensor) -> torch.nn.Parameter:
    return torch.nn.Parameter(values.clone())


def test_adam_is_adam():
    assert adam_beside_torch(torch.float64, 101, 500) < 1e-12
    assert adam_beside_torch(torch.float32, 101, 500) < 2e-3


def test_adam_without_a_compiler(without_compiler, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(elementwise, "BLOCK", 40)  # several blocks, and a rest
    assert adam_beside_torch(torch.float64, 101, 500) < 1e-12


def test_adam_is_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(elementwise, "SHARED", 100)
    ends = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        generator = torch.Generator().manual_seed(0)
        theta, gradient = torch.randn(2, 2, 1001, generator=generator).unbind()
        adam = BlockedAdam(theta, gradient, [1e-3, 1e-2])
        for _ in range(5):
            adam.count()
            adam.move()
        ends.append(theta)
    assert torch.equal(ends[0], ends[1])
    assert torch.equal(ends[0], ends[2])


def test_adam_goes_on_from_its_state():
    generator = torch.Generator().manual_seed(0)
    theta, gradient = torch.randn(2, 1, 50, generator=generator).unbind()
    adam = BlockedAdam(theta, gradient, [1e-2])
    for _ in range(3):
        adam.count()
        adam.move()
    other = BlockedAdam(theta.clone(), gradient, [1e-2])
    other.load(
        {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in adam.state().items()}
    )
    for each in (adam, other):
        each.count()
        each.move()
    assert torch.equal(adam.theta, other.theta)
