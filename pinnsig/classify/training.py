"""Training classifiers: members of one shape together, every epoch validated."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnsig.activations import build_activation
from pinnsig.calibration import suited_learning_rate
from pinnsig.classify.batches import Batches, Part
from pinnsig.classify.datasets import ImageSet
from pinnsig.classify.elementwise import BlockedAdam
from pinnsig.classify.networks import Classifiers, Shape
from pinnsig.classify.settings import ClassifySettings
from pinnsig.classify.splits import split
from pinnsig.core.cuda_graphs import GraphedCallable
from pinnsig.core.devices import DTYPES
from pinnsig.core.errors import SettingsError
from pinnsig.core.seeds import weight_generator
from pinnsig.initializers import initializer_from

JUDGED, NUMBERS = 2000, 2**26
"""Images that go through the networks at once while they are judged, and numbers of a layer."""

SHARED = 2**22
"""Multiplications of a layer's product below which a second thread costs more than it brings."""

COMMON = (
    "dataset", "depth", "width", "batch_norm", "samples", "validation", "inputs", "epochs",
    "iterations", "batch", "dtype", "device",
)  # fmt: skip
"""Settings that members which train together share."""


@dataclass(frozen=True)
class Epoch:
    """One member after an epoch.

    Attributes:
        epoch, iteration: counted from 1; the last epoch may be cut by `iterations`.
        train_loss: mean cross-entropy of the epoch's steps, at the weights before each.
        validation_loss, validation_accuracy: over all validation images.
        seconds: since training began, of all members that train together.
    """

    epoch: int
    iteration: int
    train_loss: float
    validation_loss: float
    validation_accuracy: float
    seconds: float

    @property
    def finite(self) -> bool:
        """Whether both losses are finite numbers."""
        return math.isfinite(self.train_loss + self.validation_loss)


@dataclass
class Trained:
    """What became of one member.

    Attributes:
        settings: with the learning rate and the initialiser that rules decided.
        epochs: a record of each.
        best: the weights of the best validation accuracy, the first of several, shape (P,).
        best_statistics: the running statistics of batch normalisation then.
        test_accuracy: of the best weights; None where the set has no test images.
        notices: what a user should know.
    """

    settings: ClassifySettings
    epochs: list[Epoch] = field(default_factory=list)
    best: Tensor | None = None
    best_statistics: list[Tensor] = field(default_factory=list)
    test_accuracy: float | None = None
    notices: tuple[str, ...] = ()

    @property
    def best_epoch(self) -> Epoch:
        """The epoch of the best validation accuracy, the first of several; finite if any is."""
        return max(self.epochs, key=lambda e: (e.finite, e.validation_accuracy))

    @property
    def finite(self) -> bool:
        """Whether every loss was a finite number."""
        return all(epoch.finite for epoch in self.epochs)


