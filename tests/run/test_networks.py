"""Runs of any network: registered ones by their text, and a user's own from Python."""

import json

import pytest
import torch
from torch import nn

import pinnsig
from pinnsig.activations import tanh
from pinnsig.core.errors import PinnsigError, SettingsError
from pinnsig.networks import NETWORKS, Network, parse_network
from pinnsig.problem import Box, Dirichlet, Problem
from pinnsig.run.building import build
from pinnsig.run.settings import resolve
from tests.conftest import SMALL

CHOSEN = ["resnet:block=1", "modified-mlp", "pirate", "fourier:features=6", "siren", "adaptive"]


@pytest.fixture
def solve(tmp_path):
    def run(network, **given):
        fixed = {**SMALL, "figures": False, "seed": 3, "path": tmp_path / str(len(made))}
        made.append(pinnsig.solve("heat", network=network, **{**fixed, **given}))
        return made[-1]

    made: list[pinnsig.Result] = []
    return run


def weights(run, which="best"):
    return {
        name: tensor.clone()
        for name, tensor in pinnsig.load(run, weights=which).model.state_dict().items()
    }


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def predicted(run, **given):
    return pinnsig.load(run, **given).predict("u", x=[0.1, 0.7], t=[0.2, 0.9])["u"].tolist()


@pytest.mark.parametrize("network", CHOSEN)
def test_a_run_is_read_back_and_goes_on(solve, network):
    result = solve(network, figures=True)
    assert result.network == network
    config = json.loads((result.path / "config.json").read_text())
    assert config["network"] == network
    assert (result.path / "figures" / "activations.png").is_file()
    assert type(pinnsig.load(result.path).model.network) is parse_network(network).cls
    assert result.estimated_error is not None
    whole = solve(network, lbfgs=9)
    pinnsig.resume(result.path, lbfgs=9, figures=False)
    assert same(weights(result.path, "last"), weights(whole.path, "last"))
    assert pinnsig.load(result.path).directory.read_json("result.json")["iterations"] == 12


def test_a_network_cannot_change(solve):
    result = solve("resnet")
    with pytest.raises(SettingsError, match="network = ffnn cannot change when a run is resumed"):
        pinnsig.resume(result.path, network="ffnn")
    with pytest.raises(SettingsError, match="is resnet, a registered one: leave network out"):
        pinnsig.load(result.path, network=Own)


def test_the_usual_network_is_the_one_of_old_runs(solve):
    assert resolve({"problem": "heat"}).network == "ffnn"
    result, old = solve("ffnn"), solve(None)
    assert same(weights(result.path), weights(old.path))
    path = old.path / "config.json"
    config = json.loads(path.read_text())
    del config["network"]
    path.write_text(json.dumps(config))
    assert predicted(old.path) == predicted(result.path)


def test_a_network_may_have_settings_of_its_own():
    parts = build(resolve({"problem": "heat", "network": "siren", "depth": 2, "width": 4}))
    assert (parts.settings.act, parts.settings.init) == ("sin", "siren")
    given = {"problem": "heat", "network": "siren", "init": "xavier", "depth": 2, "width": 4}
    assert build(resolve(given)).settings.init == "xavier:sigma_b=0"
    with pytest.raises(PinnsigError, match="init = calibrated needs an odd-sigmoid activation"):
        build(resolve({**given, "init": "calibrated"}))
    with pytest.raises(SettingsError, match="leave act out"):
        build(resolve({**given, "act": "tanh"}))


def test_what_is_told_of_a_start_is_of_the_networks_own_depth():
    given = {"problem": "heat", "network": "resnet:block=2", "depth": 9, "width": 4}
    assert build(resolve(given)).signal_depth == 5
    assert build(resolve({**given, "network": "ffnn"})).signal_depth == 9
    scaled = {**given, "network": "adaptive:scale=input", "scale": 2.0}
    assert str(build(resolve(scaled)).activation) == "tanh(2*x)"


# --- a user's own ---------------------------------------------------------------------------------


class Own(nn.Module):
    """Two layers, of torch's own."""

    def __init__(self, inputs, outputs, width=8):
        super().__init__()
        self.width = width
        self.first, self.last = nn.Linear(inputs, width), nn.Linear(width, outputs)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


def make_sequential(inputs, outputs, *, width, dtype, generator, activation):
    assert isinstance(generator, torch.Generator)
    assert activation == tanh
    return nn.Sequential(
        nn.Linear(inputs, width, dtype=dtype), nn.Tanh(), nn.Linear(width, outputs, dtype=dtype)
    )


@pytest.mark.parametrize("network", [Own, make_sequential])
def test_what_makes_a_network(solve, network):
    before = torch.get_rng_state()
    result, again = solve(network), solve(network)
    assert torch.equal(before, torch.get_rng_state())
    assert result.network == f"own:{network.__name__}"
    assert result.initializer == "the network's own"
    assert result.engine == "jets"
    assert predicted(result.path, network=network) == predicted(again.path, network=network)
    assert solve(network, seed=4).best_loss != result.best_loss
    whole = solve(network, lbfgs=9)
    pinnsig.resume(result.path, network=network, lbfgs=9, figures=False)
    assert predicted(result.path, network=network) == predicted(whole.path, network=network)
    for attempt in (pinnsig.load, pinnsig.resume):
        with pytest.raises(SettingsError, match=f"the network {network.__name__} was given from P"):
            attempt(result.path)


