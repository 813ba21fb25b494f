"""A whole data set on the device, and batches of it by index."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnsig.classify.datasets import Images, ImageSet


class Batches:
    """A whole data set on the device, with each member's own choice of it.

    Attributes:
        train, validation, test: the parts; test is None where the set has none.
        count: images that each member trains on.
    """

    def __init__(
        self,
        images: ImageSet,
        splits: Sequence[tuple[Any, Any]],
        inputs: str,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        scale: Callable[[Tensor], Tensor] = _scaling(images.train, inputs, dtype)
        whole = Pixels(images.train, scale, device)
        self.train = Part(whole, torch.stack([torch.from_numpy(t) for t, _ in splits]).to(device))
        held = torch.stack([torch.from_numpy(v) for _, v in splits]).to(device)
        self.validation = Part(whole, held)
        self.count = self.train.count
        self.test = None
        if images.test is not None:
            every = torch.arange(len(images.test), device=device).expand(len(splits), -1)
            self.test = Part(Pixels(images.test, scale, device), every)


def _scaling(images: Images, inputs: str, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """What turns bytes into inputs; mean and deviation are those of all training images."""
    if inputs == "unit":
        return lambda pixels: pixels.to(dtype).mul_(1 / 255)
    counts = np.bincount(images.pixels.ravel(), minlength=256)
    levels = np.arange(256)
    mean = float(counts @ levels / counts.sum())
    deviation = float(math.sqrt(counts @ (levels - mean) ** 2 / counts.sum())) or 1.0
    return lambda pixels: pixels.to(dtype).sub_(mean).mul_(1 / deviation)


class Pixels:
    """Bytes on the device, which become inputs as they are used."""

    def __init__(
        self, images: Images, scale: Callable[[Tensor], Tensor], device: torch.device
    ) -> None:
        self.pixels = torch.tensor(images.pixels, device=device)
        self.labels = torch.tensor(images.labels, device=device)
        self.scale = scale


class Part:
    """Chosen images of each member, as indices of shape (M, N)."""

    def __init__(self, whole: Pixels, indices: Tensor) -> None:
        self.whole, self.indices = whole, indices

    @property
    def count(self) -> int:
        """N."""
        return self.indices.shape[1]

    def chosen(self, order: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs, shape (M, B, F), and labels, (M, B), of those that `order`, (M, B), names."""
        return self._read(self.indices.gather(1, order))

    def at(self, span: slice) -> tuple[Tensor, Tensor]:
        """The same of a span."""
        return self._read(self.indices[:, span])

    def _read(self, places: Tensor) -> tuple[Tensor, Tensor]:
        return self.whole.scale(self.whole.pixels[places]), self.whole.labels[places]
