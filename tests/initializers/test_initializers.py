import math

import numpy as np
import pytest
import torch

from pinnsig.activations import Softsign, Tanh, parse_activation
from pinnsig.calibration import edge_of_chaos, layerwise_chi, sigma_star, target_negative_rate
from pinnsig.core.errors import ActivationError, CalibrationError, InitializerError
from pinnsig.initializers import (
    INITIALIZERS,
    Calibrated,
    EdgeOfChaos,
    He,
    Initializer,
    Orthogonal,
    Scales,
    Xavier,
    parse_initializer,
    register_initializer,
)
from pinnsig.networks import FFNN

ALL = [
    Calibrated(),
    Calibrated(p=None, epsilon=0.1, sigma_b=0.3),
    EdgeOfChaos(),
    EdgeOfChaos(sigma_b=0.0, nodes=64),
    Xavier(),
    He(sigma_b=0.1),
    Orthogonal(),
    Orthogonal(gain=1.5),
]
SHAPES = [(64, 2), (64, 64), (1, 64), (3, 5), (5, 3)]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def network(depth=5, width=16, f=None, dtype=torch.float64, inputs=2) -> FFNN:
    return FFNN(inputs, 1, depth, width, f or Tanh(), dtype=dtype)


def filled(initializer: Initializer, seed=0, **options) -> FFNN:
    net = network(**options)
    initializer.fill(net, generator(seed))
    return net


@pytest.mark.parametrize("shape", SHAPES)
def test_pattern_of_the_diagonal(shape):
    n_out, n_in = shape
    weight = Calibrated().weight(n_out, n_in, Scales(diagonal=2.5, sigma_z=0.0), generator())
    expected = [[2.5 * (i % n_in == j) for j in range(n_in)] for i in range(n_out)]
    assert weight.tolist() == expected


def test_no_noise_and_offset():
    net = filled(Calibrated(p=0.0, epsilon=0.25), f=4.0 * Tanh())
    assert torch.equal(net.linears[1].weight, 0.5 * torch.eye(16, dtype=torch.float64))
    assert all(torch.all(layer.bias == 0) for layer in net.linears)


