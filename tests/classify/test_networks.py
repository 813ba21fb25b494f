"""Passes forth and back, against torch's modules under autograd."""

import itertools
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from pinnsig.activations import Activation, join, parse_activation
from pinnsig.classify import Training, elementwise, load_images, resolve
from pinnsig.classify.networks import Classifiers, Shape
from pinnsig.classify.training import _Step
from pinnsig.core.errors import SettingsError
from pinnsig.initializers import parse_initializer
from tests.classify.files import write_idx_set

EXPRESSIONS = ("tanh", "1.3*tanh", "softsign1 + softsign2", "(2/pi)*arctan(3*x)", "gd + 0.5*erf")
CPU = torch.device("cpu")


class Function(nn.Module):
    """An activation as a module."""

    def __init__(self, f: Activation) -> None:
        super().__init__()
        self.f = f

    def forward(self, x: Tensor) -> Tensor:
        return self.f(x)


def module(networks: Classifiers, member: int, f: Activation) -> nn.Sequential:
    """What torch has for one member, with the same weights."""
    layers: list[nn.Module] = []
    for index, layer in enumerate(networks.layers):
        linear = nn.Linear(layer.weight.shape[2], layer.weight.shape[1], dtype=networks.theta.dtype)
        linear.weight.data.copy_(layer.weight[member])
        linear.bias.data.copy_(layer.bias[member, 0])
        layers.append(linear)
        if layer.gain is not None and layer.shift is not None:
            norm = nn.BatchNorm1d(len(linear.weight), dtype=networks.theta.dtype)
            norm.weight.data.copy_(layer.gain[member, 0])
            norm.bias.data.copy_(layer.shift[member, 0])
            layers.append(norm)
        if index < networks.shape.depth:
            layers.append(Function(f))
    return nn.Sequential(*layers)


def built(
    expressions: tuple[str, ...], batch_norm: bool, dtype: torch.dtype = torch.float64
) -> tuple[Classifiers, list[Activation]]:
    """Members with every number drawn, gains and shifts included."""
    activations = [parse_activation(text) for text in expressions]
    shape = Shape(inputs=7, outputs=4, depth=3, width=5, batch_norm=batch_norm)
    networks = Classifiers(shape, activations, dtype, CPU)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(networks.theta.shape, generator=generator, dtype=torch.float64)
    networks.theta.copy_(0.6 * drawn)
    for layer in networks.layers:
        if layer.gain is not None:
            layer.gain.add_(1.0)
    return networks, activations


