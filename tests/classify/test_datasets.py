"""Image sets by name: where they are looked for, and what is checked."""

import gzip
import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from pinnsig.classify import DATASETS, datasets, load_images
from pinnsig.core.errors import DatasetError
from tests.classify.files import Python2Pickle, cifar_binary, cyclic, idx, images, write_idx_set

FASHION = Path("/usr/share/datasets/fashion-mnist")


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No set of this machine is found."""
    monkeypatch.delenv("PINNSIG_DATA", raising=False)
    system = tmp_path / "system"
    monkeypatch.setattr(datasets, "SYSTEM", system)
    return system


def refusal(name: str, data: Path | str | None = None) -> str:
    with pytest.raises(DatasetError) as raised:
        load_images(name, data)
    text = str(raised.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_idx_sets(tmp_path: Path, name: str, packed: bool):
    train, test = write_idx_set(tmp_path / "here", 30, 10, packed)
    found = load_images(name, tmp_path / "here")
    np.testing.assert_array_equal(found.train.pixels, train)
    assert found.test is not None
    np.testing.assert_array_equal(found.test.pixels, test)
    np.testing.assert_array_equal(found.train.labels, cyclic(30))
    assert (found.classes, found.inputs) == (10, 784)
    assert [len(found.train), len(found.test)] == [30, 10]


def test_packing_changes_nothing(tmp_path: Path):
    for packed in (False, True):
        write_idx_set(tmp_path / str(packed), 30, 10, packed)
    found = [load_images("mnist", tmp_path / str(packed)) for packed in (False, True)]
    assert found[0].digest == found[1].digest


@pytest.mark.parametrize("change", ["pixel", "label", "test"])
def test_the_digest_is_of_every_image_and_label(tmp_path: Path, change: str):
    write_idx_set(tmp_path / "a", 30, 10)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    name = {"pixel": "train-images-idx3", "label": "train-labels-idx1", "test": "t10k-images-idx3"}
    path = tmp_path / "b" / f"{name[change]}-ubyte"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert (
        load_images("mnist", tmp_path / "a").digest != load_images("mnist", tmp_path / "b").digest
    )


def write_cifar10(folder: Path, binary: bool) -> np.ndarray:
    folder.mkdir(parents=True)
    pixels = images(60, 3072)
    for i, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        part, labels = pixels[10 * i : 10 * i + 10], cyclic(10)
        if binary:
            (folder / f"{name}.bin").write_bytes(cifar_binary(part, labels))
        else:
            (folder / name).write_bytes(Python2Pickle().batch(part, labels=labels))
    return pixels


def write_cifar100(folder: Path, binary: bool) -> np.ndarray:
    folder.mkdir(parents=True)
    pixels = images(300, 3072)
    for name, part in (("train", pixels[:200]), ("test", pixels[200:])):
        coarse, fine = cyclic(len(part), 20), cyclic(len(part), 100)
        if binary:
            (folder / f"{name}.bin").write_bytes(cifar_binary(part, coarse, fine))
        else:
            content = Python2Pickle().batch(part, coarse_labels=coarse, fine_labels=fine)
            (folder / name).write_bytes(content)
    return pixels


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("name", "write", "train", "folders"),
    [
        ("cifar10", write_cifar10, 50, ("cifar-10-batches-py", "cifar-10-batches-bin")),
        ("cifar100", write_cifar100, 200, ("cifar-100-python", "cifar-100-binary")),
    ],
)
def test_cifar(tmp_path: Path, name: str, write, train: int, folders, binary: bool):
    pixels = write(tmp_path / folders[binary], binary)
    found = load_images(name, tmp_path)
    np.testing.assert_array_equal(found.train.pixels, pixels[:train])
    assert found.test is not None
    np.testing.assert_array_equal(found.test.pixels, pixels[train:])
    assert found.classes == DATASETS[name].classes
    np.testing.assert_array_equal(found.train.labels, cyclic(train, found.classes))


def test_order_of_places(tmp_path: Path, nothing_around: Path, monkeypatch: pytest.MonkeyPatch):
    """--data alone; else $PINNSIG_DATA, then the system's folder."""
    write_idx_set(nothing_around / "mnist", 20, 10)
    assert len(load_images("mnist").train) == 20
    write_idx_set(tmp_path / "variable" / "MNIST" / "raw", 30, 10)
    monkeypatch.setenv("PINNSIG_DATA", str(tmp_path / "variable"))
    assert len(load_images("mnist").train) == 30
    write_idx_set(tmp_path / "given", 40, 10)
    assert len(load_images("mnist", tmp_path / "given").train) == 40
    (tmp_path / "empty").mkdir()
    assert "looked in" in refusal("mnist", tmp_path / "empty")  # and nowhere else
    monkeypatch.setenv("PINNSIG_DATA", str(tmp_path / "not-there"))
    assert len(load_images("mnist").train) == 20