def test_a_network_itself_starts_from_its_weights_and_keeps_them(solve):
    network = Own(2, 1)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    result = solve(network, adam=0, lbfgs=0)
    assert same(before, network.state_dict())
    trained = pinnsig.load(result.path, network=network).model.network
    assert all(torch.equal(v.double(), trained.state_dict()[k]) for k, v in before.items())
    assert solve(network).best_loss < result.best_loss
    assert same(before, network.state_dict())


def test_a_network_class_of_the_house_is_drawn(solve):
    cls = NETWORKS["resnet"]
    result, named = solve(cls), solve("resnet")
    assert result.best_loss == named.best_loss
    assert result.initializer == named.initializer


def test_another_network_than_the_runs(solve):
    result = solve(Own(2, 1))
    with pytest.raises(PinnsigError, match=r"do not fit its config.json"):
        pinnsig.load(result.path, network=Own(2, 1, width=5))


class Sums(Own):
    def forward(self, x):
        return super().forward(x) + x.mean()


class Attention(Own):
    """Points look at each other, behind a last layer of zeros."""

    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        nn.init.zeros_(self.last.weight)

    def forward(self, x):
        h = self.first(x)
        return self.last(torch.softmax(h @ h.T, dim=1) @ h)


class Text(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer = nn.Linear(inputs, outputs)

    def forward(self, x):
        return "u"


def frozen(inputs, outputs):
    network = Own(inputs, outputs)
    network.first.bias.requires_grad_(False)
    return network


def normed(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, outputs))


def dropped(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 4), nn.Dropout(0.5), nn.Tanh(), nn.Linear(4, outputs))


def failing(inputs, outputs):
    raise OSError("no file")


@pytest.mark.parametrize(
    ("network", "part"),
    [
        (Own(3, 1), r"network Own cannot take 24 points of 2 inputs, the shape \(24, 2\): Runtime"),
        (Own(2, 2), r"network Own gives the shape \(24, 2\) for 24 points: it must be \(24, 1\)"),
        (Sums, "network Sums mixes points"),
        (Attention, "network Attention mixes points"),
        (normed, "network Sequential mixes points"),
        (dropped, "network Sequential gives another value each time"),
        (frozen, "the parameter first.bias does not require a gradient"),
        (Text, "network Text must give a tensor, not str"),
        (nn.Tanh(), "network Tanh has no parameters"),
        (failing, "network failing cannot be made of 2 inputs and 1 outputs: OSError: no file"),
        (lambda inputs, outputs: 3, "must make an nn.Module, not int"),
        (lambda inputs: 3, "cannot be made of 2 inputs and 1 outputs: TypeError"),
        (3, "network = 3 cannot be: give the text of a registered one, an nn.Module, or"),
        ("fnn", "network 'fnn' is unknown: did you mean ffnn?"),
        ("own:Mine", "the network Mine was given from Python"),
    ],
)
def test_networks_that_cannot_be(solve, tmp_path, network, part):
    with pytest.raises(SettingsError, match=part) as caught:
        solve(network)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("bent", "lines"), [(nn.ReLU(), 1), (nn.Identity(), 1), (nn.SiLU(), 0)])
def test_a_network_without_second_partials_is_told(bent, lines):
    own = nn.Sequential(nn.Linear(2, 5), bent, nn.Linear(5, 1))
    settings = resolve({"problem": "heat", "network": "own:Sequential", **SMALL})
    notices = [line for line in build(settings, network=own).notices if "piecewise" in line]
    assert len(notices) == lines
    assert all("second partials are 0" in line for line in notices)


def test_normalisation_by_fixed_numbers_is_no_mixing(solve):
    assert solve(normed(2, 1).eval(), adam=1, lbfgs=0).iterations == 1


# --- the model as a function ----------------------------------------------------------------------


class Hard(Problem):
    domain = Box(x=(0.0, 1.0), y=(0.0, 2.0))
    fields = ("u", "v")

    def ansatz(self, u, v, x, y):
        return u * x, v + y

    def residual(self, u, v):
        return u.xx + v.y

    def conditions(self):
        yield Dirichlet(on="x-", u=0.0)


@pytest.mark.parametrize("network", ["ffnn", "resnet"])
def test_a_model_gives_its_fields(network):
    given = {"problem": "hard", "network": network, "depth": 2, "width": 5, "normalize": True}
    model = build(resolve(given), Hard).model
    points = torch.rand(4, 2, dtype=torch.float64, requires_grad=True)
    values = model(points)
    x, y = points.detach().T
    found = model.predict({"x": x, "y": y}, ("u", "v", "u.x"))
    assert torch.allclose(values, torch.stack([found["u"], found["v"]], dim=1))
    (slopes,) = torch.autograd.grad(values[:, 0].sum(), points, create_graph=True)
    assert torch.allclose(slopes[:, 0], found["u.x"])
    slopes.square().sum().backward()
    assert isinstance(model.network, Network)
    assert model.network.output.weight.grad is not None