def test_calibrated_moments():
    depth, width = 50, 64
    net = filled(Calibrated(p=0.49), depth=depth, width=width)
    sigma_z = sigma_star(0.49, depth)
    noise = []
    for layer in net.linears:
        n_out, n_in = layer.weight.shape
        d = torch.zeros(n_out, n_in, dtype=torch.float64)
        for i in range(n_out):
            d[i, i % n_in] = 1.0
        noise.append(((layer.weight - d) * math.sqrt(n_in)).flatten())
    z = torch.cat(noise).detach() / sigma_z
    assert abs(z.mean()) < 4 / math.sqrt(z.numel())
    assert abs(z.std() - 1) < 4 / math.sqrt(2 * z.numel())
    first, last = noise[0].std() / sigma_z, noise[-1].std() / sigma_z
    assert abs(first - 1) < 4 / math.sqrt(2 * 128)
    assert abs(last - 1) < 4 / math.sqrt(2 * 64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_millions_of_weights_have_no_outliers(dtype):
    scales = Scales(diagonal=0.0, sigma_z=1e-3 * math.sqrt(2000))
    weight = Calibrated().weight(2000, 2000, scales, generator()).to(dtype)
    assert weight.abs().max() < 7e-3
    assert abs(weight.std() / 1e-3 - 1) < 0.005
    assert abs(weight.mean()) < 4 * 1e-3 / 2000


@pytest.mark.parametrize(
    ("initializer", "variance"),
    [
        (EdgeOfChaos(0.2), edge_of_chaos(Tanh(), 0.2).sigma_w ** 2 / 256),
        (Xavier(), 2 / (256 + 128)),
        (He(), 2 / 256),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_gaussian_variances(initializer, variance):
    scales = initializer.scales(Tanh(), 3)
    weight = initializer.weight(128, 256, scales, generator())
    assert weight.std() == pytest.approx(math.sqrt(variance), rel=4 / math.sqrt(2 * 128 * 256))


@pytest.mark.parametrize("shape", SHAPES)
def test_orthogonal(shape):
    n_out, n_in = shape
    weight = Orthogonal().weight(n_out, n_in, Scales(sigma_w=0.5), generator())
    singular = torch.linalg.svdvals(weight)
    assert torch.allclose(singular, torch.full_like(singular, 0.5), rtol=1e-12)


def test_biases_have_the_given_deviation():
    for initializer in (Calibrated(sigma_b=0.5), EdgeOfChaos(0.5), Xavier(0.5), He(0.5)):
        net = filled(initializer, depth=20, width=64)
        biases = torch.cat([layer.bias for layer in net.linears]).detach()
        assert biases.std() == pytest.approx(0.5, rel=4 / math.sqrt(2 * biases.numel()))


@pytest.mark.parametrize("initializer", ALL, ids=lambda i: i.spec)
def test_seed_decides_alone(initializer):
    torch.manual_seed(1)
    one = filled(initializer, seed=3)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    two = filled(initializer, seed=3)
    assert torch.equal(before, torch.get_rng_state())
    other = filled(initializer, seed=4)
    assert all(map(torch.equal, one.parameters(), two.parameters()))
    assert not torch.equal(one.linears[0].weight, other.linears[0].weight)


@pytest.mark.parametrize("initializer", ALL, ids=lambda i: i.spec)
def test_precisions_start_from_the_same_weights(initializer):
    single, double = (filled(initializer, dtype=t) for t in (torch.float32, torch.float64))
    for a, b in zip(single.parameters(), double.parameters(), strict=True):
        assert torch.equal(a, b.float())
    weight = double.linears[0].weight
    assert not torch.equal(weight, weight.float().double())  # drawn with all digits


def test_scale_equivariance():
    # c f with weights / c is the same network up to the scale of its hidden values
    for initializer in (Calibrated(p=0.3), EdgeOfChaos(), EdgeOfChaos(0.0), Orthogonal()):
        one, scaled = (filled(initializer, f=c * Tanh()) for c in (1.0, 1e6))
        for a, b in zip(one.linears, scaled.linears, strict=True):
            assert torch.allclose(a.weight, 1e6 * b.weight, rtol=1e-11)


def test_describe_calibrated():
    f = 2.0 * Tanh()
    found = Calibrated(p=0.3, epsilon=0.25).describe(f, 50)
    sigma_z = sigma_star(0.3, 50, 0.5)
    assert (found.omega, found.p, found.sigma_z, found.diagonal) == (0.5, 0.3, sigma_z, 0.75)
    assert (found.sigma_w, found.sigma_b) == (None, 0.0)
    assert found.chi == layerwise_chi(f, 50, 0.75**2 + sigma_z**2)[-1]
    assert (found.learning_rate, found.band) == (5e-5, (5e-6, 5e-4))
    assert found.as_dict()["sigma_w"] is None
    assert set(found.as_dict()) >= {"omega", "p", "sigma_z", "chi", "learning_rate", "band"}


def test_describe_by_the_rule():
    assert Calibrated(p=None).describe(Tanh(), 50).sigma_z == pytest.approx(
        0.25802827435186904, rel=1e-14
    )
    assert Calibrated(p=None).describe(Tanh(), 10).sigma_z == pytest.approx(
        0.6923862590129791, rel=1e-14
    )
    assert Calibrated(p=None).describe(Tanh(), 50).p == target_negative_rate(50)
    assert Calibrated().describe(Tanh(), 50).sigma_z == pytest.approx(0.5621486256083097, rel=1e-14)


def test_describe_gaussian():
    eoc = EdgeOfChaos().describe(Tanh(), 50)
    assert eoc.sigma_w == pytest.approx(1.3041458, abs=5e-8)
    assert (eoc.p, eoc.sigma_z, eoc.sigma_b) == (None, None, 0.2)
    assert eoc.chi == pytest.approx(1, abs=0.02)
    assert EdgeOfChaos(0.0).describe(4.0 * Softsign(3.0), 5).sigma_w == 0.25
    assert Xavier().describe(Tanh(), 5).sigma_w == 1.0
    assert He().describe(Tanh(), 5).sigma_w == math.sqrt(2)
    assert Orthogonal().describe(4.0 * Tanh(), 5).sigma_w == 0.25


@pytest.mark.parametrize("initializer", ALL, ids=lambda i: i.spec)
def test_spec_reads_back(initializer):
    assert parse_initializer(initializer.spec) == initializer


@pytest.mark.parametrize(
    ("spec", "overrides", "expected"),
    [
        ("calibrated", {}, Calibrated(p=0.49)),
        ("calibrated:p=0.3,epsilon=0.1", {}, Calibrated(p=0.3, epsilon=0.1)),
        (" calibrated : p = auto ", {}, Calibrated(p=None)),
        ("calibrated:p=0.3", {"p": 0.2, "sigma_b": "1e-2"}, Calibrated(p=0.2, sigma_b=0.01)),
        ("calibrated", {"p": "auto"}, Calibrated(p=None)),
        ("calibrated", {"p": np.float32(0.25)}, Calibrated(p=0.25)),
        ("calibrated:epsilon=-1e-3", {}, Calibrated(epsilon=-1e-3)),
        ("eoc", {}, EdgeOfChaos(0.2)),
        ("eoc:sigma_b=0", {"nodes": 64}, EdgeOfChaos(0.0, nodes=64)),
        ("xavier", {}, Xavier()),
        ("he:sigma_b=.1", {}, He(0.1)),
        ("orthogonal:gain=2", {}, Orthogonal(gain=2.0)),
    ],
)
def test_parse(spec, overrides, expected):
    assert parse_initializer(spec, **overrides) == expected


@pytest.mark.parametrize(
    ("spec", "overrides", "message"),
    [
        ("calibrate", {}, "initialiser 'calibrate' is unknown: did you mean calibrated."),
        (
            "",
            {},
            "initialiser '' is unknown: known are calibrated, eoc, xavier, he, orthogonal, given",
        ),
        ("xavier:p=0.3", {}, "parameter of xavier 'p' is unknown: known are sigma_b"),
        ("xavier", {"p": 0.3}, "parameter of xavier 'p' is unknown: known are sigma_b"),
        ("calibrated:eps=1", {}, "did you mean epsilon"),
        ("calibrated:p", {}, "calibrated: parameters are written name=value, not 'p'"),
        ("calibrated:p=.1,p=.2", {}, "calibrated: p is given twice"),
        ("calibrated:p=half", {}, "calibrated: p must be a number or \"auto\", not 'half'"),
        ("calibrated:p=0.5", {}, r"calibrated: p must be in \[0, 0.5\), not 0.5"),
        ("calibrated:p=nan", {}, r"calibrated: p must be in \[0, 0.5\), not nan"),
        ("calibrated:epsilon=auto", {}, "epsilon must be a number, not 'auto'"),
        ("calibrated:epsilon=inf", {}, "epsilon must be finite"),
        ("eoc:sigma_b=-1", {}, "eoc: sigma_b must be >= 0 and finite, not -1"),
        ("eoc:nodes=0", {}, "eoc: nodes must be at least 1, not 0"),
        ("eoc:nodes=2.5", {}, "eoc: nodes must be a whole number"),
        ("eoc", {"nodes": 2.5}, "eoc: nodes must be a whole number"),
        ("he", {"sigma_b": True}, "he: sigma_b must be a number, not True"),
        ("he", {"sigma_b": [1]}, "he: sigma_b must be a number"),
        ("orthogonal:gain=0", {}, "orthogonal: gain must be positive"),
    ],
)
def test_bad_specs(spec, overrides, message):
    with pytest.raises(InitializerError, match=message) as raised:
        parse_initializer(spec, **overrides)
    assert "\n" not in str(raised.value)


def test_unsolvable_depth():
    with pytest.raises(CalibrationError, match="depth"):
        Calibrated().describe(Tanh(), 0)


def test_registering():
    class Twin(Xavier):
        name = "xavier"

    class Own(Xavier):
        name = "own"

    with pytest.raises(
        InitializerError, match="the name 'xavier' is taken by .*schemes.Xavier.*Twin"
    ):
        register_initializer(Twin)
    try:
        register_initializer(Own)
        assert isinstance(parse_initializer("own:sigma_b=1"), Own)
    finally:
        INITIALIZERS.unregister("own")
    assert INITIALIZERS["xavier"] is Xavier


def test_noise_that_is_given_reads_back_from_text():
    f = 2.0 * Tanh()
    given = parse_initializer("given-noise:sigma=0.3,epsilon=0.1")
    assert given.scales(f, 7) == Scales(diagonal=0.6, sigma_z=0.3)
    assert parse_initializer(given.spec) == given
    gaussian = parse_initializer("gaussian:sigma_w=1.5,sigma_b=0.2")
    assert gaussian.scales(f, 7) == Scales(sigma_w=1.5, sigma_b=0.2)
    assert parse_initializer(gaussian.spec) == gaussian
    for wrong in ("given-noise:sigma=-1", "gaussian:sigma_w=-1", "gaussian:sigma_w=inf"):
        with pytest.raises(InitializerError, match="must be >= 0 and finite"):
            parse_initializer(wrong)


OTHERS = ["sin", "cos", "gaussian", "sigmoid", "silu", "gelu", "softplus", "tanh+sin", "2sin(3x)"]


@pytest.mark.parametrize("act", OTHERS)
@pytest.mark.parametrize("init", ["calibrated", "calibrated:p=auto", "given-noise", "eoc"])
def test_activations_outside_the_class_are_refused_where_omega_is_needed(act, init):
    f = parse_activation(act)
    with pytest.raises(ActivationError, match=f"odd-sigmoid.*: take init = {f.suits}") as error:
        parse_initializer(init).describe(f, 3)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("act", OTHERS)
@pytest.mark.parametrize("init", ["xavier", "he", "gaussian", "orthogonal", "xavier:sigma_b=0.1"])
def test_other_initialisers_serve_them(act, init):
    f = parse_activation(act)
    about = parse_initializer(init).describe(f, 3)
    assert about.omega is None
    assert about.band is None
    assert about.learning_rate == 1e-3
    assert 0 < about.chi < math.inf