class Training:
    """Members on their way; `run` yields after every epoch.

    Each member is a function of its own settings: the same alone and among others, but for the
    last digits.

    Args:
        members: settings that agree in `COMMON`.
        images: their data set.

    Raises:
        PinnsigError: settings that cannot be used, before anything is trained.
    """

    def __init__(self, members: Sequence[ClassifySettings], images: ImageSet) -> None:
        first = members[0]
        for name in COMMON:
            if any(getattr(member, name) != getattr(first, name) for member in members):
                raise SettingsError(f"members that differ in {name} cannot train together")
        self.common = first
        self.device, self.dtype = torch.device(first.device), DTYPES[first.dtype]
        activations = [build_activation(member.act, member.scale) for member in members]
        initializers = [
            initializer_from(member.init, member.p, member.sigma_b, rule=True) for member in members
        ]
        splits = [
            split(images.train.labels, first.validation, first.samples, member.seed)
            for member in members
        ]
        shape = Shape(images.inputs, images.classes, first.depth, first.width, first.batch_norm)
        self.networks = Classifiers(shape, activations, self.dtype, self.device)
        self.members = []
        for index, (member, f, init) in enumerate(
            zip(members, activations, initializers, strict=True)
        ):
            self.networks.fill(index, f, init, weight_generator(member.seed))
            rate = member.lr or suited_learning_rate(f)
            settings = ClassifySettings(**{**member.as_dict(), "lr": rate, "init": init.spec})
            self.members.append(Trained(settings, notices=self._notices(images)))
        rates = [member.settings.lr or 0.0 for member in self.members]
        self.adam = BlockedAdam(self.networks.theta, self.networks.gradient, rates)
        self.data = Batches(images, splits, first.inputs, self.dtype, self.device)
        self.batch = min(first.batch, self.data.count)
        if first.batch_norm and self.batch == 1:
            raise SettingsError(
                f"batch = {first.batch} of {self.data.count} image(s) cannot be: batch "
                "normalisation takes at least two images"
            )
        self.epoch = 0
        # an accelerator without float64 sums up in what it has
        self._sums = self.dtype if self.device.type == "mps" else torch.float64
        self.seconds = 0.0
        self._steps: dict[int, _Step] = {}

    def _notices(self, images: ImageSet) -> tuple[str, ...]:
        if self.device.type == "cpu" and not self.networks.activation.compiled:
            slow = "the activation is not compiled (no C compiler, or none of its own): torch's "
            return (*images.notices, f"{slow}operations in its place, several times as slow")
        return images.notices

    @property
    def iterations(self) -> int:
        """Steps in all."""
        return self.common.iterations or self.common.epochs * len(self._starts)

    @property
    def ended(self) -> bool:
        """Whether all steps are done, or no member has numbers left that are finite."""
        return self.adam.steps >= self.iterations or not any(m.finite for m in self.members)

    @property
    def _starts(self) -> range:
        """Where each batch of an epoch begins; batch normalisation has none of one image."""
        single = self.common.batch_norm and self.data.count % self.batch == 1
        return range(0, self.data.count - single, self.batch)

    def run(self, asked: Callable[[], bool] = lambda: False) -> Iterator[list[Epoch]]:
        """Train to the end, from wherever it is; yield every member's record of each epoch.

        A member whose loss is no finite number has come to its end: it can only stay so.

        Args:
            asked: whether to end at once, without a record of the epoch that is under way.
        """
        while not self.ended:
            begun = time.perf_counter()
            with self._threads():
                losses = self._train_epoch(asked)
                if losses is None:
                    return
                found = self._judge(self.data.validation)
            self.seconds += time.perf_counter() - begun
            self.epoch += 1
            records = [
                Epoch(self.epoch, self.adam.steps, train, loss, accuracy, self.seconds)
                for train, (loss, accuracy) in zip(losses, found, strict=True)
            ]
            for index, (member, record) in enumerate(zip(self.members, records, strict=True)):
                if not member.finite:
                    continue
                member.epochs.append(record)
                if member.best is None or member.best_epoch is record:
                    member.best = self.networks.theta[index].clone()
                    member.best_statistics = [s[index].clone() for s in self.networks.statistics()]
            self._tell_notices()
            yield records
        self._test()

    def _tell_notices(self) -> None:
        for step in self._steps.values():
            notice = step.recorded.notice
            for member in self.members:
                if notice is not None and notice not in member.notices:
                    member.notices = (*member.notices, notice)

    @contextlib.contextmanager
    def _threads(self) -> Iterator[None]:
        """Within it, torch has one thread where products are too small to be shared."""
        before = torch.get_num_threads()
        if self.batch * self.common.width**2 * len(self.members) < SHARED:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)

    def _train_epoch(self, asked: Callable[[], bool]) -> list[float] | None:
        order = torch.stack([
            torch.from_numpy(_epoch_order(member.settings.seed, self.epoch, self.data.count))
            for member in self.members
        ]).to(self.device)  # fmt: skip
        totals = torch.zeros(len(self.members), dtype=self._sums, device=self.device)
        seen = 0
        for start in self._starts:
            if self.adam.steps >= self.iterations:
                break
            if asked():
                return None
            chosen = order[:, start : start + self.batch]
            losses = self._step(chosen)
            totals += losses.to(self._sums) * chosen.shape[1]
            seen += chosen.shape[1]
        return (totals / max(seen, 1)).tolist()

    def _step(self, chosen: Tensor) -> Tensor:
        size = chosen.shape[1]
        if size not in self._steps:
            self._steps[size] = _Step(self, chosen)
        return self._steps[size](chosen)

    def _judge(self, images: Part) -> list[tuple[float, float]]:
        """Mean cross-entropy and accuracy of every member over images."""
        losses = torch.zeros(len(self.members), dtype=self._sums, device=self.device)
        right = torch.zeros_like(losses)
        shape = self.networks.shape
        most = NUMBERS // (len(self.members) * max(shape.inputs, shape.width))
        chunk = max(min(JUDGED, most), 1)
        for start in range(0, images.count, chunk):
            x, labels = images.at(slice(start, start + chunk))
            logs = self.networks.logits(x).log_softmax(2)
            losses -= logs.gather(2, labels.unsqueeze(2)).to(self._sums).sum((1, 2))
            right += (logs.argmax(2) == labels).to(self._sums).sum(1)
        return list(
            zip((losses / images.count).tolist(), (right / images.count).tolist(), strict=True)
        )

    def _test(self) -> None:
        """Judge the best weights of each member on images that were never trained on."""
        if self.data.test is None:
            return
        last = self.networks.theta.clone(), [s.clone() for s in self.networks.statistics()]
        for index, member in enumerate(self.members):
            if member.best is not None:
                self.networks.theta[index].copy_(member.best)
                for into, kept in zip(
                    self.networks.statistics(), member.best_statistics, strict=True
                ):
                    into[index].copy_(kept)
        for member, (_, accuracy) in zip(self.members, self._judge(self.data.test), strict=True):
            member.test_accuracy = accuracy
        self.networks.theta.copy_(last[0])
        for into, kept in zip(self.networks.statistics(), last[1], strict=True):
            into.copy_(kept)

    # --- state ----------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that `load` needs to go on: tensors and plain data."""
        return {
            "theta": self.networks.theta,
            "adam": self.adam.state(),
            "statistics": self.networks.statistics(),
            "epoch": self.epoch,
            "seconds": self.seconds,
            "members": [
                {
                    "best": member.best,
                    "best_statistics": member.best_statistics,
                    "epochs": [vars(epoch) for epoch in member.epochs],
                }
                for member in self.members
            ],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a state.

        Raises:
            SettingsError: it belongs to other networks.
        """
        if state["theta"].shape != self.networks.theta.shape:
            raise SettingsError("the saved state belongs to another network")
        self.networks.theta.copy_(state["theta"])
        self.adam.load(state["adam"])
        for into, kept in zip(self.networks.statistics(), state["statistics"], strict=True):
            into.copy_(kept)
        self.epoch, self.seconds = state["epoch"], state["seconds"]
        for member, kept in zip(self.members, state["members"], strict=True):
            member.epochs = [Epoch(**epoch) for epoch in kept["epochs"]]
            member.best = kept["best"].to(self.networks.theta)
            member.best_statistics = [s.to(self.networks.theta) for s in kept["best_statistics"]]


def _epoch_order(seed: int, epoch: int, count: int) -> np.ndarray[Any, Any]:
    """The order of images in an epoch: a function of the seed and its number alone."""
    return np.random.default_rng(np.random.SeedSequence([seed, 0xE9, epoch])).permutation(count)


class _Step:
    """One step for batches of one size, replayed as a CUDA graph where that can be."""

    def __init__(self, training: Training, chosen: Tensor) -> None:
        self.training = training
        self.chosen = chosen.clone()
        self.recorded = GraphedCallable(self._work, training.device)

    def __call__(self, chosen: Tensor) -> Tensor:
        """Train on the chosen images, (M, B); return losses, (M,)."""
        self.chosen.copy_(chosen)
        self.training.adam.count()
        found = self.recorded()
        assert found is not None
        return found

    def _work(self) -> Tensor:
        x, labels = self.training.data.train.chosen(self.chosen)
        losses = self.training.networks.step(x, labels)
        self.training.adam.move()
        return losses
