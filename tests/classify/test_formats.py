"""Files of image sets: read as they are published, and refused in one line when they are not."""

import gzip
import os
import pickle
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from pinnsig.classify.formats import read_cifar_binary, read_cifar_python, read_idx
from pinnsig.core.errors import DatasetError
from tests.classify.files import Python2Pickle, cifar_binary, cyclic, idx, images


def refusal(read, *arguments) -> str:
    """What is said of a file: one line."""
    with pytest.raises(DatasetError) as raised:
        read(*arguments)
    text = str(raised.value)
    assert "\n" not in text
    assert len(text) < 400
    return text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some-file"


PIXELS = images(6, 12)
IMAGES = PIXELS.reshape(6, 3, 4)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx(file: Path, pack):
    file.write_bytes(pack(idx(IMAGES)))
    np.testing.assert_array_equal(read_idx(file, 3), IMAGES)
    file.write_bytes(pack(idx(cyclic(7))))
    np.testing.assert_array_equal(read_idx(file, 1), cyclic(7))


def test_idx_by_hand(file: Path):
    file.write_bytes(bytes.fromhex("00000803 00000001 00000002 00000003 0102ff040506"))
    assert read_idx(file, 3).tolist() == [[[1, 2, 255], [4, 5, 6]]]


PACKED = gzip.compress(idx(IMAGES), mtime=0)  # a clock in it would be in the tests' names


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (idx(IMAGES)[:-1], "cut off: 71 bytes follow its header, not 72"),
        (idx(IMAGES) + b"x", "too long: 73 bytes follow its header, not 72"),
        (idx(IMAGES)[:9], "ends within its header"),
        (idx(cyclic(5)), "starts with 00 00 08 01 and not with 00 00 08 03"),
        (b"\0\0\x0d\3" + idx(IMAGES)[4:], "starts with 00 00 0d 03"),  # floats
        (b"", "starts with nothing"),
        (b"<html>not found</html>", "is no IDX file"),
        (PACKED[:-20], "cannot read"),
        (PACKED[:30] + b"\xff" * 40, "damaged"),
        (b"\x1f\x8bgarbage in place of a stream", ""),
        (PACKED[:-8] + b"\0" * 8, "CRC"),
    ],
)
def test_damaged_idx(file: Path, content: bytes, said: str):
    file.write_bytes(content)
    text = refusal(read_idx, file, 3)
    assert said in text
    assert str(file) in text


def test_a_header_that_promises_everything_takes_no_memory(file: Path):
    file.write_bytes(bytes((0, 0, 8, 3)) + b"\xff" * 12 + b"few")
    assert "cut off" in refusal(read_idx, file, 3)


def test_a_folder_is_no_file(tmp_path: Path):
    assert "cannot read" in refusal(read_idx, tmp_path, 3)


def test_cifar_binary(file: Path):
    pixels, coarse, fine = images(5, 3072), cyclic(5, 3), cyclic(5, 4)
    for labels in ((fine,), (coarse, fine)):  # CIFAR-10 and CIFAR-100
        file.write_bytes(cifar_binary(pixels, *labels))
        found = read_cifar_binary(file, len(labels))
        np.testing.assert_array_equal(found[0], pixels)
        np.testing.assert_array_equal(found[1], fine)


@pytest.mark.parametrize("content", [b"", b"x" * 3072, b"x" * (2 * 3073 - 1), b"x" * 3074])
def test_damaged_cifar_binary(file: Path, content: bytes):
    file.write_bytes(content)
    assert "no whole number of records of 3,073" in refusal(read_cifar_binary, file, 1)


def test_cifar_python_as_python_2_wrote_it(file: Path):
    pixels, labels = images(5, 3072), cyclic(5)
    file.write_bytes(Python2Pickle().batch(pixels, labels=labels))
    # the test's own file is right: Python and numpy read it
    plain = pickle.loads(file.read_bytes(), encoding="bytes")
    np.testing.assert_array_equal(plain[b"data"], pixels)
    found = read_cifar_python(file, "labels")
    np.testing.assert_array_equal(found[0], pixels)
    np.testing.assert_array_equal(found[1], labels)
    file.write_bytes(
        Python2Pickle().batch(pixels, coarse_labels=cyclic(5, 2), fine_labels=labels + 90)
    )
    np.testing.assert_array_equal(read_cifar_python(file, "fine_labels")[1], labels + 90)


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("order", ["C", "F"])
def test_cifar_python_as_numpy_writes_it(file: Path, protocol: int, order):
    pixels = np.array(images(4, 3072), order=order)
    data = {b"data": pixels, b"labels": [3, 1, 4, 1], b"filenames": ["a", "b", "c", "d"]}
    file.write_bytes(pickle.dumps(data, protocol))
    found = read_cifar_python(file, "labels")
    np.testing.assert_array_equal(found[0], pixels)
    assert found[1].tolist() == [3, 1, 4, 1]


