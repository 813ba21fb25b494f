"""The standard files of image sets, read as plain data: IDX, and both versions of CIFAR's.

Nothing in a file is ever run. CIFAR's Python version is a pickle; it is read by an unpickler that
knows arrays of bytes and nothing else.
"""

import gzip
import io
import math
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import DatasetError

Bytes = NDArray[np.uint8]

IDX_BYTES = 0x08  # the code of unsigned bytes
GZIP = b"\x1f\x8b"
LARGEST = 2**31
"""Bytes that a file may unfold to; the largest standard one has 154 million."""
PIECE = 2**22


def read_bytes(path: Path) -> bytes:
    """Return a file's contents, unpacked if it is a gzip file.

    Raises:
        DatasetError: it cannot be read, is damaged, or unfolds to more than `LARGEST`.
    """
    try:
        with path.open("rb") as stream:
            packed = stream.read(2) == GZIP
            stream.seek(0)
            source = gzip.GzipFile(fileobj=stream) if packed else stream
            found = _read_pieces(source)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DatasetError(f"cannot read {path}: {reason}") from None
    except Exception as error:  # zlib's own error, of a damaged stream
        raise DatasetError(f"{path} is damaged: {error}") from None
    if len(found) > LARGEST:
        raise DatasetError(f"{path} holds more than {LARGEST:,} bytes: it is no standard file")
    return found


def _read_pieces(source: Any) -> bytes:
    """All of a stream, or a little more than `LARGEST`; its memory grows with what is there."""
    pieces, size = [], 0
    while size <= LARGEST and (piece := source.read(PIECE)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def read_idx(path: Path, dimensions: int) -> Bytes:
    """Return an IDX file of unsigned bytes, packed or not.

    Args:
        path: the file.
        dimensions: how many it has: 3 for images, 1 for labels.

    Raises:
        DatasetError: it cannot be read, has another magic number, or is cut off or too long.

    Source: LeCun, Cortes and Burges, the format of the MNIST database.
    """
    data = read_bytes(path)
    magic = bytes((0, 0, IDX_BYTES, dimensions))
    if data[:4] != magic:
        raise DatasetError(
            f"{path} is no IDX file of bytes in {dimensions} dimension(s): it starts with "
            f"{data[:4].hex(' ') or 'nothing'} and not with {magic.hex(' ')}"
        )
    head = 4 + 4 * dimensions
    if len(data) < head:
        raise DatasetError(f"{path} is cut off: it ends within its header")
    shape = struct.unpack(f">{dimensions}I", data[4:head])
    wanted, found = math.prod(shape), len(data) - head
    if found != wanted:
        fault = "cut off" if found < wanted else "too long"
        raise DatasetError(f"{path} is {fault}: {found:,} bytes follow its header, not {wanted:,}")
    return np.frombuffer(data, np.uint8, offset=head).reshape(shape)


def read_cifar_binary(path: Path, labels: int, pixels: int = 3072) -> tuple[Bytes, Bytes]:
    """Return images, shape (N, pixels), and the last label of each, (N,), of CIFAR's binary files.

    Args:
        path: the file.
        labels: bytes of labels before each image: 1 in CIFAR-10, 2 (coarse, fine) in CIFAR-100.
        pixels: bytes of each image.

    Raises:
        DatasetError: it cannot be read, or holds no whole number of images.
    """
    data = np.frombuffer(read_bytes(path), np.uint8)
    record = labels + pixels
    if not len(data) or len(data) % record:
        raise DatasetError(
            f"{path} is cut off or no CIFAR file: its {len(data):,} bytes are no whole number of "
            f"records of {record:,}"
        )
    rows = data.reshape(-1, record)
    return rows[:, labels:], rows[:, labels - 1]


def read_cifar_python(path: Path, key: str, pixels: int = 3072) -> tuple[Bytes, Bytes]:
    """Return images, shape (N, pixels), and labels, (N,), of CIFAR's Python files.

    Args:
        path: the file.
        key: where its labels are: `labels` or `fine_labels`.
        pixels: bytes of each image.

    Raises:
        DatasetError: it cannot be read, or holds anything but such arrays.
    """
    data = read_bytes(path)
    try:
        found = _PlainUnpickler(io.BytesIO(data), encoding="bytes").load()
        images = found[b"data"].array()
        listed = found[key.encode()]
        if type(listed) is not list or any(type(label) is not int for label in listed):
            raise DatasetError("its labels are no list of whole numbers")
        labels = np.asarray(listed, np.int64)
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from None
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise DatasetError(f"{path} is damaged or no CIFAR file ({reason:.100})") from None
    if images.ndim != 2 or images.shape[1] != pixels or labels.shape != images.shape[:1]:
        raise DatasetError(
            f"{path} is no CIFAR file: images of shape {images.shape}, labels of {labels.shape}"
        )
    if labels.min(initial=0) < 0 or labels.max(initial=0) > 255:
        raise DatasetError(f"{path} is damaged: labels outside 0 to 255")
    return images, labels.astype(np.uint8)


class _PlainType:
    """Stands in for a numpy type; only unsigned bytes are read."""

    def __init__(self, code: Any, *_: Any) -> None:
        self.code = code.decode("ascii") if isinstance(code, bytes) else code

    def __setstate__(self, state: Any) -> None:
        del state


class _PlainArray:
    """Stands in for a numpy array while a pickle is read."""

    def __init__(self, *_: Any) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def array(self) -> Bytes:
        """The array; raises DatasetError unless it is one of unsigned bytes."""
        _, shape, kind, by_columns, raw = self.state
        if not isinstance(kind, _PlainType) or kind.code != "u1" or not isinstance(raw, bytes):
            raise DatasetError("an array is not one of unsigned bytes")
        return np.frombuffer(raw, np.uint8).reshape(shape, order="F" if by_columns else "C")


class _Latin:
    """Stands in for the codec by which newer Pythons pickle bytes.

    An object without attributes: a pickle may set those of whatever it names.
    """

    __slots__ = ()

    def __call__(self, text: Any, encoding: Any = "latin1") -> bytes:
        if encoding not in ("latin1", b"latin1") or not isinstance(text, str | bytes):
            raise DatasetError(f"bytes in the encoding {encoding!r:.20}")
        return text if isinstance(text, bytes) else text.encode("latin1")


class _PlainUnpickler(pickle._Unpickler):  # type: ignore[name-defined]
    """Knows numpy arrays of bytes, and no other object.

    The one written in Python: in C a few bytes of a file can ask for any amount of memory.
    """

    dispatch = {  # noqa: RUF012
        code: load
        for code, load in pickle._Unpickler.dispatch.items()  # type: ignore[attr-defined]
        if code not in (pickle.BYTEARRAY8[0], pickle.EXT1[0], pickle.EXT2[0], pickle.EXT4[0])
    }
    KNOWN = {  # noqa: RUF012
        ("numpy.core.multiarray", "_reconstruct"): _PlainArray,
        ("numpy._core.multiarray", "_reconstruct"): _PlainArray,
        ("numpy", "ndarray"): _PlainArray,
        ("numpy", "dtype"): _PlainType,
        ("_codecs", "encode"): _Latin(),
    }

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in for what a file names; raises DatasetError for anything else."""
        if (module, name) not in self.KNOWN:
            raise DatasetError(f"it names {module}.{name}, which no image set needs: not read")
        return self.KNOWN[module, name]