def drawn(members: int, batch: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(members, batch, 7, generator=generator, dtype=torch.float64).to(dtype)
    return x, torch.randint(0, 4, (members, batch), generator=generator)


def gradient(model: nn.Module) -> Tensor:
    return torch.cat([p.grad.reshape(-1) for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("batch", [2, 9])
def test_gradients_are_those_of_autograd(batch: int, batch_norm: bool):
    networks, activations = built(EXPRESSIONS, batch_norm)
    models = [module(networks, i, f) for i, f in enumerate(activations)]
    for _ in range(3):  # running statistics move on
        x, labels = drawn(len(models), batch)
        losses = networks.step(x, labels)
        for i, model in enumerate(models):
            model.zero_grad()
            loss = nn.functional.cross_entropy(model(x[i]), labels[i])
            loss.backward()
            torch.testing.assert_close(losses[i], loss.detach(), rtol=1e-12, atol=1e-12)
            wanted = gradient(model)
            assert (networks.gradient[i] - wanted).abs().max() <= 1e-10 * wanted.abs().max()
        x = x + 1
    if not batch_norm:
        return
    for i, model in enumerate(models):
        norms = [layer for layer in model if isinstance(layer, nn.BatchNorm1d)]
        for mean, variance, norm in zip(networks.means, networks.variances, norms, strict=True):
            torch.testing.assert_close(mean[i, 0], norm.running_mean, rtol=1e-12, atol=1e-12)
            torch.testing.assert_close(variance[i, 0], norm.running_var, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_logits_are_those_of_evaluation(batch_norm: bool):
    networks, activations = built(EXPRESSIONS, batch_norm)
    networks.step(*drawn(len(activations), 9))
    x, _ = drawn(len(activations), 6)
    found = networks.logits(x.clone())
    for i, f in enumerate(activations):
        model = module(networks, i, f).eval()
        norms = [layer for layer in model if isinstance(layer, nn.BatchNorm1d)]
        for norm, mean, variance in zip(
            norms, networks.means, networks.variances, strict=batch_norm
        ):
            norm.running_mean, norm.running_var = mean[i, 0], variance[i, 0]
        torch.testing.assert_close(found[i], model(x[i]).detach(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_members_together_are_members_alone(batch_norm: bool):
    together, activations = built(EXPRESSIONS, batch_norm)
    x, labels = drawn(len(activations), 8)
    losses = together.step(x, labels)
    for i, f in enumerate(activations):
        alone = Classifiers(together.shape, [f], torch.float64, CPU)
        alone.theta.copy_(together.theta[i : i + 1])
        loss = alone.step(x[i : i + 1], labels[i : i + 1])
        torch.testing.assert_close(loss[0], losses[i], rtol=1e-13, atol=1e-13)
        torch.testing.assert_close(alone.gradient[0], together.gradient[i], rtol=1e-11, atol=1e-13)
        for ours, theirs in zip(alone.statistics(), together.statistics(), strict=True):
            torch.testing.assert_close(ours[0], theirs[i], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_float32_is_float64_within_rounding(batch_norm: bool):
    truth, activations = built(EXPRESSIONS, batch_norm)
    single, _ = built(EXPRESSIONS, batch_norm, torch.float32)
    losses = truth.step(*drawn(len(activations), 9))
    found = single.step(*drawn(len(activations), 9, torch.float32))
    torch.testing.assert_close(found.double(), losses, rtol=2e-6, atol=2e-6)
    for i in range(len(activations)):
        error = (single.gradient[i].double() - truth.gradient[i]).abs().max()
        assert error <= 2e-5 * truth.gradient[i].abs().max()


def test_smaller_batches_use_the_same_memory():
    """What a recorded step writes to must stay its own, whatever batches come in between."""
    networks, _ = built(EXPRESSIONS[:2], False)
    large, small = drawn(2, 9), drawn(2, 4)
    networks.step(*large)
    places = [hidden.data_ptr() for hidden in networks._work(9).hidden]
    wanted = networks.gradient.clone()
    networks.step(*small)
    networks.step(*large)
    assert torch.equal(networks.gradient, wanted)
    assert [hidden.data_ptr() for hidden in networks._work(9).hidden] == places
    assert networks._work(4).memory is networks._work(9).memory
    assert networks._work(4).hidden[0].is_contiguous()


def test_labels_and_inputs_stay():
    networks, activations = built(EXPRESSIONS, True)
    x, labels = drawn(len(activations), 9)
    before = x.clone(), labels.clone()
    networks.step(x, labels)
    assert torch.equal(x, before[0])
    assert torch.equal(labels, before[1])


def test_shape_counts_its_numbers():
    for depth, batch_norm in itertools.product((1, 4), (False, True)):
        shape = Shape(inputs=7, outputs=3, depth=depth, width=5, batch_norm=batch_norm)
        networks = Classifiers(shape, [parse_activation("tanh")], torch.float64, CPU)
        model = module(networks, 0, parse_activation("tanh"))
        assert shape.parameters == sum(p.numel() for p in model.parameters())


def test_weights_are_those_of_the_initialiser():
    """Calibrated: sigma_z / sqrt(n) of the layer's own inputs; biases are 0 without sigma_b."""
    f = parse_activation("tanh")
    shape = Shape(inputs=100, outputs=10, depth=6, width=80)
    networks = Classifiers(shape, [f, f], torch.float64, CPU)
    initializer = parse_initializer("calibrated", p="auto")
    for member in range(2):
        networks.fill(member, f, initializer, torch.Generator().manual_seed(member))
    assert not torch.equal(networks.theta[0], networks.theta[1])
    assert all(float(layer.bias.abs().max()) == 0 for layer in networks.layers)
    other = Classifiers(shape, [f], torch.float64, CPU)
    other.fill(0, f, initializer, torch.Generator().manual_seed(1))
    assert torch.equal(other.theta[0], networks.theta[1])


def test_what_does_not_fit_into_memory_is_refused():
    shape = Shape(inputs=784, outputs=10, depth=1000, width=10**6)
    with pytest.raises(SettingsError, match="would take .* of memory"):
        Classifiers(shape, [parse_activation("tanh")], torch.float32, CPU)
    small = Shape(inputs=784, outputs=10, depth=1000, width=10)
    networks = Classifiers(small, [parse_activation("tanh")], torch.float32, CPU)
    with pytest.raises(SettingsError, match="take a smaller batch"):
        networks._work(10**10)


class Recording(TorchDispatchMode):
    """Refuses what cannot be recorded: numbers read by the host, and tensors made from its own."""

    REFUSED = ("_local_scalar_dense", "item", "nonzero", "lift_fresh", "lift_fresh_copy")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func.overloadpacket.__name__ not in self.REFUSED, func
        return func(*args, **(kwargs or {}))


def test_the_recording_refuses():
    with Recording(), pytest.raises(AssertionError):
        torch.zeros(2).sum().item()
    with Recording(), pytest.raises(AssertionError):
        torch.tensor([1.0])


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("acts", [("tanh", "0.1*gd"), ("softsign1 + softsign2", "erf + tanh")])
def test_a_step_asks_the_host_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_norm: bool, acts: tuple[str, str]
):
    """So that it can be recorded as a CUDA graph, on the way that it takes there."""
    monkeypatch.setattr(elementwise, "_compiled", lambda *_: None)
    monkeypatch.setattr(elementwise, "_adam_kernel", lambda _: None)
    write_idx_set(tmp_path, 80, 10)
    given = {"dataset": "mnist", "depth": 2, "width": 6, "batch": 16, "device": "cpu"}
    members = [resolve({**given, "act": act, "batch_norm": batch_norm}) for act in acts]
    training = Training(members, load_images("mnist", tmp_path))
    joined = join([parse_activation(act) for act in acts])
    if joined is not None:
        way = [(slice(None), *elementwise._by_torch(joined))]
        monkeypatch.setattr(training.networks.activation, "_groups", way)
    step = _Step(training, torch.arange(32).view(2, 16))
    training.adam.count()
    training.networks._work(16)
    before = training.networks.theta.clone()
    with Recording():
        losses = step._work()
    assert losses.shape == (2,)
    assert not torch.equal(training.networks.theta, before)
