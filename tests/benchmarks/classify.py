"""Epochs per second of `pinnsig.classify` beside a plain PyTorch loop, in turn in one process.

python tests/benchmarks/classify.py [--depth 50] [--width 512] [--batch 128] [--samples 4250]
          [--repeats 5] [--threads 1]

The plain loop is what a tutorial writes: `nn.Linear` and `nn.Tanh`, `CrossEntropyLoss`,
`torch.optim.Adam`, and a `DataLoader` over a `Dataset` that makes a tensor of one image at a time,
as torchvision's MNIST does with `ToTensor` and `Normalize`: a PIL image out of the stored bytes,
an array and a tensor out of that, to [0, 1], less the mean, over the deviation. Both train the same
network from the same weights on the same images, and judge it on the same 750 others after each
epoch. Seconds are of the clock; processor seconds, of all threads, are what counts on a machine
that others use as well.
"""

import argparse
import itertools
import math
import platform
import statistics
import time

import numpy as np
import PIL
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from pinnsig.activations import parse_activation
from pinnsig.classify import Training, load_images, resolve
from pinnsig.classify.splits import split
from pinnsig.core.seeds import weight_generator
from pinnsig.initializers import parse_initializer
from pinnsig.networks import FFNN

DATASET = "mnist-5k"


class SingleImages(Dataset[tuple[Tensor, int]]):
    """Images that become tensors one at a time when they are asked for."""

    def __init__(self, pixels: np.ndarray, labels: np.ndarray) -> None:
        self.pixels, self.labels = torch.from_numpy(pixels.reshape(-1, 28, 28)), labels
        unit = pixels / 255
        self.mean, self.deviation = float(unit.mean()), float(unit.std())

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = Image.fromarray(self.pixels[index].numpy())
        found = torch.from_numpy(np.array(image, np.uint8, copy=True)).view(28, 28, 1)
        found = found.permute(2, 0, 1).contiguous().to(torch.get_default_dtype()).div(255)
        mean = torch.as_tensor([self.mean]).view(-1, 1, 1)
        deviation = torch.as_tensor([self.deviation]).view(-1, 1, 1)
        return found.clone().sub_(mean).div_(deviation), int(self.labels[index])


class Plain:
    """The plain loop."""

    def __init__(self, depth: int, width: int, batch: int, samples: int, lr: float) -> None:
        images = load_images(DATASET).train
        chosen, held = (
            SingleImages(images.pixels[part], images.labels[part])
            for part in split(images.labels, 0.15, samples, 0)
        )
        self.loader, self.held = DataLoader(chosen, batch, shuffle=True), DataLoader(held, batch)
        f = parse_activation("tanh")
        start = FFNN(784, 10, depth, width, f, dtype=torch.float32)
        parse_initializer("calibrated", p="auto").fill(start, weight_generator(0))
        layers: list[nn.Module] = [nn.Flatten()]
        for index, linear in enumerate(start.linears):
            layers += [linear, nn.Tanh()] if index < depth else [linear]
        self.network = nn.Sequential(*layers)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr)
        self.loss = nn.CrossEntropyLoss()

    def epoch(self) -> tuple[float, float]:
        """Train for an epoch; return its mean loss, and the validation accuracy after it."""
        losses = []
        for x, labels in self.loader:
            self.optimizer.zero_grad()
            loss = self.loss(self.network(x), labels)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            right = sum(int((self.network(x).argmax(1) == y).sum()) for x, y in self.held)
        return statistics.fmean(losses), right / len(self.held.dataset)  # type: ignore[arg-type]


class Ours:
    """The same by this package."""

    def __init__(self, depth: int, width: int, batch: int, samples: int, lr: float) -> None:
        given = {"depth": depth, "width": width, "batch": batch, "samples": samples, "lr": lr}
        settings = resolve({"dataset": DATASET, "device": "cpu", "epochs": 10**6, **given})
        self.epochs = Training([settings], load_images(DATASET)).run()

    def epoch(self) -> tuple[float, float]:
        """Train for an epoch; return its mean loss, and the validation accuracy after it."""
        (record,) = next(self.epochs)
        return record.train_loss, record.validation_accuracy


class Products:
    """The three matrix products of each layer and nothing else: what no loop can be faster than."""

    def __init__(self, depth: int, width: int, batch: int, samples: int) -> None:
        sizes = [784, *[width] * depth, 10]
        self.layers = [torch.randn(b, a) for a, b in itertools.pairwise(sizes)]
        self.values = [torch.randn(batch, size) for size in sizes]
        self.gradients = [torch.empty_like(weight) for weight in self.layers]
        self.steps = samples / batch

    def epoch(self) -> tuple[float, float]:
        """Multiply as often as an epoch does, without its validation."""
        for _ in range(round(self.steps)):
            places = zip(self.layers, itertools.pairwise(self.values), strict=True)
            for weight, (into, out) in places:
                torch.mm(into, weight.T, out=out)
            for index in range(len(self.layers) - 1, -1, -1):
                back, weight = self.values[index + 1], self.layers[index]
                torch.mm(back.T, self.values[index], out=self.gradients[index])
                if index:
                    torch.mm(back, weight, out=self.values[index])
            for value in self.values:
                value.clamp_(-1, 1)
        return math.nan, math.nan


def main() -> None:
    """Print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    sizes = {"depth": 50, "width": 512, "batch": 128, "samples": 4250}
    for name, default in {**sizes, "repeats": 5, "threads": torch.get_num_threads()}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--lr", type=float, default=1e-4)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    shape = given.depth, given.width, given.batch, given.samples
    rivals: dict[str, Plain | Ours | Products] = {
        "plain PyTorch": Plain(*shape, given.lr),
        "pinnsig": Ours(*shape, given.lr),
        "products alone": Products(*shape),
    }
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in rivals}
    for repeat in range(1 + given.repeats):
        for name, rival in rivals.items():
            begun = time.perf_counter(), time.process_time()
            losses = rival.epoch()
            spent = time.perf_counter() - begun[0], time.process_time() - begun[1]
            if repeat:  # the first one warms up
                rows[name].append((*spent, *losses))
    print(
        f"{given.depth} x {given.width}, batch {given.batch}, epochs of {given.samples:,} images, "
        f"{given.repeats} repeats, {given.threads} thread(s); torch {torch.__version__}, "
        f"numpy {np.__version__}, Pillow {PIL.__version__}, Python {platform.python_version()}"
    )
    medians = {}
    for name, found in rows.items():
        clock, used, _, _ = map(statistics.median, zip(*found, strict=True))
        medians[name] = clock, used
        loss, accuracy = found[-1][2:]
        print(
            f"{name:<16}{clock:9.3f} s an epoch{used:9.3f} processor s; in the end loss "
            f"{loss:.4f}, validation accuracy {accuracy:.3f}"
        )
    plain = medians.pop("plain PyTorch")
    for name, (clock, used) in medians.items():
        print(
            f"plain / {name:<15}{plain[0] / clock:9.2f} by the clock"
            f"{plain[1] / used:9.2f} by processors"
        )


if __name__ == "__main__":
    main()
