"""Image sets by name: where their files are looked for, and what is checked when they are read."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pinnsig.classify.digits import five_thousand_digits
from pinnsig.classify.formats import Bytes, read_cifar_binary, read_cifar_python, read_idx
from pinnsig.core.errors import DatasetError
from pinnsig.core.registry import unknown

VARIABLE = "PINNSIG_DATA"
SYSTEM = Path("/usr/share/datasets")
"""Where Debian's packages of data sets put them."""

IDX_FILES = tuple(
    (f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte") for part in ("train", "t10k")
)


@dataclass(frozen=True)
class Images:
    """Images with their labels.

    Attributes:
        pixels: bytes, shape (N, F).
        labels: shape (N,).
    """

    pixels: Bytes
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class ImageSet:
    """A data set in memory.

    Attributes:
        name: by which it was asked for.
        train: what is trained and validated on.
        test: images that are never trained on; None where the set has none.
        classes: how many there are.
        notices: how it differs from what its name stands for, a line each.
    """

    name: str
    train: Images
    test: Images | None
    classes: int
    notices: tuple[str, ...] = field(default=())

    @property
    def inputs(self) -> int:
        """F, the pixels of an image."""
        return self.train.pixels.shape[1]

    @cached_property
    def digest(self) -> str:
        """Of all its images and labels as they are in memory, however their files are packed."""
        found = hashlib.sha256()
        for part in (self.train, self.test):
            if part is not None:
                found.update(part.pixels.tobytes())
                found.update(part.labels.astype(np.uint8).tobytes())
        return found.hexdigest()


RunComponents = tuple[tuple[Bytes, Bytes], tuple[Bytes, Bytes] | None]
"""Pixels and labels to train on, and to test on."""


@dataclass(frozen=True)
class Source:
    """A known data set.

    Attributes:
        read: reads it from a folder; None where the folder lacks its files.
        folders: names of folders in which its files are put by those who publish it.
        files: what is to be there, for people.
        shape: of an image.
        counts: how many images of each class it has for training, and for testing.
    """

    read: Callable[[Path], RunComponents | None]
    folders: tuple[str, ...]
    files: str
    shape: tuple[int, ...]
    counts: tuple[Sequence[int], Sequence[int]]

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.counts[0])


def load_images(name: str, data: str | Path | None = None) -> ImageSet:
    """Return a data set from its files; nothing is ever downloaded.

    Args:
        name: of `DATASETS`, or `mnist-5k`.
        data: a folder that holds its files, or a folder of data sets; else `$PINNSIG_DATA` and
            `/usr/share/datasets` are looked through.

    Raises:
        DatasetError: the name is unknown, its files are not there (says which go where), or they
            are damaged.
    """
    if name == "mnist-5k":
        pixels, labels = five_thousand_digits()
        return ImageSet(name, Images(pixels, labels), None, 10)
    if name not in DATASETS:
        raise DatasetError(unknown("image set", name, [*DATASETS, "mnist-5k"]))
    source = DATASETS[name]
    roots = _roots(data)
    for root in roots:
        for folder in (*(root / inner for inner in (name, *source.folders)), root):
            try:
                found = source.read(folder)
            except OSError as error:  # a folder that this user may not look into
                raise DatasetError(f"cannot read {folder}: {error.strerror}") from None
            if found is not None:
                return _checked(name, source, found, folder)
    raise DatasetError(
        f"the image set {name} is not there: put {source.files} into a folder and name it by "
        f"--data DIR or {VARIABLE}; looked in {', '.join(map(str, roots))}"
    )


def _roots(data: str | Path | None) -> list[Path]:
    if data is not None:
        root = Path(os.path.expanduser(data))  # noqa: PTH111 - Path's fails for an unknown user
        if not root.is_dir():
            raise DatasetError(f"data = {str(data)!r} is no folder")
        return [root]
    named = os.environ.get(VARIABLE)
    return [*([Path(os.path.expanduser(named))] if named else []), SYSTEM]  # noqa: PTH111