class Call:
    """Pickles as a call of anything."""

    def __init__(self, function, *arguments) -> None:
        self.call = function, arguments

    def __reduce__(self):
        return self.call


GLOBALS = b"\x80\x02c%b\n"


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("where", ["alone", "data", "labels", "unread"])
def test_nothing_in_a_pickle_is_run(file: Path, tmp_path: Path, protocol: int, where: str):
    mark = tmp_path / "was-run"
    attack = Call(os.system, f"touch {mark}")
    good = {b"data": images(2, 3072), b"labels": [0, 1]}
    content = attack if where == "alone" else {**good, where.encode(): attack}
    file.write_bytes(pickle.dumps(content, protocol))
    text = refusal(read_cifar_python, file, "labels")
    assert not mark.exists()
    if not (protocol == 5 and where != "alone"):  # whose arrays are refused already
        assert "which no image set needs: not read" in text


@pytest.mark.parametrize(
    "call",
    [
        Call(eval, "1/0"),
        Call(exec, "raise SystemExit"),
        Call(__import__, "this"),
        Call(getattr, "x", "__class__"),
        Call(np.load, "/etc/passwd"),
        Call(np.fromfile, "/etc/passwd"),
        Call(bytearray, 2**40),
    ],
    ids=lambda call: call.call[0].__name__,
)
def test_no_name_but_the_few_is_known(file: Path, call: Call):
    file.write_bytes(pickle.dumps({b"data": call, b"labels": []}, 2))
    assert "not read" in refusal(read_cifar_python, file, "labels")


def nested(depth: int) -> bytes:
    """A list of two of a list of two of ..., few bytes for 2^depth entries."""
    inner = b"K\1"
    body = b"](" + inner + inner + b"e" + b"q\0"
    for i in range(1, depth):
        body = b"](" + body + b"h" + bytes((i - 1,)) + b"eq" + bytes((i,))
    return body


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02}r\xff\xff\xff\x7f.",  # the memo's entry 2^31 - 1
        b"\x80\x05\x96" + struct.pack("<Q", 2**33) + b".",  # a byte array of 8 GB
        b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"x.",  # bytes that are not there
        b"\x80\x02cnumpy\ndtype\n\x8a\x05\0\0\0\0\2\x85R.",  # dtype(2^33)
        b"\x80\x02}(U\4data" + Python2Pickle().array(images(1, 3072)) + b"U\6labels"
        + nested(60) + b"u.",
    ],
    ids=["memo", "bytearray", "bytes", "dtype", "nested"],
)  # fmt: skip
def test_few_bytes_cannot_ask_for_much_memory(file: Path, content: bytes):
    file.write_bytes(content)
    tracemalloc.start()
    try:
        refusal(read_cifar_python, file, "labels")
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_a_pickle_cannot_change_what_reads_it(file: Path):
    """BUILD sets attributes of whatever it is given."""
    for name in (b"_codecs\nencode", b"numpy\nndarray", b"numpy\ndtype"):
        state = b"N}(U\x0c__defaults__(U\4utf8tU\x08__code__Nu\x86"
        file.write_bytes(b"\x80\x02c" + name + b"\n" + state + b"b.")
        refusal(read_cifar_python, file, "labels")
    file.write_bytes(pickle.dumps({b"data": images(2, 3072), b"labels": [7, 8]}, 2))
    assert read_cifar_python(file, "labels")[1].tolist() == [7, 8]


GOOD = Python2Pickle().batch(images(3, 3072), labels=cyclic(3))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD[:-1], "damaged or no CIFAR file"),
        (GOOD[:2000], "damaged or no CIFAR file"),
        (b"", "damaged or no CIFAR file"),
        (b"garbage", "damaged or no CIFAR file"),
        (pickle.dumps([1, 2], 2), "damaged or no CIFAR file"),
        (Python2Pickle().batch(images(3, 3072), other=cyclic(3)), "labels"),
        (Python2Pickle().batch(images(3, 3072), labels=cyclic(4)), "(3, 3072), labels of (4,)"),
        (Python2Pickle().batch(images(3, 100), labels=cyclic(3)), "(3, 100)"),
        (pickle.dumps({b"data": np.zeros((1, 3072)), b"labels": [0]}, 2), "not one of unsigned"),
        (pickle.dumps({b"data": images(1, 3072), b"labels": [256]}, 2), "outside 0 to 255"),
        (pickle.dumps({b"data": images(1, 3072), b"labels": [-1]}, 2), "outside 0 to 255"),
        (pickle.dumps({b"data": images(1, 3072), b"labels": [0.5]}, 2), "no list of whole numbers"),
        (pickle.dumps({b"data": images(1, 3072), b"labels": ["1"]}, 2), "no list of whole numbers"),
    ],
)
def test_damaged_cifar_python(file: Path, content: bytes, said: str):
    file.write_bytes(content)
    assert said in refusal(read_cifar_python, file, "labels")