def test_a_folder_of_that_name_comes_before_loose_files(tmp_path: Path):
    write_idx_set(tmp_path, 20, 10)
    write_idx_set(tmp_path / "fashion-mnist", 30, 10)
    assert len(load_images("fashion-mnist", tmp_path).train) == 30
    assert len(load_images("mnist", tmp_path).train) == 20


@pytest.mark.parametrize("name", DATASETS)
def test_a_missing_set_says_which_files_go_where(name: str, tmp_path: Path):
    text = refusal(name, tmp_path)
    files = {
        "mnist": ("train-images-idx3-ubyte", "t10k-labels-idx1-ubyte", ".gz"),
        "fashion-mnist": ("train-images-idx3-ubyte", "dataset-fashion-mnist"),
        "cifar10": ("data_batch_1", "data_batch_5", "test_batch", ".bin"),
        "cifar100": ("train", "test", ".bin"),
    }
    for part in (*files[name], "--data DIR", "PINNSIG_DATA", str(tmp_path)):
        assert part in text


@pytest.mark.parametrize("lost", ["train-images-idx3", "t10k-labels-idx1"])
def test_a_set_that_lacks_a_file_is_missing(tmp_path: Path, lost: str):
    write_idx_set(tmp_path, 20, 10)
    (tmp_path / f"{lost}-ubyte").unlink()
    assert "is not there: put" in refusal("mnist", tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [("mnits", "did you mean mnist?"), ("emnist", "mnist"), ("imagenet", "known are mnist")],
)
def test_unknown_names(name: str, said: str):
    assert said in refusal(name)


@pytest.mark.parametrize("data", ["not-there", "file", "~nobody-here/x", ""])
def test_data_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("x")
    if not data:
        assert "is not there" in refusal("mnist", data)  # the folder that one is in
    else:
        assert f"data = '{data}' is no folder" in refusal("mnist", data)


def test_other_numbers_of_images_are_told(tmp_path: Path):
    write_idx_set(tmp_path, 30, 10)
    notices = load_images("mnist", tmp_path).notices
    assert len(notices) == 2
    assert "30 in place of 60,000" in notices[0]
    assert "10 in place of 10,000" in notices[1]
    assert all(str(tmp_path) in notice and "\n" not in notice for notice in notices)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("train-labels-idx1", cyclic(29), "30 training images and 29 labels do not match"),
        ("t10k-labels-idx1", cyclic(11), "10 test images and 11 labels do not match"),
        ("train-images-idx3", images(30, 27 * 28).reshape(30, 27, 28), "have 756 pixels"),
        ("train-labels-idx1", cyclic(30, 11), "the label 10 is none of the 10"),
        ("train-images-idx3", np.zeros((0, 28, 28), np.uint8), "0 training images and 30 labels"),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, file: str, content: np.ndarray, said: str):
    write_idx_set(tmp_path, 30, 10)
    (tmp_path / f"{file}-ubyte").write_bytes(idx(content))
    assert said in refusal("mnist", tmp_path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read(tmp_path: Path):
    write_idx_set(tmp_path / "mnist", 20, 10)
    (tmp_path / "mnist").chmod(0)
    try:
        assert "cannot read" in refusal("mnist", tmp_path)
    finally:
        (tmp_path / "mnist").chmod(0o700)


def test_counts_are_those_that_are_published():
    """MNIST: LeCun's; the others have as many of each class."""
    sizes = {
        "mnist": (60000, 10000), "fashion-mnist": (60000, 10000),
        "cifar10": (50000, 10000), "cifar100": (50000, 10000),
    }  # fmt: skip
    for name, source in DATASETS.items():
        assert tuple(map(sum, source.counts)) == sizes[name]
        assert [len(counts) for counts in source.counts] == [source.classes] * 2


DECOMPRESSED = {
    "train-images-idx3": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
"""SHA-256 of the files of Fashion-MNIST as they are when unpacked."""


@pytest.mark.skipif(not FASHION.is_dir(), reason=f"no Fashion-MNIST in {FASHION}")
def test_the_real_fashion_mnist(monkeypatch: pytest.MonkeyPatch):
    for name, digest in DECOMPRESSED.items():
        content = gzip.decompress((FASHION / f"{name}-ubyte.gz").read_bytes())
        assert hashlib.sha256(content).hexdigest() == digest
    monkeypatch.setattr(datasets, "SYSTEM", FASHION.parent)
    found = load_images("fashion-mnist")
    assert found.notices == ()
    assert found.train.pixels.shape == (60000, 784)
    assert found.test is not None
    assert found.test.pixels.shape == (10000, 784)
    # as it is published: the first is an ankle boot, the mean of all pixels .2860 of 255
    assert found.train.labels[:4].tolist() == [9, 0, 0, 3]
    assert found.train.pixels.mean() / 255 == pytest.approx(0.2860, abs=5e-5)
    assert found.train.pixels.std() / 255 == pytest.approx(0.3530, abs=5e-5)