def _checked(name: str, source: Source, found: RunComponents, folder: Path) -> ImageSet:
    parts: list[Images | None] = []
    notices = []
    size = int(np.prod(source.shape))
    for which, part, usual in zip(("training", "test"), found, source.counts, strict=True):
        if part is None:
            parts.append(None)
            continue
        pixels, labels = part
        if len(pixels) != len(labels) or not len(labels):
            raise DatasetError(
                f"{folder}: {len(pixels):,} {which} images and {len(labels):,} labels do not match"
            )
        pixels = pixels.reshape(len(pixels), -1)
        if pixels.shape[1] != size:
            raise DatasetError(
                f"{folder}: its {which} images have {pixels.shape[1]} pixels, and those of {name} "
                f"{' x '.join(map(str, source.shape))}"
            )
        counts = np.bincount(labels, minlength=source.classes)
        if len(counts) > source.classes:
            raise DatasetError(
                f"{folder}: the label {len(counts) - 1} is none of the {source.classes} of {name}"
            )
        if not np.array_equal(counts, usual):
            notices.append(
                f"the {which} images in {folder} are not those of {name}: {len(labels):,} in "
                f"place of {sum(usual):,}, or other numbers of each class"
            )
        parts.append(Images(pixels, labels.astype(np.int64)))
    train, test = parts
    assert train is not None
    return ImageSet(name, train, test, source.classes, tuple(notices))


# --- how each is read ---------------------------------------------------------------------------


def _present(folder: Path, name: str) -> Path | None:
    """A file of that name, packed or not, or None."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    return None


def _read_idx_set(folder: Path) -> RunComponents | None:
    parts = []
    for images, labels in IDX_FILES:
        paths = _present(folder, images), _present(folder, labels)
        if paths[0] is None or paths[1] is None:
            return None
        parts.append((read_idx(paths[0], 3), read_idx(paths[1], 1)))
    return parts[0], parts[1]


def _read_cifar(
    train: Sequence[str], test: str, suffix: str, labels: int, key: str
) -> Callable[[Path], RunComponents | None]:
    """How CIFAR is read, in the version that is there."""

    def read(folder: Path) -> RunComponents | None:
        for ending, reader, how in (
            (suffix, read_cifar_binary, labels), ("", read_cifar_python, key),
        ):  # fmt: skip
            paths = [folder / f"{name}{ending}" for name in (*train, test)]
            if all(path.is_file() for path in paths):
                found = [reader(path, how) for path in paths]  # type: ignore[arg-type]
                pixels, targets = zip(*found[:-1], strict=True)
                return (np.concatenate(pixels), np.concatenate(targets)), found[-1]
        return None

    return read


IDX_WORDS = " and ".join(f"{images}, {labels}" for images, labels in IDX_FILES) + " (or .gz)"

DATASETS: dict[str, Source] = {
    "mnist": Source(
        _read_idx_set,
        ("MNIST", "MNIST/raw"),
        IDX_WORDS,
        (28, 28),
        (
            (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
            (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
        ),
    ),
    "fashion-mnist": Source(
        _read_idx_set,
        ("FashionMNIST", "FashionMNIST/raw"),
        f"{IDX_WORDS}, as Debian's package dataset-fashion-mnist does,",
        (28, 28),
        ([6000] * 10, [1000] * 10),
    ),
    "cifar10": Source(
        _read_cifar([f"data_batch_{i}" for i in range(1, 6)], "test_batch", ".bin", 1, "labels"),
        ("cifar-10-batches-bin", "cifar-10-batches-py"),
        "data_batch_1 to data_batch_5 and test_batch (the Python version, or the binary one with "
        ".bin)",
        (3, 32, 32),
        ([5000] * 10, [1000] * 10),
    ),
    "cifar100": Source(
        _read_cifar(["train"], "test", ".bin", 2, "fine_labels"),
        ("cifar-100-binary", "cifar-100-python"),
        "train and test (the Python version, or the binary one with .bin)",
        (3, 32, 32),
        ([500] * 100, [100] * 100),
    ),
}
"""The known sets; a new one is a line here."""
