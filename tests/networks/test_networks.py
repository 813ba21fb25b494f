"""Every registered network: its size, its function, its start."""

import math
from typing import Any

import pytest
import torch

from pinnsig.activations import Tanh, sin
from pinnsig.calibration import sigma_star
from pinnsig.core.errors import PinnsigError, SettingsError
from pinnsig.derivatives import Plan, choose_engine
from pinnsig.initializers import EdgeOfChaos, GivenNoise, SirenUniform, parse_initializer
from pinnsig.networks import NETWORKS, network_options, parse_network, register_network

TEXTS = [
    "ffnn", "resnet", "resnet:block=1", "resnet:block=3", "modified-mlp", "pirate:sigma=0.5",
    "fourier:sigma=2,features=7", "siren:omega_0=5", "adaptive", "adaptive:scale=input,per=layer",
    "adaptive:scale=both,per=unit",
]  # fmt: skip
WIDTH = 9


def activation_of(text, f=None):
    return sin if text.startswith("siren") else f or Tanh()


def made(text, depth=4, init=None, f=None, inputs=2, outputs=1, seed=0, width=WIDTH) -> Any:
    spec = parse_network(text)
    f = activation_of(text, f)
    network = spec.build(inputs, outputs, depth, width, f, torch.float64)
    usual = spec.cls.usual.get("init", "calibrated")
    initializer = parse_initializer(usual) if init is None else init
    initializer.fill(network, torch.Generator().manual_seed(seed))
    return network


