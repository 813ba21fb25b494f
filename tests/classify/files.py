"""Tiny image sets in every format, written byte by byte as those who publish them do."""

import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


def images(count: int, size: int, seed: int = 0) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, (count, size), dtype=np.uint8)


def cyclic(count: int, classes: int = 10) -> Bytes:
    """Labels 0, 1, ..., over and over."""
    return (np.arange(count) % classes).astype(np.uint8)


def idx(data: Bytes) -> bytes:
    """An IDX file of unsigned bytes."""
    head = bytes((0, 0, 8, data.ndim)) + b"".join(struct.pack(">I", n) for n in data.shape)
    return head + data.tobytes()


def write_idx_set(
    folder: Path, train: int, test: int, packed: bool = False, size: int = 28
) -> tuple[Bytes, Bytes]:
    """The four files of MNIST; returns the pixels for training and for testing."""
    folder.mkdir(parents=True, exist_ok=True)
    pixels = images(train, size * size), images(test, size * size, 1)
    for name, part in zip(("train", "t10k"), pixels, strict=True):
        for kind, data in (
            ("images-idx3", part.reshape(-1, size, size)),
            ("labels-idx1", cyclic(len(part))),
        ):
            path, content = folder / f"{name}-{kind}-ubyte", idx(data)
            if packed:
                path, content = path.with_name(f"{path.name}.gz"), gzip.compress(content)
            path.write_bytes(content)
    return pixels


def cifar_binary(pixels: Bytes, *labels: Bytes) -> bytes:
    """Records of labels and pixels."""
    return np.column_stack([*labels, pixels]).astype(np.uint8).tobytes()


class Python2Pickle:
    """Writes pickles of protocol 2 as Python 2's cPickle writes them."""

    @staticmethod
    def text(value: bytes) -> bytes:
        """A `str` of Python 2: SHORT_BINSTRING or BINSTRING."""
        if len(value) < 256:
            return b"U" + bytes((len(value),)) + value
        return b"T" + struct.pack("<I", len(value)) + value

    @staticmethod
    def whole(value: int) -> bytes:
        """BININT."""
        return b"J" + struct.pack("<i", value)

    def array(self, data: Bytes) -> bytes:
        """An array of unsigned bytes, as numpy's `__reduce__` has it: by rows."""
        rows, columns = data.shape
        kind = (
            b"cnumpy\ndtype\n" + self.text(b"u1") + self.whole(0) + self.whole(1) + b"\x87R"
            + b"(" + self.whole(3) + self.text(b"|") + b"NNN"
            + self.whole(-1) + self.whole(-1) + self.whole(0) + b"tb"
        )  # fmt: skip
        shape = b"(" + self.whole(rows) + self.whole(columns) + b"t"
        state = b"(" + self.whole(1) + shape + kind + b"\x89" + self.text(data.tobytes()) + b"t"
        made = (
            b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
            + self.whole(0) + b"\x85" + self.text(b"b") + b"\x87R"
        )  # fmt: skip
        return made + state + b"b"

    def batch(self, pixels: Bytes, **labels: Bytes) -> bytes:
        """The dictionary of a batch, with names of files that nobody reads."""
        items = [
            self.text(b"batch_label") + self.text(b"training batch 1 of 5"),
            *(
                self.text(key.encode())
                + b"](" + b"".join(self.whole(int(n)) for n in values) + b"e"
                for key, values in labels.items()
            ),
            self.text(b"data") + self.array(pixels),
            self.text(b"filenames") + b"](" + self.text(b"cat_s_000001.png") + b"e",
        ]  # fmt: skip
        return b"\x80\x02}(" + b"".join(items) + b"u."
