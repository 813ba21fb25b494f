"""A tiny image set that can be learned, and settings that train on it in a blink."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnsig.classify import ClassifySettings, ImageSet, load_images, resolve
from tests.classify.files import cyclic, idx, write_idx_set

TINY: dict[str, Any] = {
    "dataset": "mnist", "depth": 3, "width": 8, "batch": 32, "epochs": 3, "lr": 3e-3,
    "device": "cpu",
}  # fmt: skip


def tiny(**given: Any) -> ClassifySettings:
    return resolve({**TINY, **given})


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 200 + 50 images, each with a bright bar that says which class it is of."""
    folder = tmp_path_factory.mktemp("data") / "mnist"
    pixels = write_idx_set(folder, 200, 50)
    for name, part in zip(("train", "t10k"), pixels, strict=True):
        images = part.reshape(-1, 28, 28) // 4
        for i, label in enumerate(cyclic(len(part))):
            images[i, 2 * label + 4 : 2 * label + 6] = 255
        (folder / f"{name}-images-idx3-ubyte").write_bytes(idx(images.astype(np.uint8)))
    return folder.parent


@pytest.fixture(scope="session")
def images(data: Path) -> ImageSet:
    return load_images("mnist", data)