def points(n=6, inputs=2):
    return torch.randn(n, inputs, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("depth", [1, 2, 3, 7])
@pytest.mark.parametrize("text", TEXTS)
def test_memory_is_asked_for_what_there_is(text, depth, monkeypatch):
    asked = []
    monkeypatch.setattr("pinnsig.networks.base.require", lambda *given: asked.append(given))
    network = made(text, depth, inputs=3, outputs=2)
    fixed = [b for b in network.buffers() if b.ndim == 2]
    count = sum(p.numel() for p in network.parameters()) + sum(b.numel() for b in fixed)
    (size, what, *_) = asked[0]
    phases = sum(b.numel() for b in network.buffers() if b.ndim == 1)
    scales = 8 * 6 * 2 * max(depth, 1) * WIDTH if text.startswith("adaptive") else 0
    needed = (count + phases) * 8 * 6 + depth * 8000
    assert needed <= size <= needed + scales
    assert f"{depth} layers of {WIDTH} units" in what


@pytest.mark.parametrize("text", TEXTS)
def test_what_cannot_fit_is_refused_before_it_is_made(text):
    with pytest.raises(SettingsError, match="of memory, and"):
        parse_network(text).build(2, 1, 10**7, 10**5, activation_of(text))


@pytest.mark.parametrize(
    ("text", "init"),
    [
        (text, init)
        for text in TEXTS
        for init in ("eoc", "xavier", "he", "orthogonal", "gaussian", "siren")
        if (text.partition(":")[0], init) != ("siren", "eoc")  # eoc is of odd-sigmoid activations
    ],
)
def test_every_initialiser_fills_every_weight(text, init):
    network: Any = parse_network(text).build(2, 1, 4, WIDTH, activation_of(text), torch.float64)
    for tensor in [*network.parameters(), *network.buffers()]:
        tensor.data.fill_(math.nan)
    if hasattr(network, "features"):  # what no initialiser draws
        network.features.phase.zero_()
    parse_initializer(init).fill(network, torch.Generator().manual_seed(0))
    assert all(p.isfinite().all() for p in [*network.parameters(), *network.buffers()])


@pytest.mark.parametrize("text", TEXTS)
def test_a_seed_gives_a_network_and_another_another(text):
    first, again, other = made(text), made(text), made(text, seed=1)
    x = points()
    assert torch.equal(first(x), again(x))
    assert not torch.allclose(first(x), other(x))


@pytest.mark.parametrize("text", TEXTS)
def test_states_lead_to_the_outputs(text):
    network, x = made(text), points()
    states = list(network.states(network.embed(x)))
    assert all(state.shape == (len(x), WIDTH) for state in states)
    assert torch.equal(network.output(states[-1]), network(x))


@pytest.mark.parametrize("text", TEXTS)
def test_partials_are_those_of_differences(text):
    network, x, h = made(text), points(3), 1e-4
    plan = Plan.closing(("x", "t"), [(2, 0), (0, 1)])
    table = choose_engine("nested", network).partials(network, None, x, plan)
    e, d = h * torch.eye(2, dtype=torch.float64)
    with torch.no_grad():
        second = (network(x + e) - 2 * network(x) + network(x - e)) / h**2
        first = (network(x + d) - network(x - d)) / (2 * h)
    scale = float(table.detach().abs().max())
    for alpha, expected in (((2, 0), second), ((0, 1), first)):
        assert torch.allclose(table[plan.index[alpha]], expected, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("text", TEXTS)
def test_weights_go_through_their_names(text):
    network, other = made(text), made(text, seed=3)
    other.load_state_dict(network.state_dict())
    assert torch.equal(network(points()), other(points()))


# --- calibrated starts ----------------------------------------------------------------------------

NOISELESS = GivenNoise(sigma=0.0)


def gain(network, width=WIDTH):
    """The Jacobian from the first state to the last, at zero."""
    zero = torch.zeros(1, width, dtype=torch.float64)

    def rest(state):
        x = state
        for block in network.blocks:
            branch = x
            for layer in block:
                branch = network.activation(layer(branch))
            x = x + branch
        return x

    found: Any = torch.autograd.functional.jacobian(rest, zero)
    return found[0, :, 0]


@pytest.mark.parametrize("block", [1, 2, 3])
def test_a_calibrated_residual_block_has_gain_one(block):
    network = made(f"resnet:block={block}", depth=7, init=NOISELESS, f=2.0 * Tanh())
    assert torch.allclose(gain(network), torch.eye(WIDTH, dtype=torch.float64))
    x = points(inputs=WIDTH)
    network = made(f"resnet:block={block}", 7, NOISELESS, inputs=WIDTH)
    first, *_, last = network.states(x)
    assert torch.allclose(first, torch.tanh(x))
    assert torch.allclose(last, first)  # branches give nothing


def test_a_residual_layer_is_to_first_order_a_calibrated_one():
    f, sigma = 2.0 * Tanh(), 1e-4
    network = made("resnet:block=1", 2, GivenNoise(sigma=sigma), f, inputs=WIDTH)
    noise = network.blocks[0][0].weight.detach()
    expected = torch.eye(WIDTH, dtype=torch.float64) + f.slope * noise
    assert torch.allclose(gain(network), expected, atol=1e-12)


def test_epsilon_is_the_gain_of_a_block_beyond_one():
    network = made("resnet:block=1", 2, GivenNoise(sigma=0.0, epsilon=0.1), 2.0 * Tanh())
    assert torch.allclose(gain(network), 1.2 * torch.eye(WIDTH, dtype=torch.float64))


def test_the_noise_of_a_residual_network_is_that_of_its_blocks():
    wide = made("resnet:block=2", 21, parse_initializer("calibrated:p=0.3"), width=400)
    expected = sigma_star(0.3, 11, 1.0)  # the first layer and ten blocks
    noise = wide.blocks[3][1].weight.detach()
    assert float(noise.std()) * 20 == pytest.approx(expected, rel=0.02)
    inner = wide.blocks[3][0].weight.detach() - torch.eye(400, dtype=torch.float64)
    assert float(inner.std()) * 20 == pytest.approx(expected, rel=0.02)


def test_gates_without_noise_leave_one_layer():
    x = points(inputs=WIDTH)
    network = made("modified-mlp", 5, NOISELESS, inputs=WIDTH)
    for state in network.states(x):
        assert torch.allclose(state, torch.tanh(x))


def test_gates_mix_the_encoders():
    network, x = made("modified-mlp", 1), points()
    u, v, z = (torch.tanh(layer(x)) for layer in (network.u, network.v, network.layers[0]))
    assert torch.allclose(network(x), network.last((1 - z) * u + z * v))


def test_closed_gates_leave_the_features():
    network, x = made("pirate", 7, width=8), points()
    b = network.features.weight[:4] / (2 * math.pi)
    features = torch.cat([torch.sin(2 * math.pi * x @ b.T), torch.cos(2 * math.pi * x @ b.T)], 1)
    for state in network.states(network.embed(x)):
        assert torch.allclose(state, features)
    with torch.no_grad():
        network.gates[0].fill_(1.0)
    first, *_ = network.states(features)
    u, v = (torch.tanh(layer(features)) for layer in (network.u, network.v))
    one, two, three = network.blocks[0]
    z = torch.tanh(one(features))
    z = torch.tanh(two(z * v + (1 - z) * u))
    assert torch.allclose(first, torch.tanh(three(z * v + (1 - z) * u)))
    assert [len(list(block)) for block in network.blocks] == [3, 3, 1]


def test_frequencies_are_normal_and_drawn_once():
    network = made("fourier:sigma=3,features=4000", 1, width=2)
    rows = network.features.weight / (2 * math.pi)
    assert float(rows.std()) == pytest.approx(3.0, rel=0.03)
    assert torch.equal(rows[:2000], rows[2000:])
    assert "features.weight" in network.state_dict()
    assert "features.weight" not in dict(network.named_parameters())


def test_a_siren_is_drawn_by_its_own_law():
    network = made("siren:omega_0=20", 3, inputs=2, width=500)
    first, second, _ = (layer.weight for layer in network.layers)
    for weight, bound in (
        (first, 1 / 2),
        (second, math.sqrt(6 / 500) / 20),
        (network.last.weight, math.sqrt(6 / 500) / 20),
        (network.layers[1].bias, 1 / math.sqrt(500)),
    ):
        largest = float(weight.detach().abs().max())
        assert 0.95 * bound < largest <= bound
    *_, last = network.states(points(200))
    # sines of N(0, 1): Sitzmann et al. 2020, theorem 1.8
    h = network.omega_0 * network.layers[-1](list(network.states(points(200)))[-2])
    assert float(h.detach().var()) == pytest.approx(1.0, abs=0.4)
    assert float(last.detach().var()) == pytest.approx(0.43, abs=0.1)


def test_a_siren_has_no_calibrated_start():
    with pytest.raises(PinnsigError, match=r"init = calibrated needs an odd-sigmoid .* sin\(x\)"):
        made("siren", init=parse_initializer("calibrated"))
    with pytest.raises(SettingsError, match="made of sines: leave act out"):
        parse_network("siren").build(2, 1, 2, 4, Tanh())
    assert SirenUniform().spec == "siren"


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("adaptive", lambda h: 3.0 * torch.tanh(h)),
        ("adaptive:scale=input", lambda h: torch.tanh(3.0 * h)),
        ("adaptive:scale=both,per=unit", lambda h: 3.0 * torch.tanh(h)),
    ],
)
def test_scales_begin_at_the_activations(text, function):
    f = 3.0 * Tanh()
    network, x = made(text, 1, EdgeOfChaos(0.3), f), points()
    assert torch.allclose(network(x), network.last(function(network.layers[0](x))))
    assert network.activation.slope == 3.0


