"""Files that are whole or not there, and folders for one process alone."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pinnsig.core.errors import RunError, one_line
from pinnsig.core.files import folder_lock, remove_parts, write_whole


def test_what_fails_leaves_the_file_that_was_there(tmp_path: Path):
    path = write_whole(tmp_path / "a.txt", b"before")
    with pytest.raises(TypeError):
        write_whole(path, "text")  # pyright: ignore[reportArgumentType]
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_before_can_be_kept(tmp_path: Path):
    path, kept = tmp_path / "a.txt", tmp_path / "b.txt"
    write_whole(path, b"1", keep=kept)
    assert not kept.exists()
    write_whole(path, b"2", keep=kept)
    assert (path.read_bytes(), kept.read_bytes()) == (b"2", b"1")
    assert sorted(tmp_path.iterdir()) == [path, kept]


def test_a_private_file_is_nobody_elses(tmp_path: Path):
    path = write_whole(tmp_path / "a", b"", private=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_parts_of_a_killed_process_are_removed(tmp_path: Path):
    code = (
        "import os, sys, pathlib; from pinnsig.core.files import replacing\n"
        "with replacing(pathlib.Path(sys.argv[1]) / 'a.txt') as part: os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    remove_parts(tmp_path)
    assert not list(tmp_path.iterdir())


def test_one_holds_a_folder_and_others_see_it(tmp_path: Path):
    pytest.importorskip("fcntl")
    with folder_lock(tmp_path) as held:
        assert held
        for shared in (False, True):
            with folder_lock(tmp_path, shared) as other:
                assert not other
    with folder_lock(tmp_path, shared=True) as one, folder_lock(tmp_path, shared=True) as two:
        assert one
        assert two


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (RunError("a\n b"), "a b"),
        (ValueError("\n first \nsecond"), "ValueError: first"),
        (KeyError(), "KeyError: no message"),
    ],
)
def test_an_error_in_one_line(error: Exception, line: str):
    assert one_line(error) == line