@pytest.mark.parametrize(
    ("text", "count"),
    [("adaptive", 1), ("adaptive:per=layer", 5), ("adaptive:scale=both,per=unit", 10 * WIDTH)],
)
def test_scales_are_trained(text, count):
    network = made(text, 5)
    scales = [*network.outer, *network.inner]
    assert sum(p.numel() for p in scales) == count
    network(points()).sum().backward()
    assert all((p.grad != 0).any() for p in scales)


def test_one_scale_for_a_unit_is_its_own():
    network, x = made("adaptive:per=unit", 1), points()
    before = network(x)
    with torch.no_grad():
        network.outer[0][2] = 5.0
        state = torch.tanh(network.layers[0](x))
        expected = before + 4.0 * state[:, 2:3] * network.last.weight[:, 2]
    assert torch.allclose(network(x), expected)


# --- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("resnett", "network 'resnett' is unknown: did you mean resnet?"),
        ("", "network '' is unknown"),
        ("resnet:blok=2", "parameter of resnet 'blok' is unknown: did you mean block?"),
        ("ffnn:block=2", "parameter of ffnn 'block' is unknown: known are none"),
        ("resnet:block=two", "network resnet: block must be a whole number, not 'two'"),
        ("resnet:block=1.5", "block must be a whole number, not '1.5'"),
        ("fourier:sigma=x", "network fourier: sigma must be a number, not 'x'"),
        ("resnet:2", "written name=value, not '2'"),
        ("resnet:block=2,block=3", "block is given twice"),
        ("adaptive:per=layr", "per = 'layr' is unknown: did you mean layer?"),
        ("own:Mine", "the network Mine was given from Python"),
    ],
)
def test_texts_that_cannot_be(text, part):
    with pytest.raises(SettingsError) as caught:
        parse_network(text)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("resnet:block=0", "block must be at least 1, not 0"),
        ("fourier:sigma=0", "sigma must be positive and finite, not 0.0"),
        ("fourier:sigma=nan", "sigma must be positive"),
        ("fourier:features=0", "features must be at least 1"),
        ("pirate:sigma=inf", "sigma must be positive"),
        ("siren:omega_0=-1", "omega_0 must be positive"),
    ],
)
def test_parameters_out_of_range(text, part):
    with pytest.raises(SettingsError, match=part):
        parse_network(text).build(2, 1, 2, 4, activation_of(text))


def test_options_are_those_of_the_constructor():
    assert {n: p.default for n, p in network_options("fourier").items()} == {
        "sigma": 0.25,
        "features": 64,
    }
    assert network_options("ffnn") == {}


def test_a_name_belongs_to_one_class():
    with pytest.raises(SettingsError, match="'resnet' is taken"):
        register_network("resnet")(NETWORKS["ffnn"])
    assert register_network("resnet")(NETWORKS["resnet"]) is NETWORKS["resnet"]
